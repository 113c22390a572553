// Steps captured once and launched again.
#include "cuda_support.h"

namespace sinter::rt::cuda {
namespace {

constexpr WorkOrigin here = {"work", "test.cc:3"}, step = {"step", "train.cc:40"};

class CudaGraphs : public CudaTest {
protected:
  std::vector<float> read(CudaDevice &gpu, float *memory, int count) {
    std::vector<float> result(count, -1);
    EXPECT_OK(gpu.copyToHost(result.data(), memory, count * sizeof(float), here));
    EXPECT_OK(gpu.synchronize());
    return result;
  }
  void write(CudaDevice &gpu, float *memory, const std::vector<float> &values) {
    EXPECT_OK(gpu.copyToDevice(memory, values.data(), values.size() * sizeof(float), here));
  }
};

TEST_F(CudaGraphs, CapturesAndReplays) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel scales = kernel(*loaded, "scale_f32");
  float *a = floats(gpu, 4), *b = floats(gpu, 4);
  write(gpu, a, {1, 2, 3, 4});
  EXPECT_OK(gpu.beginCapture());
  EXPECT_TRUE(gpu.capturing());
  EXPECT_OK(scale(gpu, scales, a, 2, 4));
  EXPECT_OK(gpu.copy(b, a, 16, here));
  StatusOr<std::unique_ptr<CudaGraph>> graph = gpu.endCapture();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_FALSE(gpu.capturing());
  EXPECT_EQ((*graph)->nodes(), 2u);
  EXPECT_EQ(read(gpu, a, 4), (std::vector<float>{1, 2, 3, 4})) << "captured work does not run";
  for (int i = 0; i < 3; ++i)
    EXPECT_OK((*graph)->launch(step));
  EXPECT_EQ(read(gpu, b, 4), (std::vector<float>{8, 16, 24, 32}));
  gpu.free(a);
  gpu.free(b);
}

TEST_F(CudaGraphs, PinnedCopiesMayBeCaptured) {
  CudaDevice &gpu = device();
  float *memory = floats(gpu, 4);
  auto host = *gpu.pin(16);
  auto *values = reinterpret_cast<float *>(host->data());
  EXPECT_OK(gpu.beginCapture());
  EXPECT_OK(gpu.copyToDevice(memory, values, 16, here));
  auto graph = *gpu.endCapture();
  for (float value : {3.f, 4.f}) {
    std::fill_n(values, 4, value);
    EXPECT_OK(graph->launch(step));
    EXPECT_EQ(read(gpu, memory, 4), std::vector<float>(4, value));
  }
  gpu.free(memory);
}

TEST_F(CudaGraphs, WhatCannotBeCapturedIsRefusedAndTheCaptureGoesOn) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel scales = kernel(*loaded, "scale_f32");
  float *memory = floats(gpu, 4), value = 0;
  CudaImage other = image(CudaImage::Kind::Cubin, "sm_90", kCubin);
  EXPECT_OK(gpu.beginCapture());
  auto expectRefused = [](const Status &status, std::string_view part) {
    EXPECT_EQ(status.code(), Code::FailedPrecondition);
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  expectRefused(gpu.copyToDevice(memory, &value, 4, {"input", "train.cc:2"}),
                "cuda:0: 'input' at train.cc:2 copies from pageable host memory, which cannot be "
                "captured: use pinned memory (CudaDevice::pin)");
  expectRefused(gpu.copyToHost(&value, memory, 4, here), "copies to pageable host memory");
  expectRefused(gpu.allocate(4, here).status(),
                "cannot allocate memory for 'work' at test.cc:3 while a step is captured");
  expectRefused(gpu.synchronize(), "cannot wait while a step is captured");
  expectRefused(gpu.beginCapture(), "cannot begin a capture while a step is captured");
  expectRefused(gpu.loadModule({&other, 1}, "x").status(), "cannot load module 'x'");
  expectRefused(loaded->kernel("nothing").status(), "cannot look up kernel 'nothing'");
  expectRefused(gpu.record().status(), "cannot record an event");
  expectRefused(gpu.pin(4).status(), "cannot pin memory");
  expectRefused(gpu.releaseCache(), "cannot release memory");
  EXPECT_OK(scale(gpu, scales, memory, 2, 4));
  auto graph = gpu.endCapture();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ((*graph)->nodes(), 1u);
  expectRefused(gpu.endCapture().status(), "no capture to end");
  gpu.free(memory);
}

TEST_F(CudaGraphs, AnAbandonedCaptureLeavesTheDeviceUsable) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel scales = kernel(*loaded, "scale_f32");
  float *memory = floats(gpu, 1);
  write(gpu, memory, {5});
  EXPECT_OK(gpu.beginCapture());
  EXPECT_OK(scale(gpu, scales, memory, 2, 1));
  gpu.abandonCapture();
  gpu.abandonCapture();
  EXPECT_EQ(read(gpu, memory, 1), std::vector<float>{5});
  EXPECT_OK(gpu.beginCapture()); // and ends with the device
}

