// gpu-check-record: trains the models that gpu-check trains on a GPU, on the CPU, and keeps for
// each a pack (program, first variables, batches, losses) and, for the peer, the same as
// safetensors.
#include "Record.h"

#include "../../models/mnist/models.h"
#include "../../tests/frontend/transformer.h"

#include "session/State.h"
#include "session/Weights.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;
using namespace sn::gpucheck;

namespace {

/// Of a loss, after any number of steps.
constexpr double kLossTolerance = 1e-4;
constexpr double kSmallRate = 0.001;
constexpr const char *kEntry = "step";

/// What a session's backend leaves here.
struct Recorded {
  Recording recording;
  std::vector<std::string> variables; ///< that the program uses
};

/// Runs steps as the compiler's own backend does, and keeps what they took and gave.
class RecordingRunnable : public sn::detail::Runnable {
public:
  RecordingRunnable(sn::detail::SessionState &session, std::shared_ptr<Runnable> inner,
                    Recorded &recorded)
      : session(session), inner(std::move(inner)), recorded(recorded) {
    ops = this->inner->ops;
    groups = this->inner->groups;
  }

  std::vector<Array> run(std::span<const Array> inputs) override {
    std::vector<Case> &cases = recorded.recording.pack.cases;
    if (cases.empty()) {
      Case &c = cases.emplace_back();
      c.name = "training";
      c.entry = kEntry;
      for (const std::string &name : recorded.variables)
        c.variables.push_back({name, session.store.find(name)->storage().clone()});
    }
    Step &step = cases.back().steps.emplace_back();
    for (const Array &input : inputs)
      step.inputs.push_back(input.clone());
    std::vector<Array> results = inner->run(inputs);
    for (size_t i = 0; i < results.size(); ++i)
      step.expected.push_back({Expected::Of::Result,
                               uint32_t(i),
                               "loss",
                               results[i].clone(),
                               {.relative = kLossTolerance}});
    return results;
  }

private:
  sn::detail::SessionState &session;
  std::shared_ptr<Runnable> inner;
  Recorded &recorded;
};

class RecordingBackend : public sn::detail::Backend {
public:
  RecordingBackend(sn::detail::SessionState &session, std::string name, Recorded &recorded)
      : session(session), inner(makeBackend(session)), name(std::move(name)), recorded(recorded) {}

