// The device as rt::Device, and its events, on a driver whose work runs late.
#include "cuda_support.h"

#include <numeric>
#include <thread>

namespace sinter::rt::cuda {
namespace {

constexpr WorkOrigin here = {"work", "test.cc:3"};

TEST_F(CudaTest, ReadsTheCard) {
  CudaDevice &gpu = device();
  EXPECT_EQ(gpu.name(), "cuda:0");
  EXPECT_EQ(gpu.card().name, "Fake card");
  EXPECT_EQ(gpu.card().capability, 90);
  EXPECT_EQ(gpu.card().memoryBytes, 1 << 30);
  EXPECT_EQ(gpu.card().mostThreads[2], 64);
  EXPECT_EQ(gpu.card().mostBlocks[1], 65535);
  EXPECT_EQ(gpu.card().optinSharedBytes, 227 << 10);
  EXPECT_EQ(gpu.card().driverVersion, 13000);
}

TEST_F(CudaTest, CopiesLaunchesAndWaits) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel add = kernel(*loaded, "add_f32");
  int count = 1000;
  std::vector<float> a(count), b(count), result(count, -1);
  std::iota(a.begin(), a.end(), 0.f);
  std::iota(b.begin(), b.end(), 100.f);
  float *da = floats(gpu, count), *db = floats(gpu, count), *dc = floats(gpu, count);
  EXPECT_OK(gpu.copyToDevice(da, a.data(), count * sizeof(float), here));
  EXPECT_OK(gpu.copyToDevice(db, b.data(), count * sizeof(float), here));
  void *params[] = {&dc, &da, &db, &count};
  EXPECT_OK(gpu.launch(add, {{8, 1, 1}, {128, 1, 1}}, params, here));
  EXPECT_OK(gpu.copy(da, dc, count * sizeof(float), here));
  EXPECT_OK(gpu.copyToHost(result.data(), da, count * sizeof(float), here));
  EXPECT_EQ(result[5], -1) << "nothing waits before synchronize";
  EXPECT_EQ(driver.get("waits"), 0);
  EXPECT_EQ(driver.get("pending"), 5);
  count = 0; // parameters were copied
  EXPECT_OK(gpu.synchronize());
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(result[i], 2.f * float(i) + 100.f) << i;
  for (float *memory : {da, db, dc})
    gpu.free(memory);
}

TEST_F(CudaTest, SizeZeroIsFine) {
  CudaDevice &gpu = device();
  StatusOr<void *> memory = gpu.allocate(0, here);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(*memory, nullptr);
  EXPECT_OK(gpu.copyToDevice(*memory, nullptr, 0, here));
  EXPECT_OK(gpu.copyToHost(nullptr, *memory, 0, here));
  EXPECT_OK(gpu.copy(*memory, *memory, 0, here));
  gpu.free(*memory);
  gpu.free(nullptr);
  EXPECT_OK(gpu.synchronize());
}

TEST_F(CudaTest, MemoryFreedWithWorkPendingIsUsableUntilItsWorkIsDone) {
  CudaDevice &gpu = device();
  std::vector<float> ones(64, 1), twos(64, 2), first(64), second(64);
  size_t bytes = 64 * sizeof(float);
  float *memory = floats(gpu, 64);
  EXPECT_OK(gpu.copyToDevice(memory, ones.data(), bytes, here));
  EXPECT_OK(gpu.copyToHost(first.data(), memory, bytes, here));
  gpu.free(memory);
  float *again = floats(gpu, 64);
  EXPECT_EQ(again, memory) << "stream order lets it be given out at once";
  EXPECT_OK(gpu.copyToDevice(again, twos.data(), bytes, here));
  EXPECT_OK(gpu.copyToHost(second.data(), again, bytes, here));
  EXPECT_OK(gpu.synchronize());
  EXPECT_EQ(first, ones);
  EXPECT_EQ(second, twos);
  gpu.free(again);
}

TEST_F(CudaTest, CallerMayReuseHostMemoryOfAStagedUpload) {
  CudaDevice &gpu = device();
  float *memory = floats(gpu, 16);
  std::vector<float> values(16, 3), result(16);
  EXPECT_OK(gpu.copyToDevice(memory, values.data(), 64, here));
  std::fill(values.begin(), values.end(), 0.f);
  EXPECT_OK(gpu.copyToHost(result.data(), memory, 64, here));
  EXPECT_OK(gpu.synchronize());
  EXPECT_EQ(result, std::vector<float>(16, 3));
  gpu.free(memory);
}

TEST_F(CudaTest, LargeCopiesGoThroughASmallRingWithoutAWaitACopy) {
  configure({.stagingBytes = 16 << 10});
  CudaDevice &gpu = device();
  constexpr size_t count = 100000; // 25 times the ring
  std::vector<int> values(count), result(count, -1);
  std::iota(values.begin(), values.end(), 0);
  float *memory = floats(gpu, count);
  EXPECT_OK(gpu.copyToDevice(memory, values.data(), count * sizeof(int), here));
  EXPECT_OK(gpu.copyToHost(result.data(), memory, count * sizeof(int), here));
  EXPECT_EQ(driver.get("waits"), 0);
  EXPECT_EQ(driver.get("pinned"), 16 << 10);
  EXPECT_OK(gpu.synchronize());
  EXPECT_EQ(result, values);
  gpu.free(memory);
}

TEST_F(CudaTest, RingOfManyOddCopiesBothWays) {
  configure({.stagingBytes = 8 << 10});
  CudaDevice &gpu = device();
  unsigned random = 1;
  auto next = [&] { return random = random * 1664525u + 1013904223u; };
  struct Copy {
    std::vector<unsigned char> data, back;
    void *memory;
  };
  std::vector<Copy> copies(300);
  for (Copy &copy : copies) {
    copy.data.resize(1 + next() % 5000);
    copy.back.resize(copy.data.size());
    for (unsigned char &value : copy.data)
      value = static_cast<unsigned char>(next() >> 24);
    copy.memory = *gpu.allocate(copy.data.size(), here);
    EXPECT_OK(gpu.copyToDevice(copy.memory, copy.data.data(), copy.data.size(), here));
    EXPECT_OK(gpu.copyToHost(copy.back.data(), copy.memory, copy.back.size(), here));
    if (next() % 50 == 0)
      EXPECT_OK(gpu.synchronize());
  }
  EXPECT_OK(gpu.synchronize());
  for (Copy &copy : copies) {
    ASSERT_EQ(copy.back, copy.data);
    gpu.free(copy.memory);
  }
}

TEST_F(CudaTest, PinnedMemoryIsCopiedDirectly) {
  CudaDevice &gpu = device();
  float *memory = floats(gpu, 4);
  {
    auto from = *gpu.pin(16);
    auto to = *gpu.pin(16);
    EXPECT_EQ(to->bytes(), 16u);
    std::fill_n(reinterpret_cast<float *>(from->data()), 4, 5.f);
    EXPECT_OK(gpu.copyToDevice(memory, from->data(), 16, here));
    EXPECT_OK(gpu.copyToHost(to->data(), memory, 16, here));
    EXPECT_EQ(driver.get("pinned"), 32) << "no staging";
    EXPECT_OK(gpu.synchronize());
    EXPECT_EQ(reinterpret_cast<float *>(to->data())[3], 5.f);
    EXPECT_OK(gpu.copyToHost(to->data(), memory, 16, here));
  } // work on it is pending: it goes when that is done
  EXPECT_EQ(driver.get("pending"), 0);
  gpu.free(memory);
}

TEST_F(CudaTest, AModuleGoesWhenItsKernelsAreDone) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  EXPECT_OK(gpu.launch(kernel(*loaded, "nothing"), {}, nullptr, here));
  loaded = nullptr;
  EXPECT_EQ(driver.get("pending"), 0);
  EXPECT_OK(gpu.synchronize());
}

