// A whole training step compiled with everything on against one naive kernel an operation, the same
// step on several numbers of threads, and by CUDA kernels on the emulated card.
#include "../../models/mnist/models.h"
#include "transformer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <unistd.h>

namespace sn = sinter;
using sn::Array;
using sn::Tensor;

namespace {

template <class T> struct Batch {
  T input, label;
};

/// Plain descent that also keeps each gradient, so that a saved session tells them.
struct Recorder : sn::Optimizer {
  explicit Recorder(sn::Variables p) : Optimizer("recorder", p, {.learningRate = 0.001}) {
    addSlot("gradient");
  }
  void update(const Step &s) override {
    s.slots[0].assign(s.gradient);
    s.parameter.assign(s.parameter - s.learningRate * s.gradient);
  }
};

Batch<Array> digits(int64_t batch) {
  std::mt19937 random(1);
  Batch<Array> b{Array::empty(sn::u8, {batch, 1, 28, 28}), Array::empty(sn::i64, {batch})};
  for (uint8_t &pixel : b.input.values<uint8_t>())
    pixel = random() % 4 ? 0 : uint8_t(random() % 256);
  for (int64_t &label : b.label.values<int64_t>())
    label = int64_t(random() % 10);
  return b;
}

Batch<Array> tokens(int64_t batch) {
  using sn::testing::Transformer;
  std::mt19937 random(2);
  Batch<Array> b{Array::empty(sn::i64, {batch, Transformer::kLength}),
                 Array::empty(sn::i64, {batch * Transformer::kLength})};
  for (int64_t &token : b.input.values<int64_t>())
    token = int64_t(random() % Transformer::kVocabulary);
  for (int64_t &label : b.label.values<int64_t>())
    label = int64_t(random() % Transformer::kVocabulary);
  return b;
}

struct Outcome {
  std::vector<float> losses;
  std::map<std::string, Array> variables; ///< gradients among them
};

sn::Options with(std::initializer_list<const char *> flags) {
  sn::Options options;
  options.seed = 5;
  options.verbose = false;
  for (const char *flag : flags)
    options.set(flag);
  return options;
}

/// `prepare` makes of the input what the network takes.
template <class Net>
Outcome train(sn::Options options, const Batch<Array> &batch, int steps,
              Tensor (*prepare)(Tensor)) {
  sn::Session session{options};
  Net net{session};
  Recorder optimizer{net.parameters()};
  auto step = sn::jit(session, [&](Batch<Tensor> b) {
    Tensor scores = net(prepare(b.input));
    int64_t classes = scores.dim(-1).value();
    Tensor loss = cross_entropy(reshape(scores, {-1, classes}), b.label);
    optimizer.minimize(loss);
    return loss;
  });
  Outcome outcome;
  for (int i = 0; i < steps; ++i)
    outcome.losses.push_back(step(batch).template item<float>());
  std::string file =
      ::testing::TempDir() + "step_test_" + std::to_string(::getpid()) + ".safetensors";
  session.save(file);
  outcome.variables = sn::load_safetensors(file);
  ::unlink(file.c_str());
  return outcome;
}

/// The largest element that a variable's error is measured by: its own, but for the gradient of a
/// bias in front of a batch norm. That is 0, as the norm subtracts every mean; what is left is the
/// rounding of a sum whose terms are as large as those of the convolution's weight.
double scaleOf(const Outcome &outcome, std::string name) {
  if (size_t at = name.find(".conv.bias"); at != name.npos && name.starts_with("recorder.gradient"))
    name.replace(at, name.npos, ".conv.weight");
  const Array &array = outcome.variables.at(name);
  double largest = 0;
  for (int64_t i = 0; i < array.elements(); ++i)
    largest = std::max(largest, std::abs(array.floatAt(i)));
  return largest;
}

/// Every variable within 1e-5 of its largest element.
void expectClose(const Outcome &expected, const Outcome &actual) {
  ASSERT_EQ(expected.variables.size(), actual.variables.size());
  size_t gradients = 0;
  double worst = 0;
  for (const auto &[name, a] : expected.variables) {
    ASSERT_TRUE(actual.variables.contains(name)) << name;
    const Array &b = actual.variables.at(name);
    ASSERT_EQ(a.type(), b.type()) << name;
    double largest = scaleOf(expected, name), error = 0;
    for (int64_t i = 0; i < a.elements(); ++i)
      error = std::max(error, std::abs(a.floatAt(i) - b.floatAt(i)));
    EXPECT_LE(error, 1e-5 * largest) << name;
    worst = std::max(worst, error / std::max(largest, 1e-30));
    gradients += name.find("gradient") != name.npos && largest > 0;
  }
  EXPECT_GE(gradients, 6u);
  std::printf("[ figure   ] %zu variables, %zu of them gradients, largest difference %.1e of the "
              "largest element\n",
              expected.variables.size(), gradients, worst);
}

template <class Net> void checkFusion(const Batch<Array> &batch, Tensor (*prepare)(Tensor)) {
  Outcome naive =
      train<Net>(with({"--sinter-fuse=off", "--sinter-vendor=none"}), batch, 1, prepare);
  expectClose(naive, train<Net>(with({}), batch, 1, prepare));
  expectClose(naive, train<Net>(with({"--sinter-vendor=none"}), batch, 1, prepare));
}

template <class Net>
void checkThreads(const char *vendor, const Batch<Array> &batch, Tensor (*prepare)(Tensor)) {
  Outcome one = train<Net>(with({vendor, "--sinter-threads=1"}), batch, 5, prepare);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const char *threads : {"--sinter-threads=2", "--sinter-threads=3"}) {
    Outcome other = train<Net>(with({vendor, threads}), batch, 5, prepare);
    EXPECT_EQ(one.losses, other.losses) << threads;
    for (const auto &[name, a] : one.variables) {
      const Array &b = other.variables.at(name);
      EXPECT_EQ(std::memcmp(a.data(), b.data(), size_t(a.bytes())), 0) << name << threads;
    }
  }
}

