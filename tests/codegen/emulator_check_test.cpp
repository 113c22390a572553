// What `check` finds in wrong kernels, and that it says where; right ones are left alone by the
// tests of emulator_run_test.cpp.
#include "emulator_kernels.h"
#include "emulator_support.h"

#include <algorithm>

namespace sinter::codegen::test {
namespace {

rt::EmuOptions checking() { return {.threads = 2, .check = true}; }

/// Runs kernel `k` of `text` on one buffer of `count` integers.
std::string check(const std::string &text, rt::LaunchShape shape, size_t count = 64,
                  rt::EmuOptions options = checking()) {
  Kernels kernels(text, {.instrument = true});
  Gpu gpu(options);
  void *buffer = gpu.upload(std::vector<int32_t>(count), "data");
  return gpu.run(kernels["k"], shape, buffer);
}

std::string kernel(const std::string &body, const std::string &more = "") {
  return "@tile = internal addrspace(3) global [64 x i32] undef, align 16\n"
         "define ptx_kernel void @k(ptr addrspace(1) %data) {\n"
         "entry:\n"
         "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" +
         body + "  ret void\n}\n" + more;
}

TEST(EmulatorCheck, OutOfBoundsByOne) {
  Kernels kernels(kVectorAdd, {.instrument = true});
  Gpu gpu(checking());
  std::vector<float> ones(1000, 1.0f);
  void *a = gpu.upload(ones, "weights"), *b = gpu.upload(ones, "b"), *c = gpu.upload(ones, "c");
  std::string error = gpu.run(kernels["vector_add"], shapeOf(4, 256), a, b, c, 1001);
  EXPECT_CONTAINS(error, "kernel 'vector_add' of 'command' (model.cc:7)");
  // Instruction 12 of the module is the first load.
  EXPECT_CONTAINS(error, "out of bounds at test.cu:12: reads 4 bytes");
  EXPECT_CONTAINS(error, "0 bytes past the end of 'weights' (4000 bytes), thread (232, 0, 0) of "
                         "block (3, 0, 0)");
  EXPECT_CONTAINS(error, "out of bounds at test.cu:15: writes 4 bytes");
  EXPECT_CONTAINS(error, "past the end of 'c'");
  // Nothing beyond the buffer was written, and the device goes on.
  EXPECT_EQ(gpu.download<float>(c, 1000)[999], 2);
  EXPECT_EQ(gpu.run(kernels["vector_add"], shapeOf(4, 256), a, b, c, 1000), "");
}

TEST(EmulatorCheck, BuffersOfOneAllocationAreToldApart) {
  Kernels kernels(kVectorAdd, {.instrument = true});
  Gpu gpu(checking());
  auto *arena = static_cast<char *>(gpu.upload(std::vector<float>(300, 1.0f), "arena"));
  void *a = arena, *b = arena + 400, *c = arena + 800;
  rt::DeviceBuffer buffers[] = {{a, 400, "a", false}, {b, 400, "b", false}, {c, 400, "c", true}};
  void *other = gpu.allocate(404);
  EXPECT_EQ(gpu.run(kernels["vector_add"], shapeOf(1, 101), a, b, other, 101), "");
  gpu.device->describeBuffers(buffers);
  EXPECT_EQ(gpu.run(kernels["vector_add"], shapeOf(1, 128), a, b, c, 100), "");
  gpu.device->describeBuffers(buffers);
  std::string error = gpu.run(kernels["vector_add"], shapeOf(1, 128), a, b, c, 101);
  EXPECT_CONTAINS(error, "0 bytes past the end of 'a' (400 bytes)");
  std::rotate(std::begin(buffers), std::begin(buffers) + 1, std::end(buffers));
  gpu.device->describeBuffers(buffers); // b, c, a
  error = gpu.run(kernels["vector_add"], shapeOf(1, 128), b, c, a, 100);
  EXPECT_CONTAINS(error, "write to an input at test.cu:15: writes 4 bytes at 0 of 'a'");
}

TEST(EmulatorCheck, NullAndFreedMemory) {
  Kernels kernels(kVectorAdd, {.instrument = true});
  Gpu gpu(checking());
  void *a = gpu.upload(std::vector<float>(8, 1.0f));
  std::string error = gpu.run(kernels["vector_add"], shapeOf(1, 8), a, (void *)nullptr, a, 8);
  EXPECT_CONTAINS(error, "'a null pointer' (0 bytes)");
  gpu.device->free(a);
  error = gpu.run(kernels["vector_add"], shapeOf(1, 8), a, a, a, 8);
  EXPECT_CONTAINS(error, "parameter 0 of kernel 'vector_add'");
}

TEST(EmulatorCheck, PointersFromMemoryAreLookedUp) {
  // data holds the address that is to be written.
  Kernels kernels(kernel(R"(
  %target = load i64, ptr addrspace(1) %data
  %p = inttoptr i64 %target to ptr
  store i32 7, ptr %p
)"),
                  {.instrument = true});
  Gpu gpu(checking());
  void *target = gpu.upload(std::vector<int32_t>(4), "target");
  auto run = [&](uint64_t address) {
    void *table = gpu.upload(std::vector<uint64_t>{address}, "table");
    return gpu.run(kernels["k"], shapeOf(1, 1), table);
  };
  EXPECT_EQ(run(uint64_t(target) + 12), "");
  EXPECT_EQ(gpu.download<int32_t>(target, 4)[3], 7);
  EXPECT_CONTAINS(run(uint64_t(target) + 16), "0 bytes past the end of 'target' (16 bytes)");
  int host = 0;
  EXPECT_CONTAINS(run(uint64_t(&host)), "no address of the device: one of the host's?");
  EXPECT_EQ(host, 0);
}

TEST(EmulatorCheck, MisalignedVectors) {
  std::string text = kernel(R"(
  %p = getelementptr i32, ptr addrspace(1) %data, i32 OFFSET
  %v = load <4 x i32>, ptr addrspace(1) %p, align ALIGN
  store <4 x i32> %v, ptr addrspace(1) %data, align 16
)");
  auto run = [&](const char *offset, const char *align) {
    return check(replaced(replaced(text, "OFFSET", offset), "ALIGN", align), shapeOf(1, 1));
  };
  EXPECT_EQ(run("4", "16"), "");
  EXPECT_EQ(run("1", "4"), "");
  std::string error = run("1", "16");
  EXPECT_CONTAINS(error, "misaligned access at test.cu:3: reads 16 bytes");
  EXPECT_CONTAINS(error, "which is not a multiple of 16");
}

TEST(EmulatorCheck, SharedMemoryHasBounds) {
  std::string error = check(kernel(R"(
  %i = add i32 %tid, 1
  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %i
  store i32 %i, ptr addrspace(3) %p
)"),
                            shapeOf(1, 64));
  EXPECT_CONTAINS(error, "out of bounds at test.cu:4: writes 4 bytes at 256 of shared memory, of "
                         "which the block has 256 bytes, thread (63, 0, 0)");
}

constexpr const char *kNeighbour = R"(
  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
BARRIER
  %n = xor i32 %tid, MASK
  %q = getelementptr i32, ptr addrspace(3) @tile, i32 %n
  %v = load i32, ptr addrspace(3) %q
  %out = getelementptr i32, ptr addrspace(1) %data, i32 %tid
  store i32 %v, ptr addrspace(1) %out
)";

std::string neighbour(const char *barrier, const char *mask) {
  return kernel(replaced(replaced(kNeighbour, "BARRIER", barrier), "MASK", mask));
}

TEST(EmulatorCheck, RacesOnSharedMemory) {
  const char *block = "  call void @llvm.nvvm.barrier0()";
  const char *warp = "  call void @llvm.nvvm.bar.warp.sync(i32 -1)";
  EXPECT_EQ(check(neighbour(block, "33"), shapeOf(1, 64)), "");
  EXPECT_EQ(check(neighbour(warp, "1"), shapeOf(1, 64)), "");
  // A warp's barrier orders nothing between warps; a shuffle nothing at all.
  EXPECT_CONTAINS(check(neighbour(warp, "33"), shapeOf(1, 64)), "race at test.cu:7: reads 4 bytes");
  std::string error = check(
      neighbour("  %s = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 0, i32 0, i32 31)", "1"),
      shapeOf(1, 64));
  EXPECT_CONTAINS(error,
                  "race at test.cu:7: reads 4 bytes at 4 of shared memory which thread "
                  "(1, 0, 0) wrote at test.cu:3 with no barrier between, thread (0, 0, 0) of "
                  "block (0, 0, 0)");
  // The write that comes after a read races as well.
  EXPECT_NE(check(neighbour("", "1"), shapeOf(1, 64)), "");
  // Lanes that are not of the barrier's mask are not ordered by it.
  EXPECT_CONTAINS(check(kernel(R"(
  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  %low = icmp ult i32 %tid, 16
  %mask = select i1 %low, i32 65535, i32 -65536
  call void @llvm.nvvm.bar.warp.sync(i32 %mask)
  %n = xor i32 %tid, 16
  %q = getelementptr i32, ptr addrspace(3) @tile, i32 %n
  %v = load i32, ptr addrspace(3) %q
)"),
                        shapeOf(1, 32)),
                  "race at test.cu:9");
}

TEST(EmulatorCheck, RacesOnGlobalMemoryOfABlock) {
  // Two threads write each element.
  std::string error = check(kernel(R"(
  %i = lshr i32 %tid, 1
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  store i32 %tid, ptr addrspace(1) %p
)"),
                            shapeOf(1, 64));
  EXPECT_CONTAINS(error, "race at test.cu:4: writes 4 bytes at 0 of 'data' which thread (0, 0, 0) "
                         "wrote at test.cu:4");
  // Bytes of one word are no race.
  EXPECT_EQ(check(kernel(R"(
  %p = getelementptr i8, ptr addrspace(1) %data, i32 %tid
  store i8 1, ptr addrspace(1) %p
)"),
                  shapeOf(1, 64)),
            "");
  // Atomics do not race with each other, but with a plain access.
  EXPECT_EQ(
      check(kernel("%a = atomicrmw add ptr addrspace(1) %data, i32 1 monotonic\n"), shapeOf(2, 64)),
      "");
  EXPECT_CONTAINS(check(kernel("%a = atomicrmw add ptr addrspace(1) %data, i32 1 monotonic\n"
                               "%b = load i32, ptr addrspace(1) %data\n"),
                        shapeOf(1, 64)),
                  "race");
}

TEST(EmulatorCheck, RacesBetweenBlocks) {
  std::string overlapping = kernel(R"(
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %b, STEP
  %i = add i32 %first, %tid
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  store i32 %tid, ptr addrspace(1) %p
)");
  EXPECT_EQ(check(replaced(overlapping, "STEP", "16"), shapeOf(4, 16)), "");
  EXPECT_CONTAINS(check(replaced(overlapping, "STEP", "15"), shapeOf(4, 16)),
                  "race between blocks at test.cu:6");
}

TEST(EmulatorCheck, SharedMemoryStartsUninitialised) {
  std::string error = check(kernel(R"(
  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %tid
  %few = icmp ult i32 %tid, 63
  br i1 %few, label %set, label %go
set:
  store i32 0, ptr addrspace(3) %p
  br label %go
go:
  %v = load i32, ptr addrspace(3) %p
)"),
                            shapeOf(2, 64));
  EXPECT_CONTAINS(error, "uninitialised read at test.cu:7: reads 4 bytes at 252 of shared memory, "
                         "which the block has not written, thread (63, 0, 0) of block (0, 0, 0) "
                         "and 1 other");
}

constexpr const char *kDivergent = R"(
  %low = icmp ult i32 %tid, 32
  br i1 %low, label %a, label %b
a:
  call void @llvm.nvvm.barrier0()
  br label %join
b:
  OTHER
  br label %join
join:
)";

