// Counts of known kernels, by hand.
#include "emulator_kernels.h"
#include "emulator_support.h"

namespace sinter::codegen::test {
namespace {

rt::EmuOptions counting(int threads = 2) { return {.threads = threads, .count = true}; }

std::string kernel(const std::string &body) {
  return "@tile = internal addrspace(3) global [1024 x i32] undef, align 16\n"
         "define ptx_kernel void @k(ptr addrspace(1) %data) {\n"
         "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" +
         body + "  ret void\n}\n";
}

rt::KernelCounts count(const std::string &text, rt::LaunchShape shape, size_t integers = 4096) {
  Kernels kernels(text, {.instrument = true});
  Gpu gpu(counting());
  void *data = gpu.upload(std::vector<int32_t>(integers));
  EXPECT_EQ(gpu.run(kernels["k"], shape, data), "");
  auto counts = gpu.device->counts();
  return counts.empty() ? rt::KernelCounts() : counts[0];
}

TEST(EmulatorCount, VectorAddMovesTheMinimum) {
  Kernels kernels(kVectorAdd, {.instrument = true});
  Gpu gpu(counting());
  std::vector<float> x(1024);
  void *a = gpu.upload(x), *b = gpu.upload(x), *c = gpu.upload(x);
  EXPECT_EQ(gpu.run(kernels["vector_add"], shapeOf(8, 128), a, b, c, 1000), "");
  EXPECT_EQ(gpu.run(kernels["vector_add"], shapeOf(8, 128), a, b, c, 1000), "");
  auto counts = gpu.device->counts();
  ASSERT_EQ(counts.size(), 1u);
  const rt::KernelCounts &all = counts[0];
  EXPECT_EQ(all.kernel, "vector_add");
  EXPECT_EQ(all.launches, 2u);
  EXPECT_EQ(all.threads, 2048u);
  // 1000 floats are 31 whole warps and 8 lanes: 32 requests and 125 sectors an array.
  EXPECT_EQ(all.read.requests, 2u * 64);
  EXPECT_EQ(all.read.sectors, 2u * 250);
  EXPECT_EQ(all.read.requestedBytes, 2u * 8000);
  EXPECT_EQ(all.read.distinctBytes, 2u * 8000);
  EXPECT_EQ(all.read.distinctSectors, 2u * 250);
  EXPECT_EQ(all.written.sectors, 2u * 125);
  EXPECT_EQ(all.sectorEfficiency(), 1);
  EXPECT_EQ(all.bytesOverMinimum(), 1);
  EXPECT_EQ(all.instructions[SINTER_EMU_FP32], 2u * 1000);
  EXPECT_EQ(all.instructions[SINTER_EMU_GLOBAL_LOAD], 2u * 2000);
  EXPECT_EQ(all.instructions[SINTER_EMU_GLOBAL_STORE], 2u * 1000);
  // mul, add, compare of all; three addresses of those inside.
  EXPECT_EQ(all.instructions[SINTER_EMU_INTEGER], 2u * (3 * 1024 + 3 * 1000));
  EXPECT_EQ(all.instructions[SINTER_EMU_BRANCH], 2u * (2 * 1024 + 1000));
  gpu.device->resetCounts();
  EXPECT_TRUE(gpu.device->counts().empty());
}

TEST(EmulatorCount, WhatStaysInTheCacheIsFetchedOnce) {
  Kernels kernels(kernel(R"(
  %wide = zext i32 %tid to i64
  %at = getelementptr i32, ptr addrspace(1) %data, i64 %wide
  %x = load i32, ptr addrspace(1) %at
  store i32 %x, ptr addrspace(1) %at
)"),
                  {.instrument = true});
  for (uint64_t kept : {uint64_t(0), uint64_t(16384)}) {
    rt::EmuOptions options = counting();
    options.keptBytes = kept;
    Gpu gpu(options);
    void *data = gpu.upload(std::vector<int32_t>(4096));
    EXPECT_EQ(gpu.run(kernels["k"], shapeOf(4, 128), data), "");
    rt::KernelCounts counts = gpu.device->counts().at(0);
    // Four blocks read and write the same 512 bytes.
    EXPECT_EQ(counts.bytesMoved(), 2u * 4 * 512);
    EXPECT_EQ(counts.bytesFetched(), 2u * (kept ? 512 : 4 * 512));
    EXPECT_EQ(counts.bytesOverMinimum(), kept ? 1 : 4);
  }
}

TEST(EmulatorCount, StridesTakeASectorALane) {
  auto strided = [&](const char *stride) {
    return count(kernel(replaced(R"(
  %i = mul i32 %tid, STRIDE
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %v = load i32, ptr addrspace(1) %p, align 4
)",
                                 "STRIDE", stride)),
                 shapeOf(1, 32));
  };
  EXPECT_EQ(strided("1").read.sectors, 4u);
  EXPECT_EQ(strided("2").read.sectors, 8u);
  EXPECT_EQ(strided("8").read.sectors, 32u);
  EXPECT_EQ(strided("32").read.sectors, 32u);
  EXPECT_EQ(strided("32").sectorEfficiency(), 0.125);
  EXPECT_EQ(strided("0").read.sectors, 1u);
  EXPECT_EQ(strided("0").read.distinctBytes, 4u);
}

TEST(EmulatorCount, VectorsAreOneRequestIfAligned) {
  auto vectors = [&](const char *align) {
    return count(kernel(replaced(R"(
  %i = shl i32 %tid, 2
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %v = load <4 x i32>, ptr addrspace(1) %p, align ALIGN
)",
                                 "ALIGN", align)),
                 shapeOf(1, 32));
  };
  EXPECT_EQ(vectors("16").read.requests, 1u);
  EXPECT_EQ(vectors("16").read.sectors, 16u);
  EXPECT_EQ(vectors("16").instructions[SINTER_EMU_GLOBAL_LOAD], 32u);
  // Four loads of 4 bytes, 16 bytes apart: each touches all 16 sectors.
  EXPECT_EQ(vectors("4").read.requests, 4u);
  EXPECT_EQ(vectors("4").read.sectors, 64u);
  EXPECT_EQ(vectors("4").instructions[SINTER_EMU_GLOBAL_LOAD], 128u);
}