Tensor asIs(Tensor x) { return x; }

TEST(Step, FusedMlpEqualsNaive) { checkFusion<mnist::Mlp>(digits(64), mnist::normalise); }
TEST(Step, FusedCnnEqualsNaive) { checkFusion<mnist::Cnn>(digits(64), mnist::normalise); }
TEST(Step, FusedTransformerEqualsNaive) { checkFusion<sn::testing::Transformer>(tokens(8), asIs); }

TEST(Step, ThreadsDoNotChangeBits) {
  for (const char *vendor : {"--sinter-vendor=onednn", "--sinter-vendor=none"}) {
    checkThreads<mnist::Mlp>(vendor, digits(64), mnist::normalise);
    checkThreads<mnist::Cnn>(vendor, digits(16), mnist::normalise);
    checkThreads<sn::testing::Transformer>(vendor, tokens(8), asIs);
  }
}

/// CUDA kernels on the emulated card: one step fused equals one step of naive kernels, and `steps`
/// of them lose what the CPU's lose.
template <class Net>
void checkEmulated(const Batch<Array> &batch, int steps, Tensor (*prepare)(Tensor)) {
  constexpr const char *kEmulated = "--sinter-device=emu";
  Outcome naive =
      train<Net>(with({"--sinter-fuse=off", "--sinter-vendor=none"}), batch, 1, prepare);
  expectClose(naive, train<Net>(with({kEmulated}), batch, 1, prepare));
  expectClose(naive, train<Net>(with({kEmulated, "--sinter-fuse=off"}), batch, 1, prepare));
  Outcome cpu = train<Net>(with({}), batch, steps, prepare);
  Outcome emulated = train<Net>(with({kEmulated}), batch, steps, prepare);
  ASSERT_EQ(cpu.losses.size(), size_t(steps));
  double worst = 0;
  for (int i = 0; i < steps; ++i)
    worst = std::max(worst, std::abs(double(emulated.losses[i]) / cpu.losses[i] - 1));
  EXPECT_LE(worst, 1e-4);
  std::printf("[ figure   ] %d losses, largest relative difference %.1e\n", steps, worst);
  Outcome other =
      train<Net>(with({kEmulated, "--sinter-threads=1"}), batch, std::min(steps, 3), prepare);
  for (size_t i = 0; i < other.losses.size(); ++i)
    EXPECT_EQ(other.losses[i], emulated.losses[i]) << "threads changed bits";
}

TEST(EmulatedStep, Mlp) { checkEmulated<mnist::Mlp>(digits(16), 50, mnist::normalise); }
TEST(EmulatedStep, Cnn) { checkEmulated<mnist::Cnn>(digits(16), 50, mnist::normalise); }
TEST(EmulatedStep, Transformer) { checkEmulated<sn::testing::Transformer>(tokens(8), 10, asIs); }

/// A step whose kernels the emulated card checks: a finding would be its error. Checks change no
/// bit of it.
template <class Net> void checkChecked(const Batch<Array> &batch, Tensor (*prepare)(Tensor)) {
  Outcome plain = train<Net>(with({"--sinter-device=emu"}), batch, 1, prepare);
  Outcome checked =
      train<Net>(with({"--sinter-device=emu", "--sinter-emu=check"}), batch, 1, prepare);
  EXPECT_EQ(plain.losses, checked.losses);
}

TEST(CheckedStep, Mlp) { checkChecked<mnist::Mlp>(digits(16), mnist::normalise); }
TEST(CheckedStep, Cnn) { checkChecked<mnist::Cnn>(digits(16), mnist::normalise); }
TEST(CheckedStep, Transformer) { checkChecked<sn::testing::Transformer>(tokens(8), asIs); }

} // namespace
