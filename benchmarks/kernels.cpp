// The table of kernels: what each moves and spills, and the least time a card takes for it.
#include "kernel_quality.h"

#include "sinter/base/error.h"

#include <cstdio>
#include <cstring>

namespace {

constexpr const char *kUsage = R"(usage: bench_kernels [--device=emu] [--only=TEXT] [--steps]
  a line a kernel:
  kernel <case>:<command>:<symbol> bytes_over_minimum <x> sector_efficiency <x> spills <n>,
  then what was counted; docs/kernels.md tells how to read it
  --only=TEXT  cases whose name begins with TEXT
  --steps      the kernels of whole training steps instead, with their sums
)";

void print(const bench::KernelFigures &kernel) {
  const sinter::rt::KernelCounts &counts = kernel.counts;
  std::printf(
      "kernel %s bytes_over_minimum %.3f sector_efficiency %.3f spills %s"
      " launches %llu conflicts %llu distinct %llu fetched %llu moved %llu us_on_h200 %.2f\n",
      kernel.name.c_str(), counts.bytesOverMinimum(), counts.sectorEfficiency(),
      kernel.spills ? std::to_string(*kernel.spills).c_str() : "-",
      static_cast<unsigned long long>(counts.launches),
      static_cast<unsigned long long>(counts.bankConflicts),
      static_cast<unsigned long long>(counts.read.distinctBytes + counts.written.distinctBytes),
      static_cast<unsigned long long>(counts.bytesFetched()),
      static_cast<unsigned long long>(counts.bytesMoved()), kernel.seconds * 1e6);
}

} // namespace

int main(int argc, char **argv) try {
  std::string only;
  bool steps = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--only=", 7) == 0) {
      only = argv[i] + 7;
    } else if (std::strcmp(argv[i], "--steps") == 0) {
      steps = true;
    } else if (std::strcmp(argv[i], "--device=emu") != 0) {
      std::fputs(kUsage, stderr);
      return 2;
    }
  }
  bool isAssembled = true;
  auto cases =
      steps ? std::vector{bench::cnnStep(64), bench::transformerStep(32)} : bench::kernelCases();
  for (const bench::KernelCase &what : cases) {
    if (!what.name.starts_with(only))
      continue;
    uint64_t launches = 0, bytes = 0;
    double seconds = 0;
    for (const bench::KernelFigures &kernel : bench::measure(what)) {
      print(kernel);
      isAssembled = isAssembled && kernel.spills;
      launches += kernel.counts.launches;
      bytes += kernel.counts.bytesFetched();
      seconds += kernel.seconds;
    }
    if (steps)
      std::printf("step %s launches %llu fetched %llu us_on_h200 %.2f\n", what.name.c_str(),
                  static_cast<unsigned long long>(launches), static_cast<unsigned long long>(bytes),
                  seconds * 1e6);
    std::fflush(stdout);
  }
  if (!isAssembled)
    std::puts("spills are not known: there is no ptxas; the CUDA toolkit has it");
  return 0;
} catch (const sinter::Error &error) {
  std::fprintf(stderr, "bench_kernels: %s\n", error.what());
  return 1;
}