TEST(EmulatorCheck, DivergentBarriers) {
  // The others wait somewhere else for ever; found without `check`, too.
  std::string stuck = kernel(
      replaced(kDivergent, "OTHER", "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)"),
      "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n");
  for (bool instrument : {false, true}) {
    Kernels kernels(stuck, {.instrument = instrument});
    Gpu gpu({.threads = 2, .check = instrument});
    void *data = gpu.allocate(4);
    std::string error = gpu.run(kernels["k"], shapeOf(3, 64), data);
    EXPECT_CONTAINS(error, "divergent barrier at test.cu:4: of 64 live threads 32 wait here for "
                           "ever; thread (32, 0, 0) waits at the barrier of test.cu:6, thread "
                           "(0, 0, 0) of block (0, 0, 0)");
    EXPECT_EQ(gpu.run(kernels["k"], shapeOf(1, 32), data), "");
  }
  // Two places of one barrier let each other go, but are undefined in CUDA.
  std::string two = kernel(replaced(kDivergent, "OTHER", "call void @llvm.nvvm.barrier0()"));
  EXPECT_CONTAINS(check(two, shapeOf(1, 64)), "divergent barrier at test.cu:6: others of the block "
                                              "wait at the barrier of test.cu:4");
}

TEST(EmulatorCheck, DivergentShuffles) {
  auto shuffle = [](const char *mask, const char *lane) {
    return kernel(
        std::string("  %few = icmp ult i32 %tid, 16\n  br i1 %few, label %go, label %end\n"
                    "end:\n  LEAVE\n"
                    "go:\n  %s = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 ") +
        mask + ", i32 %tid, i32 " + lane + ", i32 31)\n");
  };
  auto with = [](std::string text, const char *leave) { return replaced(text, "LEAVE", leave); };
  const char *wait = "call void @llvm.nvvm.barrier0()\n  ret void";
  EXPECT_EQ(check(with(shuffle("65535", "3"), "ret void"), shapeOf(1, 32)), "");
  std::string error = check(with(shuffle("-1", "3"), wait), shapeOf(1, 32));
  EXPECT_CONTAINS(error, "divergent warp at test.cu:6: of 32 live threads 16 wait for their lanes "
                         "for ever; thread (16, 0, 0) waits at the barrier of test.cu:4");
  EXPECT_CONTAINS(check(with(shuffle("-1", "20"), "ret void"), shapeOf(1, 32)),
                  "shuffles from lane 20, which takes no part");
  EXPECT_CONTAINS(check(with(shuffle("-65536", "3"), "ret void"), shapeOf(1, 32)),
                  "the mask 0xffff0000 does not name the lane");
}

