// Emulated kernels compute what they would on a GPU.
#include "emulator_kernels.h"
#include "emulator_support.h"

#include <numeric>

namespace sinter::codegen::test {
namespace {

std::vector<float> iota(size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Everything here must also hold for instrumented kernels, watched or not.
class EmulatorRun : public testing::TestWithParam<int> {
protected:
  EmulationOptions options() const { return {.instrument = GetParam() > 0}; }
  rt::EmuOptions device() const {
    return {.threads = 2, .check = GetParam() > 1, .count = GetParam() > 1};
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, EmulatorRun, testing::Values(0, 1, 2), [](const auto &info) {
  return std::string(info.param == 0 ? "plain" : info.param == 1 ? "instrumented" : "watched");
});

TEST_P(EmulatorRun, VectorAddMasksTheTail) {
  Kernels kernels(kVectorAdd, options());
  Gpu gpu(device());
  void *a = gpu.upload(iota(1000)), *b = gpu.upload(iota(1000, 5)), *c = gpu.upload(iota(1024, 7));
  EXPECT_EQ(gpu.run(kernels["vector_add"], shapeOf(4, 256), a, b, c, 1000), "");
  std::vector<float> sums = gpu.download<float>(c, 1024);
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(sums[i], i < 1000 ? 2.0f * float(i) + 5 : float(i) + 7) << i;
  EXPECT_FALSE(kernels.description("vector_add").communicates);
}

TEST_P(EmulatorRun, BlockSumByShufflesAndSharedMemory) {
  Kernels kernels(kBlockSum, options());
  Gpu gpu(device());
  for (uint32_t threads : {32u, 128u, 1024u}) {
    void *x = gpu.upload(iota(threads * 5)), *out = gpu.allocate(5 * 4);
    EXPECT_EQ(gpu.run(kernels["block_sum"], shapeOf(5, threads), x, out), "");
    std::vector<float> sums = gpu.download<float>(out, 5);
    for (uint32_t block = 0; block < 5; ++block)
      EXPECT_EQ(sums[block], float(threads) * (float(block * threads) + float(threads - 1) / 2));
  }
  const sinter_emu_kernel &kernel = kernels.description("block_sum");
  EXPECT_TRUE(kernel.communicates);
  EXPECT_EQ(kernel.static_shared, 128u);
}

TEST_P(EmulatorRun, TransposeThroughSharedMemory) {
  for (const char *pitch : {"32", "33"}) {
    Kernels kernels(replaced(kTranspose, "PITCH", pitch), options());
    Gpu gpu(device());
    void *x = gpu.upload(iota(64 * 64)), *y = gpu.allocate(64 * 64 * 4);
    EXPECT_EQ(gpu.run(kernels["transpose"], {{2, 2, 1}, {32, 8, 1}}, x, y, 64), "");
    std::vector<float> turned = gpu.download<float>(y, 64 * 64);
    for (int i = 0; i < 64 * 64; ++i)
      ASSERT_EQ(turned[i], float(i % 64 * 64 + i / 64));
  }
}

TEST_P(EmulatorRun, AtomicsOfAllBlocksAddUp) {
  Kernels kernels(kHistogram, options());
  Gpu gpu(device());
  std::vector<int32_t> x(64 * 128);
  std::iota(x.begin(), x.end(), 0);
  void *in = gpu.upload(x), *out = gpu.upload(std::vector<int32_t>(16));
  EXPECT_EQ(gpu.run(kernels["histogram"], shapeOf(64, 128), in, out), "");
  EXPECT_EQ(gpu.download<int32_t>(out, 16), std::vector<int32_t>(16, 512));
}

constexpr const char *kFloatAtomics = R"(
define ptx_kernel void @float_atomics(ptr addrspace(1) %sum, ptr addrspace(1) %wide, ptr addrspace(1) %most,
                                      ptr addrspace(1) %turns) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %x = uitofp i32 %tid to float
  %a = atomicrmw fadd ptr addrspace(1) %sum, float %x monotonic
  %d = uitofp i32 %tid to double
  %b = atomicrmw fadd ptr addrspace(1) %wide, double %d syncscope("device") monotonic
  %c = atomicrmw umax ptr addrspace(1) %most, i32 %tid monotonic
  %e = atomicrmw uinc_wrap ptr addrspace(1) %turns, i32 2 monotonic
  ret void
}
)";

TEST_P(EmulatorRun, AtomicsOnFloats) {
  Kernels kernels(kFloatAtomics, options());
  Gpu gpu(device());
  void *sum = gpu.upload(std::vector<float>{1}), *wide = gpu.upload(std::vector<double>{1});
  void *most = gpu.upload(std::vector<int>{0}), *turns = gpu.upload(std::vector<int>{0});
  EXPECT_EQ(gpu.run(kernels["float_atomics"], shapeOf(4, 64), sum, wide, most, turns), "");
  EXPECT_EQ(gpu.download<float>(sum, 1)[0], 1 + 4 * 63 * 64 / 2);
  EXPECT_EQ(gpu.download<double>(wide, 1)[0], 1 + 4 * 63 * 64 / 2);
  EXPECT_EQ(gpu.download<int>(most, 1)[0], 63);
  EXPECT_EQ(gpu.download<int>(turns, 1)[0], 256 % 3);
}

constexpr const char *kReverse = R"(
@fixed = internal addrspace(3) global i64 undef
@buffer = external addrspace(3) global [0 x i32], align 16
define ptx_kernel void @reverse(ptr addrspace(1) %x) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  store i64 7, ptr addrspace(3) @fixed
  %px = getelementptr i32, ptr addrspace(1) %x, i32 %tid
  %value = load i32, ptr addrspace(1) %px
  %slot = getelementptr i32, ptr addrspace(3) @buffer, i32 %tid
  store i32 %value, ptr addrspace(3) %slot
  call void @llvm.nvvm.barrier0()
  %last = sub i32 %ntid, 1
  %other = sub i32 %last, %tid
  %from = getelementptr i32, ptr addrspace(3) @buffer, i32 %other
  %turned = load i32, ptr addrspace(3) %from
  store i32 %turned, ptr addrspace(1) %px
  ret void
}
)";