TEST_F(CudaTest, EventsTellWhatIsDone) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel nothing = kernel(*loaded, "nothing");
  auto start = *gpu.record(true);
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, here));
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, here));
  auto end = *gpu.record(true);
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, here));
  EXPECT_FALSE(*end->done());
  StatusOr<double> early = end->millisecondsSince(*start);
  EXPECT_EQ(early.status().code(), Code::FailedPrecondition);
  EXPECT_OK(end->wait());
  EXPECT_TRUE(*end->done());
  EXPECT_EQ(driver.get("pending"), 1) << "what came behind it still waits";
  EXPECT_EQ(*end->millisecondsSince(*start), 2.0);
  auto untimed = *gpu.record();
  EXPECT_OK(untimed->wait());
  EXPECT_NE(untimed->millisecondsSince(*start).status().message().find("timed = true"),
            std::string::npos);
}

TEST_F(CudaTest, EventsOrderTwoDevices) {
  driver.set("devices", 2);
  CudaDevice &first = device(0), &second = device(1);
  EXPECT_EQ(second.name(), "cuda:1");
  EXPECT_EQ(second.card().ordinal, 1);
  auto loaded = module(second);
  auto host = *first.pin(16);
  float *source = floats(first, 4), *target = floats(second, 4);
  std::vector<float> values(4, 7), result(4);
  EXPECT_OK(first.copyToDevice(source, values.data(), 16, here));
  EXPECT_OK(first.copyToHost(host->data(), source, 16, here));
  auto ready = *first.record();
  EXPECT_OK(second.waitFor(*ready));
  EXPECT_OK(second.copyToDevice(target, host->data(), 16, here));
  EXPECT_OK(scale(second, kernel(*loaded, "scale_f32"), target, 2, 4));
  EXPECT_OK(second.copyToHost(result.data(), target, 16, here));
  EXPECT_OK(second.synchronize());
  EXPECT_EQ(result, std::vector<float>(4, 14));
  first.free(source);
  second.free(target);
}