TEST(EmulatorCheck, TrapsAndAssertions) {
  EXPECT_CONTAINS(
      check(kernel("  %c = icmp eq i32 %tid, 5\n  br i1 %c, label %bad, label %fine\nbad:\n"
                   "  call void @llvm.trap()\n  unreachable\nfine:\n",
                   "declare void @llvm.trap()\n"),
            shapeOf(2, 64)),
      "trap at test.cu:4: the kernel trapped, thread (5, 0, 0) of block (0, 0, 0) and 1 "
      "other");
  EXPECT_CONTAINS(check(kernel("  call void @__assertfail(ptr addrspacecast (ptr addrspace(1) "
                               "@text to ptr), ptr null, "
                               "i32 1, ptr null, i64 1)\n",
                               "@text = internal addrspace(1) constant [6 x i8] c\"n > 0\\00\"\n"
                               "declare void @__assertfail(ptr, ptr, i32, ptr, i64)\n"),
                        shapeOf(1, 1)),
                  "assertion 'n > 0' failed");
}

TEST(EmulatorCheck, ReportsAreTheSameEachTime) {
  std::string text = kernel(R"(
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %i = mul i32 %b, %tid
  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i
  store i32 %i, ptr addrspace(1) %p
)");
  std::string first = check(text, shapeOf(40, 64), 200, {.threads = 1, .check = true});
  EXPECT_CONTAINS(first, "of block (4, 0, 0)");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(check(text, shapeOf(40, 64), 200, {.threads = 4, .check = true}), first);
}

} // namespace
} // namespace sinter::codegen::test