TEST(EmulatorRun, DynamicSharedMemoryLiesBehindTheStatic) {
  Kernels kernels(kReverse);
  EXPECT_EQ(kernels.description("reverse").static_shared, 16u);
  Gpu gpu;
  std::vector<int32_t> x(100);
  std::iota(x.begin(), x.end(), 0);
  void *in = gpu.upload(x);
  EXPECT_EQ(gpu.run(kernels["reverse"], shapeOf(1, 100, 400), in), "");
  std::reverse(x.begin(), x.end());
  EXPECT_EQ(gpu.download<int32_t>(in, 100), x);
}

constexpr const char *kCoordinates = R"(
define ptx_kernel void @coordinates(ptr addrspace(1) %out) {
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %tz = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %nz = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bz = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %gy = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %1 = mul i32 %bz, %gy
  %2 = add i32 %1, %by
  %3 = mul i32 %2, %gx
  %4 = add i32 %3, %bx
  %5 = mul i32 %4, %nz
  %6 = add i32 %5, %tz
  %7 = mul i32 %6, %ny
  %8 = add i32 %7, %ty
  %9 = mul i32 %8, %nx
  %10 = add i32 %9, %tx
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %10
  store i32 %10, ptr addrspace(1) %p
  ret void
}
)";

TEST_P(EmulatorRun, GridsAndBlocksHaveThreeDimensions) {
  Kernels kernels(kCoordinates, options());
  Gpu gpu(device());
  constexpr int count = 3 * 2 * 4 * 5 * 3 * 2;
  void *out = gpu.upload(std::vector<int32_t>(count, -1));
  EXPECT_EQ(gpu.run(kernels["coordinates"], {{3, 2, 4}, {5, 3, 2}}, out), "");
  std::vector<int32_t> got = gpu.download<int32_t>(out, count);
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(got[i], i);
}

/// `body` computes %r from %tid, %lane and %x = 100 + tid; out[tid] = %r.
std::string warpKernel(const std::string &body, const std::string &more = "") {
  return "define ptx_kernel void @k(ptr addrspace(1) %out) {\n"
         "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
         "  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
         "  %x = add i32 %tid, 100\n" +
         body +
         "  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid\n"
         "  store i32 %r, ptr addrspace(1) %p\n  ret void\n}\n" +
         more;
}

