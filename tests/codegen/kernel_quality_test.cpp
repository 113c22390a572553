// The bars on what CUDA kernels move and how: exact counts of the emulated card, so they are
// asserted. docs/kernels.md lists them.
#include "kernel_quality.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using bench::KernelCase;
using bench::KernelFigures;
using sinter::rt::KernelCounts;

uint64_t distinctBytes(const KernelCounts &counts) {
  return counts.read.distinctBytes + counts.written.distinctBytes;
}

const std::vector<KernelCase> &cases() {
  static const std::vector<KernelCase> all = bench::kernelCases();
  return all;
}

class KernelQuality : public testing::TestWithParam<size_t> {};

TEST_P(KernelQuality, MovesTheMinimum) {
  const KernelCase &what = cases()[GetParam()];
  // Windows of channels-first images: docs/kernels.md, "Not there yet".
  bool isPooling = what.name.starts_with("max_pool");
  bool isTransposed = what.name.starts_with("transpose") || what.name.starts_with("nchw") ||
                      what.name.starts_with("nhwc");
  size_t looked = 0;
  for (const KernelFigures &kernel : bench::measure(what)) {
    const KernelCounts &counts = kernel.counts;
    if (kernel.spills) {
      EXPECT_EQ(*kernel.spills, 0) << kernel.name;
    }
    if (distinctBytes(counts) < 4096) // a scalar takes a sector
      continue;
    ++looked;
    EXPECT_LE(counts.bytesOverMinimum(), isPooling ? 1.85 : 1.05) << kernel.name;
    EXPECT_GE(counts.sectorEfficiency(), isPooling ? 0.5 : 0.95) << kernel.name;
    if (isTransposed) {
      EXPECT_GT(counts.sharedRequests, 0u) << kernel.name;
      EXPECT_EQ(counts.bankConflicts, 0u) << kernel.name;
    }
  }
  EXPECT_GE(looked, 1u);
}

INSTANTIATE_TEST_SUITE_P(Cases, KernelQuality, testing::Range<size_t>(0, cases().size()),
                         [](const auto &info) {
                           std::string name = cases()[info.param].name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

struct Sum {
  uint64_t launches = 0, bytes = 0; ///< bytes: distinct ones of each launch
};
Sum sumOf(const KernelCase &step) {
  Sum sum;
  for (const KernelFigures &kernel : bench::measure(step, /*assembled=*/false)) {
    sum.launches += kernel.counts.launches;
    sum.bytes += distinctBytes(kernel.counts);
  }
  std::printf("[ figure   ] %s: %llu launches, %.2f MB\n", step.name.c_str(),
              static_cast<unsigned long long>(sum.launches), double(sum.bytes) / 1e6);
  return sum;
}
/// Not above the bar, nor so far below it that the bar says nothing any more.
void expectWithin(uint64_t value, uint64_t bar) {
  EXPECT_LE(value, bar);
  EXPECT_GE(value, bar - bar / 10) << "better than the bar by a tenth: lower the bar";
}

TEST(StepQuality, Cnn) {
  constexpr uint64_t kBatch = 64, kFloat = 4, kBlocks = 2, kMostChunks = 64;
  constexpr uint64_t first = kBatch * 32 * 28 * 28 * kFloat, // results of the two convolutions
      second = kBatch * 64 * 14 * 14 * kFloat;
  constexpr uint64_t weight = 64 * 32 * 9 * kFloat,
                     parameters =
                         (32 * 9 + 3 * 32 + 64 * 32 * 9 + 3 * 64 + 3136 * 10 + 10) * kFloat;
  Sum sum = sumOf(bench::cnnStep(kBatch));
  // A result is written; read for its mean; read and written centred for its variance; read and
  // written by the norm and ReLU; read by the pooling, for values and places; backward: two passes
  // of the norm over it and what comes back, and the weight's gradient. The second block's input
  // has a gradient, too. Partial sums of its weight's gradient are written and read; parameters go
  // forward, backward, through AdamW (4 reads, 3 writes), and have partial sums of their own.
  expectWithin(sum.bytes, 15 * first + 16 * second + 2 * kMostChunks * weight + 20 * parameters);
  expectWithin(sum.launches, 16 * kBlocks + 16);
}

TEST(StepQuality, Transformer) {
  constexpr uint64_t kBatch = 32, kLength = 24, kWidth = 64, kFloat = 4, kBlocks = 2;
  constexpr uint64_t tokens = kBatch * kLength * kWidth * kFloat; // a value of the residual stream
  constexpr uint64_t block = (3 + 1 + 4 + 4) * kWidth * kWidth + (3 + 1 + 4 + 1 + 4) * kWidth;
  constexpr uint64_t parameters =
      ((50 + kLength) * kWidth + kBlocks * block + 2 * kWidth + 50 * (kWidth + 1)) * kFloat;
  Sum sum = sumOf(bench::transformerStep(kBatch));
  // In units of `tokens`, of which queries, keys and values have 3, scores 1.5 and the hidden layer
  // 4: a block takes 54 forward and 112 backward, both with the splits of long products; embedding,
  // last norm, scores over the vocabulary and their loss 28.
  expectWithin(sum.bytes, (kBlocks * (54 + 112) + 28) * tokens + 10 * parameters);
  expectWithin(sum.launches, 56 * kBlocks + 24);
}

} // namespace