TEST_F(CudaGraphs, AGraphMayGoWhileItRuns) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel scales = kernel(*loaded, "scale_f32");
  float *memory = floats(gpu, 1);
  write(gpu, memory, {1});
  EXPECT_OK(gpu.beginCapture());
  EXPECT_OK(scale(gpu, scales, memory, 3, 1));
  auto graph = *gpu.endCapture();
  EXPECT_OK(graph->launch(step));
  graph = nullptr;
  EXPECT_EQ(read(gpu, memory, 1), std::vector<float>{3});
  gpu.free(memory);
}

TEST_F(CudaGraphs, AStepIsCapturedAgainWhenItsAddressesChange) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel scales = kernel(*loaded, "scale_f32");
  float *first = floats(gpu, 4), *second = floats(gpu, 4);
  write(gpu, first, {1, 1, 1, 1});
  write(gpu, second, {1, 1, 1, 1});
  {
    CapturedStep captured(gpu);
    auto run = [&](float *memory) {
      void *addresses[] = {memory};
      return captured.run(addresses, [&] { return scale(gpu, scales, memory, 2, 4); }, step);
    };
    for (int i = 0; i < 3; ++i)
      EXPECT_OK(run(first));
    EXPECT_EQ(captured.captures(), 1u);
    EXPECT_OK(run(second));
    EXPECT_EQ(captured.captures(), 2u);
    EXPECT_OK(run(first));
    EXPECT_EQ(captured.captures(), 3u);
    EXPECT_EQ(read(gpu, first, 4), std::vector<float>(4, 16));
    EXPECT_EQ(read(gpu, second, 4), std::vector<float>(4, 2));

    float value = 0;
    Status refused =
        captured.run({}, [&] { return gpu.copyToDevice(first, &value, 4, here); }, step);
    EXPECT_EQ(refused.code(), Code::FailedPrecondition);
    EXPECT_FALSE(gpu.capturing()) << "a failed capture is abandoned";
    EXPECT_OK(run(first));
  }
  gpu.free(first);
  gpu.free(second);
}

TEST_F(CudaGraphs, NoCaptureWithDeviceSync) {
  configure({.deviceSync = true});
  CudaDevice &gpu = device();
  EXPECT_NE(gpu.beginCapture().message().find("--device-sync waits after each work"),
            std::string::npos);
  auto loaded = module(gpu);
  DeviceKernel scales = kernel(*loaded, "scale_f32");
  float *memory = floats(gpu, 1);
  write(gpu, memory, {1});
  CapturedStep captured(gpu);
  for (int i = 0; i < 2; ++i)
    EXPECT_OK(captured.run({}, [&] { return scale(gpu, scales, memory, 2, 1); }, step));
  EXPECT_EQ(captured.captures(), 0u);
  EXPECT_EQ(read(gpu, memory, 1), std::vector<float>{4});
  gpu.free(memory);
}

class CudaGraphFault : public CudaGraphs {
protected:
  void TearDown() override { platform.reset(); }
};

TEST_F(CudaGraphFault, AFaultInAStepNamesTheStep) {
  CudaDevice &gpu = device();
  auto loaded = module(gpu);
  DeviceKernel nothing = kernel(*loaded, "nothing");
  EXPECT_OK(gpu.beginCapture());
  EXPECT_OK(gpu.launch(nothing, {}, nullptr, here));
  auto graph = *gpu.endCapture();
  driver.set("fault_launch", 0);
  EXPECT_OK(graph->launch(step));
  EXPECT_NE(gpu.synchronize().message().find("in 'step' at train.cc:40, the only work"),
            std::string::npos);
}

} // namespace
} // namespace sinter::rt::cuda