std::vector<int32_t> runWarp(const std::string &text, uint32_t threads) {
  Kernels kernels(text);
  Gpu gpu;
  void *out = gpu.upload(std::vector<int32_t>(threads, -7));
  EXPECT_EQ(gpu.run(kernels["k"], shapeOf(1, threads), out), "");
  return gpu.download<int32_t>(out, threads);
}

/// PTX ISA, shfl.sync: the lanes of a segment, and which keep their own value.
TEST(EmulatorWarp, ShufflesByTheBook) {
  auto down = runWarp(
      warpKernel("%r = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %x, i32 3, i32 31)\n"),
      64);
  auto up = runWarp(
      warpKernel("%r = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %x, i32 3, i32 0)\n"), 64);
  auto bfly = runWarp(
      warpKernel("%r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 5, i32 31)\n"),
      64);
  auto idx = runWarp(
      warpKernel("%r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 9, i32 31)\n"),
      64);
  // Segments of 8 lanes: (32 - 8) << 8 | 7 is 6151.
  auto part = runWarp(
      warpKernel("%r = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %x, i32 3, i32 6175)\n"),
      64);
  auto first = runWarp(
      warpKernel("%r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 0, i32 6175)\n"),
      64);
  for (int i = 0; i < 64; ++i) {
    int lane = i % 32, warp = i - lane;
    EXPECT_EQ(down[i], 100 + (lane + 3 < 32 ? i + 3 : i));
    EXPECT_EQ(up[i], 100 + (lane >= 3 ? i - 3 : i));
    EXPECT_EQ(bfly[i], 100 + (i ^ 5));
    EXPECT_EQ(idx[i], 100 + warp + 9);
    EXPECT_EQ(part[i], 100 + (lane % 8 + 3 < 8 ? i + 3 : i));
    EXPECT_EQ(first[i], 100 + i / 8 * 8);
  }
}

TEST(EmulatorWarp, ShufflesTellWhetherTheSourceWasInside) {
  auto got = runWarp(
      warpKernel(
          "%pair = call {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32 -1, i32 %x, i32 16, i32 31)\n"
          "%in = extractvalue {i32, i1} %pair, 1\n%r = zext i1 %in to i32\n"),
      32);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i < 16);
}

