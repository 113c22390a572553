// From the start of a process to its first result: printed, since a shared machine's times are no
// test.
#include "tool_support.h"

#include <chrono>

namespace sinter::aot {
namespace {

constexpr int kProcesses = 20;

void printColdStart(const char *consumer, const char *vendor) {
  std::vector<double> times;
  for (int i = 0; i <= kProcesses; ++i) {
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = run({consumer});
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    expectOutput(outcome, {"all together 1.000"});
    if (i) // the first one reads the files from disk
      times.push_back(time.count());
  }
  std::sort(times.begin(), times.end());
  std::printf("[ figure   ] cold_start_ms %.1f (vendor %s, median of %d processes, %.1f to %.1f)\n",
              times[kProcesses / 2], vendor, kProcesses, times.front(), times.back());
}

TEST(ColdStart, WithoutAVendor) { printColdStart(CONSUMER_NONE, "none"); }
TEST(ColdStart, WithOneDnn) { printColdStart(CONSUMER_ONEDNN, "onednn"); }

} // namespace
} // namespace sinter::aot
