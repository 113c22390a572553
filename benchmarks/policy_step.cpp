// What a small training step costs beside its arithmetic, through the public DSL: each call's time
// less its own commands' as the profiler's trace counts them, the median over calls. What the
// profiler itself costs counts as beside, but for its reads of the clock.
#include "policy.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace bench;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

sn::Options optionsFor(int threads, const std::string &profile) {
  sn::Options options;
  options.threads = threads;
  options.verbose = false;
  options.profile = profile;
  return options;
}

class Learner {
public:
  explicit Learner(const sn::Options &options) : session(options) {}

  float step() {
    const Batch<Array> &batch = batches[next++ % batches.size()];
    return compiled(batch).template item<float>();
  }

private:
  Tensor traced(Batch<Tensor> batch) {
    Tensor loss = cross_entropy(net(batch.input), batch.label);
    adam.minimize(loss);
    return loss;
  }

  sn::Session session;
  Policy net{session};
  sn::Adam adam{net.parameters()};
  std::vector<Batch<Array>> batches = policyBatches();
  size_t next = 0;
  sn::Compiled<Tensor(Batch<Tensor>)> compiled =
      sn::jit(session, [this](Batch<Tensor> batch) { return traced(batch); });
};

/// The profiler reads the clock twice a command, once within its time.
double clockCost() {
  constexpr int kReads = 100000;
  Clock::time_point start = Clock::now(), last = start;
  for (int i = 0; i < kReads; ++i)
    benchmark::DoNotOptimize(last = Clock::now());
  return microseconds(last - start) / kReads;
}

double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What the profiler says of a step; nothing if its trace is not whole.
struct Commands {
  size_t count = 0;
  double arithmetic = 0; ///< microseconds: median over steps of the commands' time
  double beyond = 0;     ///< microseconds: median over steps of the rest of the call
};

/// Durations of the trace's events, in their order.
std::vector<double> durationsIn(const std::string &path) {
  std::ifstream file(path);
  std::vector<double> durations;
  for (std::string line; std::getline(file, line);)
    if (size_t at = line.find("\"dur\":"); at != line.npos)
      durations.push_back(std::strtod(line.c_str() + at + 6, nullptr));
  return durations;
}

Commands profiled(int threads) {
  constexpr size_t kSteps = 5000;
  std::string path = (std::filesystem::temp_directory_path() /
                      ("sinter-policy-step-" + std::to_string(getpid()) + ".json"))
                         .string();
  std::vector<double> calls;
  {
    Learner learner(optionsFor(threads, path));
    for (size_t i = 0; i < kSteps; ++i) {
      Clock::time_point start = Clock::now();
      learner.step();
      calls.push_back(microseconds(Clock::now() - start));
    }
  } // the session writes its trace
  std::vector<double> durations = durationsIn(path);
  std::filesystem::remove(path);
  if (durations.empty() || durations.size() % kSteps)
    return {};
  size_t count = durations.size() / kSteps;
  std::vector<double> sums(kSteps), beyond;
  for (size_t i = 0; i < durations.size(); ++i)
    sums[i / count] += durations[i];
  double clocks = double(count) * clockCost();
  for (size_t i = 1; i < kSteps; ++i) // the first call compiles
    beyond.push_back(calls[i] - sums[i] - clocks);
  return {count, median(sums) - clocks, median(beyond)};
}

/// Runs once a number of threads, before its benchmark.
const Commands &commandsOf(int threads) {
  static std::map<int, Commands> known;
  auto [entry, isNew] = known.try_emplace(threads);
  if (isNew)
    entry->second = profiled(threads);
  return entry->second;
}

void policyStep(benchmark::State &state) {
  int threads = int(state.range(0));
  const Commands &within = commandsOf(threads);
  if (within.count == 0)
    return state.SkipWithError("the profile's trace is empty, or ends within a step");
  Learner learner(optionsFor(threads, ""));
  for (int i = 0; i < 1000; ++i)
    learner.step();
  std::vector<double> times;
  Clock::time_point last = Clock::now();
  for (auto _ : state) {
    benchmark::DoNotOptimize(learner.step());
    Clock::time_point now = Clock::now();
    times.push_back(microseconds(now - last));
    last = now;
  }
  state.counters["commands"] = double(within.count);
  state.counters["step_us"] = median(std::move(times));
  state.counters["arithmetic_us"] = within.arithmetic;
  state.counters["beyond_us"] = within.beyond;
}
BENCHMARK(policyStep)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

} // namespace