TEST(EmulatorCount, LoopsAreARequestAnIteration) {
  rt::KernelCounts counts = count(R"(
define ptx_kernel void @k(ptr addrspace(1) %data) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %loop
loop:
  %n = phi i32 [ 0, %entry ], [ %next, %loop ]
  %row = shl i32 %n, 6
  %i = add i32 %row, %tid
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %v = load i32, ptr addrspace(1) %p, align 4
  %next = add i32 %n, 1
  %lane = and i32 %tid, 3
  %more = icmp ule i32 %next, %lane
  br i1 %more, label %loop, label %end
end:
  ret void
}
)",
                                  shapeOf(1, 64));
  // Lane l runs 1 + l % 4 times: four requests a warp, of 32, 24, 16 and 8 lanes.
  EXPECT_EQ(counts.read.requests, 8u);
  EXPECT_EQ(counts.read.requestedBytes, 2u * 80 * 4);
  EXPECT_EQ(counts.read.sectors, 2u * 16);
}

TEST(EmulatorCount, TransposeHasConflictsWithoutPadding) {
  for (auto [pitch, conflicts] : {std::pair{"32", 31u}, std::pair{"33", 0u}}) {
    Kernels kernels(replaced(kTranspose, "PITCH", pitch), {.instrument = true});
    Gpu gpu(counting());
    void *x = gpu.upload(std::vector<float>(64 * 64)), *y = gpu.allocate(64 * 64 * 4);
    EXPECT_EQ(gpu.run(kernels["transpose"], {{2, 2, 1}, {32, 8, 1}}, x, y, 64), "");
    rt::KernelCounts counts = gpu.device->counts()[0];
    EXPECT_EQ(counts.sharedRequests, 2u * 4 * 32);
    EXPECT_EQ(counts.bankConflicts, 4u * 32 * conflicts) << pitch; // each column read
    EXPECT_EQ(counts.bytesOverMinimum(), 1);
    EXPECT_EQ(counts.instructions[SINTER_EMU_BARRIER], 4u * 256);
  }
}