TEST(EmulatorWarp, Votes) {
  const std::string declare = "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)\n"
                              "declare i1 @llvm.nvvm.vote.all.sync(i32, i1)\n"
                              "declare i1 @llvm.nvvm.vote.any.sync(i32, i1)\n"
                              "declare i1 @llvm.nvvm.vote.uni.sync(i32, i1)\n";
  auto ballot = runWarp(warpKernel("%c = icmp ugt i32 %tid, 40\n"
                                   "%r = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %c)\n",
                                   declare),
                        64);
  EXPECT_EQ(ballot[0], 0);
  EXPECT_EQ(uint32_t(ballot[63]), ~0u << 9);
  auto vote = [&](const char *kind) {
    return runWarp(
        warpKernel(std::string("%c = icmp ugt i32 %tid, 40\n%v = call i1 @llvm.nvvm.vote.") + kind +
                       ".sync(i32 -1, i1 %c)\n%r = zext i1 %v to i32\n",
                   declare),
        96);
  };
  auto all = vote("all"), any = vote("any"), uni = vote("uni"); // no lane, some, all of a warp
  EXPECT_EQ((std::vector<int>{all[0], all[32], all[64]}), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ((std::vector<int>{any[0], any[32], any[64]}), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ((std::vector<int>{uni[0], uni[32], uni[64]}), (std::vector<int>{1, 0, 1}));
}

TEST(EmulatorWarp, ReductionsMatchesAndElections) {
  auto redux = [&](const std::string &kind) {
    return runWarp(warpKernel("%n = sub i32 10, %tid\n%r = call i32 @llvm.nvvm.redux.sync." + kind +
                                  "(i32 %n, i32 -1)\n",
                              "declare i32 @llvm.nvvm.redux.sync." + kind + "(i32, i32)\n"),
                   32)[5];
  };
  EXPECT_EQ(redux("add"), 32 * 10 - 31 * 32 / 2);
  EXPECT_EQ(redux("min"), -21);
  EXPECT_EQ(redux("max"), 10);
  EXPECT_EQ(redux("umin"), 0);
  EXPECT_EQ(uint32_t(redux("umax")), uint32_t(-1));
  EXPECT_EQ(redux("and"), 0);
  EXPECT_EQ(redux("or"), -1);
  auto match = runWarp(
      warpKernel(
          "%m = and i32 %tid, 1\n%r = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %m)\n",
          "declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)\n"),
      32);
  EXPECT_EQ(uint32_t(match[0]), 0x55555555u);
  EXPECT_EQ(uint32_t(match[1]), 0xaaaaaaaau);
  auto elect = runWarp(warpKernel("%e = call {i32, i1} @llvm.nvvm.elect.sync(i32 -1)\n"
                                  "%c = extractvalue {i32, i1} %e, 1\n%r = zext i1 %c to i32\n",
                                  "declare {i32, i1} @llvm.nvvm.elect.sync(i32)\n"),
                       64);
  EXPECT_EQ(std::accumulate(elect.begin(), elect.end(), 0), 2);
  EXPECT_EQ(elect[32], 1);
}

TEST(EmulatorWarp, PartialWarpsMeetWithWhoIsThere) {
  auto got = runWarp(
      warpKernel("%r = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 1, i32 31)\n"),
      42);
  for (int i = 0; i < 42; ++i)
    EXPECT_EQ(got[i], 100 + (i ^ 1));
}

TEST(EmulatorWarp, HalvesOfAWarpGoTheirWays) {
  auto got = runWarp(warpKernel(R"(
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %a, label %b
a:
  %ra = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 65535, i32 %x, i32 2, i32 31)
  br label %join
b:
  %rb = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -65536, i32 %x, i32 20, i32 31)
  %rc = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -65536, i32 %rb, i32 21, i32 31)
  br label %join
join:
  %r = phi i32 [ %ra, %a ], [ %rc, %b ]
)"),
                     32);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(got[i], i < 16 ? 102 : 120);
}

TEST(EmulatorBlock, BarriersReduceAndCount) {
  const std::string declare =
      "declare i32 @llvm.nvvm.barrier0.popc(i32)\ndeclare i32 @llvm.nvvm.barrier0.and(i32)\n"
      "declare i32 @llvm.nvvm.barrier0.or(i32)\n"
      "declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)\n";
  auto popc = runWarp(
      warpKernel("%c = and i32 %tid, 3\n%r = call i32 @llvm.nvvm.barrier0.popc(i32 %c)\n", declare),
      96);
  EXPECT_EQ(popc, std::vector<int>(96, 72));
  auto both = runWarp(warpKernel("%a = call i32 @llvm.nvvm.barrier0.and(i32 %x)\n%o = call i32 "
                                 "@llvm.nvvm.barrier0.or(i32 %tid)\n"
                                 "%n = call i32 @llvm.nvvm.barrier0.and(i32 %tid)\n%s = shl i32 "
                                 "%a, 1\n%t = or i32 %s, %o\n"
                                 "%u = shl i32 %n, 2\n%m = or i32 %t, %u\n%r = and i32 %m, 7\n",
                                 declare),
                      40);
  EXPECT_EQ(both[0] & 4, 0);
  EXPECT_NE(both[0] & 3, 0);
  // Only the second warp waits at barrier 3.
  auto named = runWarp(warpKernel(R"(
  %second = icmp ugt i32 %tid, 31
  br i1 %second, label %wait, label %go
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 3, i32 32)
  br label %go
go:
  %r = add i32 %x, 0
)",
                                  declare),
                       64);
  EXPECT_EQ(named[63], 163);
}

TEST(EmulatorBlock, ThreadsThatAreDoneAreNotWaitedFor) {
  auto got = runWarp(warpKernel(R"(
  %early = icmp ult i32 %tid, 40
  br i1 %early, label %leave, label %stay
leave:
  ret void
stay:
  call void @llvm.nvvm.barrier0()
  %r = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 9, i32 31)
)"),
                     64);
  EXPECT_EQ(got[39], -7);
  EXPECT_EQ(got[40], 141);
}

} // namespace
} // namespace sinter::codegen::test
