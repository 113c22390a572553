// Limits of devices, and what they tell when memory runs out.
#include "cuda_support.h"

namespace sinter::rt::cuda {
namespace {

constexpr int64_t mebibyte = 1 << 20;

TEST_F(CudaTest, OutOfMemoryNamesTheOwners) {
  configure({.memory = {.limitBytes = 100 * mebibyte}});
  CudaDevice &gpu = device();
  auto *weights = *gpu.allocate(20 * mebibyte, {"weights", "net.cc:4"});
  auto *arena = *gpu.allocate(50 * mebibyte, {"arena", "train.cc:12"});
  Status status = gpu.allocate(64 * mebibyte, {"layer_norm.gelu", "net.cc:31"}).status();
  EXPECT_EQ(status.code(), Code::OutOfMemory);
  EXPECT_EQ(status.message(),
            "cuda:0 is out of memory: 'layer_norm.gelu' at net.cc:31 asks for 64.0 MiB; the card "
            "has 942.0 MiB free of 1.0 GiB, other processes counted: use a smaller batch, "
            "recompute (--memory-budget) or raise --device-memory\n"
            "cuda:0 holds 70.0 MiB in use (peak 70.0 MiB) of 82.0 MiB taken from the card, limit "
            "100.0 MiB, largest free piece 12.0 MiB\n"
            "       bytes   pieces  owner\n"
            "    50.0 MiB        1  'arena' at train.cc:12\n"
            "    20.0 MiB        1  'weights' at net.cc:4");
  gpu.free(arena);
  StatusOr<void *> now = gpu.allocate(64 * mebibyte, {"x", ""});
  ASSERT_TRUE(now.ok()) << "blocks no longer used go back to the card: " << now.status().message();
  gpu.free(*now);
  gpu.free(weights);
}

TEST_F(CudaTest, ManyOwnersAreCutShort) {
  configure({.memory = {.limitBytes = 100 * mebibyte}});
  CudaDevice &gpu = device();
  std::vector<void *> memory;
  std::vector<std::string> names;
  for (int i = 0; i < 14; ++i)
    names.push_back("layer" + std::to_string(i));
  for (int i = 0; i < 14; ++i)
    memory.push_back(*gpu.allocate((i + 1) * 1024, {names[i], "net.cc:4"}));
  std::string report = gpu.memoryReport();
  EXPECT_NE(report.find("'layer13'"), std::string::npos) << report;
  EXPECT_EQ(report.find("'layer3'"), std::string::npos) << report;
  EXPECT_NE(report.find("10.0 KiB        4  4 more"), std::string::npos) << report;
  for (void *piece : memory)
    gpu.free(piece);
}

TEST_F(CudaTest, TheFractionIsOfTheWholeCard) {
  EXPECT_EQ(device().memoryUse().limit, int64_t(0.95 * (1 << 30)));
  EXPECT_EQ(device().memoryUse().reserved, 0) << "growth on demand";
  EXPECT_EQ(driver.get("allocated"), 0);
}

TEST_F(CudaTest, WithoutGrowthTheLimitIsTakenAtOnce) {
  configure({.memory = {.fraction = 0.5, .grow = false}});
  CudaDevice &gpu = device();
  auto *memory = *gpu.allocate(16, {"x", ""});
  EXPECT_EQ(driver.get("allocated"), 512 * mebibyte);
  gpu.free(memory);
}

TEST_F(CudaTest, LogicalDevicesHaveLimitsOfTheirOwn) {
  configure(
      {.logicalDevices = {{0, {{.limitBytes = 100 * mebibyte}, {.limitBytes = 200 * mebibyte}}}}});
  CudaDevice &first = device(0), &second = device(1);
  EXPECT_EQ(second.name(), "cuda:1");
  EXPECT_EQ(second.card().ordinal, 0);
  EXPECT_EQ(first.nativeContext(), second.nativeContext());
  EXPECT_NE(first.nativeStream(), second.nativeStream());
  EXPECT_FALSE(first.allocate(150 * mebibyte, {"x", ""}).ok());
  StatusOr<void *> memory = second.allocate(150 * mebibyte, {"x", ""});
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(first.memoryUse().allocated, 0);
  EXPECT_EQ(second.memoryUse().allocated, 150 * mebibyte);
  EXPECT_EQ(&device(1), &second);
  second.free(*memory);
}

TEST_F(CudaTest, ACardFilledByOthersIsReported) {
  CudaDevice &gpu = device();
  driver.set("memory", 64 * mebibyte); // less than its limit is left
  auto *memory = *gpu.allocate(30 * mebibyte, {"x", ""});
  Status status = gpu.allocate(40 * mebibyte, {"y", "net.cc:3"}).status();
  EXPECT_EQ(status.code(), Code::OutOfMemory);
  EXPECT_NE(status.message().find("the card has 32.0 MiB free of 64.0 MiB"), std::string::npos)
      << status.message();
  gpu.free(memory);
}

TEST_F(CudaTest, TheCacheGoesBackOnRequest) {
  CudaDevice &gpu = device();
  auto *memory = *gpu.allocate(40 * mebibyte, {"x", ""});
  gpu.free(memory);
  EXPECT_EQ(driver.get("allocated"), 40 * mebibyte) << "kept for the next request";
  EXPECT_OK(gpu.releaseCache());
  EXPECT_EQ(driver.get("allocated"), 0);
  EXPECT_EQ(gpu.memoryUse().peak, 40 * mebibyte);
}

TEST_F(CudaTest, RepeatedStepsAskTheDriverForNothing) {
  CudaDevice &gpu = device();
  int64_t before = 0;
  for (int i = 0; i < 20; ++i) {
    std::vector<void *> memory;
    for (int64_t bytes : {100, 5000, 3 << 20, 40 << 20, 900 << 10})
      memory.push_back(*gpu.allocate(size_t(bytes), {"x", ""}));
    for (void *piece : memory)
      gpu.free(piece);
    if (i == 0)
      before = driver.get("allocations");
  }
  EXPECT_EQ(driver.get("allocations"), before);
}

} // namespace
} // namespace sinter::rt::cuda