  std::shared_ptr<sn::detail::Runnable> compile(mlir::ModuleOp module,
                                                const std::string &entry) override {
    if (entry != kEntry) // what makes first values
      return inner->compile(module, entry);
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    std::string message;
    {
      mlir::ScopedDiagnosticHandler handler(&session.context, [&](mlir::Diagnostic &diagnostic) {
        message += diagnostic.str() + "\n";
      });
      auto made = record(*copy, "training/" + name, /*assemble=*/true);
      if (failed(made))
        throw sn::Error(name + " could not be compiled for cards: " + message);
      recorded.recording = std::move(*made);
    }
    auto &program = recorded.recording.pack.program;
    auto read = sn::rt::deserialize(program.data(), program.size());
    sn::detail::check(read.status());
    for (const sn::rt::Variable &variable : read->variables)
      recorded.variables.push_back(variable.name);
    return std::make_shared<RecordingRunnable>(session, inner->compile(module, entry), recorded);
  }

private:
  sn::detail::SessionState &session;
  std::unique_ptr<Backend> inner;
  std::string name;
  Recorded &recorded;
};

template <class T> struct Batch {
  T input, label;
};

std::vector<Batch<Array>> digits(int64_t batch, int64_t count) {
  auto loader = sn::data::from(sn::data::mnist(MNIST_DATA).train).batch(batch, {.dropLast = true});
  std::vector<Batch<Array>> batches;
  for (const Batch<Array> &b : sn::data::epoch<Batch>(loader)) {
    batches.push_back({b.input.clone(), b.label.clone()});
    if (int64_t(batches.size()) == count)
      break;
  }
  return batches;
}

/// One batch of random tokens over and over, which the network learns by heart.
std::vector<Batch<Array>> tokens(int64_t batch, size_t count) {
  using sn::testing::Transformer;
  std::mt19937 random(2);
  Batch<Array> b{Array::empty(sn::i64, {batch, Transformer::kLength}),
                 Array::empty(sn::i64, {batch * Transformer::kLength})};
  for (Array *array : {&b.input, &b.label})
    for (int64_t &token : array->values<int64_t>())
      token = int64_t(random() % Transformer::kVocabulary);
  return std::vector<Batch<Array>>(count, b);
}

/// For torch_peer.py.
void writeExchange(const std::string &folder, const std::string &name, const Recorded &recorded) {
  const Case &c = recorded.recording.pack.cases.front();
  std::map<std::string, Array> tensors;
  for (const NamedArray &variable : c.variables)
    tensors.emplace("variable." + variable.name, variable.value);
  for (size_t i = 0; i < c.steps.size(); ++i) {
    tensors.emplace("input." + std::to_string(i), c.steps[i].inputs[0]);
    tensors.emplace("label." + std::to_string(i), c.steps[i].inputs[1]);
    tensors.emplace("loss." + std::to_string(i), c.steps[i].expected[0].value);
  }
  std::filesystem::create_directories(folder + "/exchange");
  sn::save_safetensors(folder + "/exchange/" + name + ".safetensors", tensors);
}

template <class Net>
void recordTraining(const std::string &folder, const std::string &name, double learningRate,
                    const std::vector<Batch<Array>> &batches, Tensor (*prepare)(Tensor)) {
  sn::Options options;
  options.seed = 5;
  options.verbose = false;
  sn::Session session{options};
  Recorded recorded;
  session.state()->backend = std::make_unique<RecordingBackend>(*session.state(), name, recorded);
  Net net{session};
  sn::Sgd optimizer{net.parameters(), {.learningRate = learningRate}};
  auto step = sn::jit(session, [&](Batch<Tensor> b) {
    Tensor scores = net(prepare(b.input));
    int64_t classes = scores.dim(-1).value();
    Tensor loss = cross_entropy(reshape(scores, {-1, classes}), b.label);
    optimizer.minimize(loss);
    return loss;
  });
  float first = 0, last = 0;
  for (const Batch<Array> &batch : batches) {
    last = step(batch).template item<float>();
    if (&batch == &batches.front())
      first = last;
  }
  sn::detail::check(write(recorded.recording, folder));
  writeExchange(folder, name, recorded);
  std::printf("%s: %zu steps, loss %.4f to %.4f\n", name.c_str(), batches.size(), first, last);
}

Tensor asIs(Tensor x) { return x; }

} // namespace

int main(int argc, char **argv) try {
  if (argc != 2 || argv[1][0] == '-') {
    std::fputs("usage: gpu-check-record DIR\n"
               "  writes DIR/packs/training, DIR/emulated/training and DIR/exchange\n",
               stderr);
    return 2;
  }
  std::string folder = argv[1];
  // Steps so small that rounding does not grow: with 0.01 the CPU's and the emulated card's losses
  // are 45 times the tolerance apart after 48 steps, each of them right.
  recordTraining<mnist::Cnn>(folder, "mnist_cnn", kSmallRate, digits(16, 50), mnist::normalise);
  // Its tensors exceed a card's cache, so that times tell of memory.
  recordTraining<mnist::Cnn>(folder, "mnist_cnn_large", kSmallRate, digits(1024, 1),
                             mnist::normalise);
  recordTraining<sn::testing::Transformer>(folder, "transformer", 0.01, tokens(8, 10), asIs);
  return 0;
} catch (const sn::Error &error) {
  std::fprintf(stderr, "gpu-check-record: %s\n", error.what());
  return 1;
}
