// sinter's side of benchmarks/mnist.py: training steps of one network, on request.
//
// Writes its first weights and its batches for the peer, then answers each line of its input:
// "losses N" with the losses of N steps, "run N" with the seconds that N steps took.
#include "../models/mnist/models.h"
#include "policy.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace {

using namespace bench;

constexpr const char *kUsage =
    R"(usage: bench_mnist --case=cnn|policy --exchange=DIR [--sinter-* flags]
  writes DIR/weights.safetensors and DIR/batches.safetensors, then serves "losses N" and "run N"
)";
constexpr int64_t kCnnBatches = 32, kCnnBatch = 64;

std::vector<Batch<Array>> digits() {
  sn::data::Mnist files = sn::data::mnist(MNIST_DATA);
  sn::data::Loader loader = sn::data::from(files.train).batch(kCnnBatch, {.dropLast = true});
  std::vector<Batch<Array>> batches;
  for (const Batch<Array> &batch : sn::data::epoch<Batch>(loader)) {
    batches.push_back({batch.input.clone(), batch.label.clone()});
    if (int64_t(batches.size()) == kCnnBatches)
      break;
  }
  return batches;
}

/// One training step on batch `i`; its loss.
using Step = std::function<float(int64_t i)>;

double secondsOf(const Step &step, int64_t first, int64_t count) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i)
    step(first + i);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void serve(const Step &step) {
  std::puts("ready");
  std::fflush(stdout);
  int64_t done = 0, count = 0;
  std::string line, what;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    if (!(words >> what >> count) || count <= 0 || (what != "losses" && what != "run"))
      throw sn::Error("'" + line + "' is neither 'losses N' nor 'run N'");
    if (what == "run") {
      int64_t warm = (count + 9) / 10;
      secondsOf(step, done, warm);
      std::printf("%.9f\n", secondsOf(step, done + warm, count));
      done += warm + count;
    } else {
      for (int64_t i = 0; i < count; ++i)
        std::printf("%.9g%c", double(step(done++)), i + 1 < count ? ' ' : '\n');
    }
    std::fflush(stdout);
  }
}

template <class Net, class Rule, class Forward>
void run(const sn::Options &options, const std::string &exchange,
         const std::vector<Batch<Array>> &batches, Forward forward) {
  std::map<std::string, Array> shared;
  for (size_t i = 0; i < batches.size(); ++i) {
    shared.emplace("input." + std::to_string(i), batches[i].input);
    shared.emplace("label." + std::to_string(i), batches[i].label);
  }
  sn::save_safetensors(exchange + "/batches.safetensors", shared);

  sn::Session session(options);
  Net net(session);
  net.save(exchange + "/weights.safetensors");
  Rule rule(net.parameters());
  auto step = sn::jit(session, [&](Batch<Tensor> b) {
    Tensor loss = cross_entropy(forward(net, b.input), b.label);
    rule.minimize(loss);
    return loss;
  });
  serve(
      [&](int64_t i) { return step(batches[size_t(i) % batches.size()]).template item<float>(); });
}

} // namespace

int main(int argc, char **argv) try {
  sn::Options options = sn::Options::fromArgs(argc, argv);
  options.verbose = false;
  std::map<std::string, std::string> flags;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    size_t equals = word.find('=');
    flags[word.substr(0, equals)] = equals == word.npos ? "" : word.substr(equals + 1);
  }
  const std::string &which = flags["--case"], &exchange = flags["--exchange"];
  if (flags.size() != 2 || exchange.empty() || (which != "cnn" && which != "policy")) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (which == "cnn")
    run<mnist::Cnn, sn::AdamW>(options, exchange, digits(), [](mnist::Cnn &net, Tensor image) {
      return net(mnist::normalise(image));
    });
  else
    run<Policy, sn::Adam>(options, exchange, policyBatches(),
                          [](Policy &net, Tensor observation) { return net(observation); });
  return 0;
} catch (const sn::Error &error) {
  std::fprintf(stderr, "bench_mnist: %s\n", error.what());
  return 1;
}