TEST(EmulatorCount, BanksByTheBook) {
  auto conflicts = [&](const char *type, const char *align, const char *index) {
    std::string text = replaced(R"(
  %i = INDEX
  %p = getelementptr i8, ptr addrspace(3) @tile, i32 %i
  %v = load TYPE, ptr addrspace(3) %p, align ALIGN
)",
                                "INDEX", index);
    return count(kernel(replaced(replaced(text, "TYPE", type), "ALIGN", align)), shapeOf(1, 32))
        .bankConflicts;
  };
  EXPECT_EQ(conflicts("i32", "4", "shl i32 %tid, 2"), 0u);
  EXPECT_EQ(conflicts("i32", "4", "shl i32 %tid, 3"), 1u);
  EXPECT_EQ(conflicts("i32", "4", "shl i32 %tid, 7"), 31u);
  EXPECT_EQ(conflicts("i32", "4", "mul i32 %tid, 0"), 0u);        // broadcast
  EXPECT_EQ(conflicts("i8", "1", "mul i32 %tid, 1"), 0u);         // 4 lanes a word
  EXPECT_EQ(conflicts("i64", "8", "shl i32 %tid, 3"), 0u);        // two halves
  EXPECT_EQ(conflicts("<4 x i32>", "16", "shl i32 %tid, 4"), 0u); // four quarters
  EXPECT_EQ(conflicts("<4 x i32>", "16", "shl i32 %tid, 6"), 4u * 3);
}

TEST(EmulatorCount, CountsDependOnNoSchedule) {
  auto run = [](int threads) {
    Kernels kernels(kHistogram, {.instrument = true});
    Gpu gpu(counting(threads));
    std::vector<int32_t> x(64 * 128);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = int32_t(i * 7919 % 1013);
    void *in = gpu.upload(x), *out = gpu.upload(std::vector<int32_t>(16));
    EXPECT_EQ(gpu.run(kernels["histogram"], shapeOf(64, 128), in, out), "");
    rt::KernelCounts counts = gpu.device->counts()[0];
    return std::make_tuple(counts.instructions, counts.bankConflicts, counts.read.sectors,
                           counts.written.distinctBytes, counts.read.distinctBytes);
  };
  auto once = run(1);
  EXPECT_EQ(std::get<0>(once)[SINTER_EMU_ATOMIC], 64u * 128 + 64 * 16);
  EXPECT_EQ(std::get<3>(once), 64u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(run(4), once);
}

TEST(EmulatorCount, RooflinesOfKnownCards) {
  const rt::Card *h200 = rt::findCard("h200"), *a100 = rt::findCard("a100");
  ASSERT_TRUE(h200 && a100);
  EXPECT_EQ(rt::findCard("h2000"), nullptr);
  rt::KernelCounts counts;
  counts.launches = 1;
  // 4.8 GB
  counts.read.sectors = counts.read.fetchedSectors = counts.read.distinctSectors = 150'000'000;
  EXPECT_NEAR(roofline(counts, *h200).memorySeconds, 1e-3, 1e-9);
  EXPECT_NEAR(roofline(counts, *h200).seconds, 1e-3 + h200->launchSeconds, 1e-9);
  EXPECT_GT(roofline(counts, *a100).seconds, 2e-3);
  counts.instructions[SINTER_EMU_FP32] = uint64_t(132 * 128 * 1.98e9);
  EXPECT_NEAR(roofline(counts, *h200).computeSeconds, 1, 1e-6);
  counts.instructions[SINTER_EMU_FP32] = 0;
  // What fits the L2 comes from memory once, however often it is read.
  counts.read.distinctSectors = 1'000'000;
  EXPECT_NEAR(roofline(counts, *h200).memorySeconds, 32e6 / 4.8e12, 1e-12);
  EXPECT_EQ(roofline(counts, *h200).cacheSeconds, 4.8e9 / h200->cacheBandwidth);
  std::string table = formatCounts(std::vector{counts}, *h200);
  EXPECT_NE(table.find("us on h200"), std::string::npos);
}

TEST(EmulatorCount, PlainKernelsAreRefused) {
  Kernels kernels(kVectorAdd);
  Gpu gpu(counting());
  void *a = gpu.allocate(64);
  EXPECT_CONTAINS(gpu.run(kernels["vector_add"], shapeOf(1, 16), a, a, a, 16),
                  "is not instrumented, so that it cannot be checked or counted");
}

} // namespace
} // namespace sinter::codegen::test