TEST_F(CudaTest, DevicesOfOneCardServeTwoThreads) {
  configure({.logicalDevices = {{0, {{.limitBytes = 64 << 20}, {.limitBytes = 64 << 20}}}}});
  EXPECT_EQ(*platform->deviceCount(), 2);
  auto work = [&](int index) {
    CudaDevice &gpu = device(index);
    auto loaded = module(gpu);
    DeviceKernel kernelOf = kernel(*loaded, "scale_f32");
    for (int i = 0; i < 200; ++i) {
      std::vector<float> values(100 + i, float(i)), result(100 + i);
      float *memory = floats(gpu, values.size());
      EXPECT_OK(gpu.copyToDevice(memory, values.data(), values.size() * 4, here));
      EXPECT_OK(scale(gpu, kernelOf, memory, float(index + 2), int(values.size())));
      EXPECT_OK(gpu.copyToHost(result.data(), memory, values.size() * 4, here));
      EXPECT_OK(gpu.synchronize());
      ASSERT_EQ(result, std::vector<float>(values.size(), float(i * (index + 2))));
      gpu.free(memory);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}

TEST_F(CudaTest, ADeviceMayMoveToAnotherThread) {
  CudaDevice &gpu = device();
  float *memory = floats(gpu, 4);
  std::thread([&] {
    std::vector<float> values(4, 1);
    EXPECT_OK(gpu.copyToDevice(memory, values.data(), 16, here));
    EXPECT_OK(gpu.synchronize());
  }).join();
  gpu.free(memory);
}

TEST_F(CudaTest, WorksOnADriverWithoutProcAddress) {
  FakeDriver old(SINTER_FAKE_CUDA_OLD);
  old.set("version", 11040);
  CudaPlatform others;
  EXPECT_OK(others.configure({.driver = old.path()}));
  StatusOr<CudaDevice *> gpu = others.device(0);
  ASSERT_TRUE(gpu.ok()) << gpu.status().message();
  EXPECT_OK((*gpu)->synchronize());
  EXPECT_EQ(old.takeLog().find("cuGetProcAddress"), std::string::npos);
}

TEST_F(CudaTest, DownloadsNobodyWaitedForAreDropped) {
  float *memory = floats(device(), 1 << 10);
  {
    std::vector<float> gone(1 << 10);
    EXPECT_OK(device().copyToHost(gone.data(), memory, gone.size() * sizeof(float), here));
  }
  platform.reset(); // writes nothing to what is gone
}

} // namespace
} // namespace sinter::rt::cuda
