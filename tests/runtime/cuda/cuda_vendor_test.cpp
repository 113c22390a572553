// Plans of the real cuDNN, made without a device: what it accepts of our descriptions. Nothing
// runs. Skipped where cuDNN 9.8 or later is not installed.
#include "cuda_support.h"
#include "cudnn.h"
#include "shared_library.h"
#include "sinter/cuda/library.h"

#include <gtest/gtest.h>

/// The libraries keep what they allocate, which is no leak of ours.
extern "C" int __lsan_is_turned_off() { return 1; }

namespace sinter::rt::cuda {
namespace {

CudaCard hopper() {
  CudaCard card;
  card.name = "NVIDIA H200";
  card.capability = 90;
  card.memoryBytes = int64_t(139) << 30;
  card.multiprocessors = 132;
  card.warpSize = 32;
  card.l2Bytes = 60 << 20;
  card.mostBlocks = {INT32_MAX, 65535, 65535};
  card.mostThreads = {1024, 1024, 64};
  card.mostThreadsPerBlock = 1024;
  card.sharedBytes = 48 << 10;
  card.optinSharedBytes = 227 << 10;
  card.driverVersion = 13000;
  return card;
}

class Cudnn : public testing::Test {
protected:
  void SetUp() override {
    StatusOr<std::shared_ptr<const Dnn>> dnn = Dnn::load("");
    if (!dnn.ok())
      GTEST_SKIP() << "no cuDNN to ask: " << dnn.status().message();
    if ((*dnn)->cudnnGetVersion() < 90800)
      GTEST_SKIP() << (*dnn)->version() << " needs a device to make plans; 9.8 does not";
  }
  std::unique_ptr<CudaConvolutionLibrary> open(const CudaLibraryOptions &options = {}) {
    auto library = CudaConvolutionLibrary::openFor(hopper(), options);
    EXPECT_TRUE(library.ok()) << library.status().message();
    return library.ok() ? *std::move(library) : nullptr;
  }
};

CudaConvolution convolution(int64_t channels, int64_t size, int64_t outputs, int64_t kernel,
                            int64_t stride, DType dtype = DType::F16) {
  CudaConvolution result;
  result.dtype = dtype;
  result.batch = 16;
  result.channels = channels;
  result.height = result.width = size;
  result.outputChannels = outputs;
  result.kernelHeight = result.kernelWidth = kernel;
  result.strideHeight = result.strideWidth = stride;
  result.padTop = result.padLeft = result.padBottom = result.padRight = kernel / 2;
  return result;
}

constexpr CudaConvolution::Kind kinds[] = {CudaConvolution::Kind::Forward,
                                           CudaConvolution::Kind::InputGradient,
                                           CudaConvolution::Kind::WeightGradient};

/// channels, size, outputs, kernel, stride of ResNet-50's convolutions (stride in the 3x3).
constexpr int64_t resnet50[][5] = {
    {3, 224, 64, 7, 2},     {64, 56, 64, 1, 1},    {64, 56, 64, 3, 1},    {64, 56, 256, 1, 1},
    {256, 56, 64, 1, 1},    {256, 56, 128, 1, 1},  {128, 56, 128, 3, 2},  {128, 28, 512, 1, 1},
    {256, 56, 512, 1, 2},   {512, 28, 128, 1, 1},  {128, 28, 128, 3, 1},  {512, 28, 256, 1, 1},
    {256, 28, 256, 3, 2},   {256, 14, 1024, 1, 1}, {512, 28, 1024, 1, 2}, {1024, 14, 256, 1, 1},
    {256, 14, 256, 3, 1},   {1024, 14, 512, 1, 1}, {512, 14, 512, 3, 2},  {512, 7, 2048, 1, 1},
    {1024, 14, 2048, 1, 2}, {2048, 7, 512, 1, 1},  {512, 7, 512, 3, 1}};

TEST_F(Cudnn, PlansForResnet50OnAnH200) {
  auto library = open({.workspaceLimit = int64_t(4096) << 20});
  ASSERT_TRUE(library);
  std::string refused;
  for (const auto &[channels, size, outputs, kernel, stride] : resnet50)
    for (CudaConvolution::Kind kind : kinds) {
      CudaConvolution layer = convolution(channels, size, outputs, kernel, stride);
      layer.kind = kind;
      auto plans = library->candidates(layer, 1);
      if (!plans.ok())
        refused += plans.status().message() + "\n";
      else
        EXPECT_GE((*plans)[0]->scratchBytes(), 0);
    }
  EXPECT_EQ(refused, "");
}

TEST_F(Cudnn, EveryTypeAndLayout) {
  auto library = open();
  ASSERT_TRUE(library);
  for (DType dtype : {DType::F32, DType::F16, DType::BF16})
    for (bool last : {true, false})
      for (CudaConvolution::Kind kind : kinds) {
        CudaConvolution layer = convolution(32, 14, 64, 3, 1, dtype);
        layer.kind = kind;
        layer.channelsLast = layer.weightChannelsLast = last;
        EXPECT_EQ(library->candidates(layer, 1).status().message(), "");
      }
}

TEST_F(Cudnn, EpiloguesAreFused) {
  auto library = open();
  ASSERT_TRUE(library);
  for (int which = 1; which < 8; ++which) {
    CudaConvolution layer = convolution(64, 28, 64, 3, 1);
    layer.bias = which & 1;
    layer.add = which & 2;
    layer.relu = which & 4;
    auto plans = library->candidates(layer, 1);
    bool precompiled = layer.bias && !layer.add; // the others it compiles with the driver's help
    if (plans.ok())
      continue;
    EXPECT_FALSE(precompiled) << which << ": " << plans.status().message();
    EXPECT_NE(plans.status().message().find("needs the driver library"), std::string::npos)
        << plans.status().message();
  }
}

TEST_F(Cudnn, WeightsAsTheProgramHasThem) {
  // A program's weights are OIHW whatever the layout of the images; cuDNN wants one layout.
  auto library = open();
  ASSERT_TRUE(library);
  for (CudaConvolution::Kind kind : kinds) {
    CudaConvolution layer = convolution(64, 28, 64, 3, 1);
    layer.kind = kind;
    layer.weightChannelsLast = false;
    EXPECT_EQ(library->candidates(layer, 1).status().message(), "");
  }
}

TEST_F(Cudnn, SeveralCandidatesWithinTheirLimits) {
  auto library = open();
  ASSERT_TRUE(library);
  CudaConvolution layer = convolution(64, 28, 64, 3, 1);
  auto plans = library->candidates(layer, 5);
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  EXPECT_EQ(plans->size(), 5u);
  auto small = open({.workspaceLimit = 4096});
  layer = convolution(3, 224, 64, 7, 2);
  if (auto within = small->candidates(layer, 5); within.ok()) {
    for (auto &plan : *within)
      EXPECT_LE(plan->scratchBytes(), 4096);
  } else {
    EXPECT_NE(within.status().message().find("of workspace"), std::string::npos)
        << within.status().message();
  }
}

TEST_F(Cudnn, DeterminismAndExactProductsNarrowTheChoice) {
  auto any = open({.allowTf32 = true}), exact = open(), same = open({.deterministic = true});
  CudaConvolution layer = convolution(64, 28, 64, 3, 1, DType::F32);
  layer.kind = CudaConvolution::Kind::WeightGradient;
  auto all = any->candidates(layer, 1000), f32 = exact->candidates(layer, 1000),
       repeatable = same->candidates(layer, 1000);
  ASSERT_TRUE(all.ok() && f32.ok() && repeatable.ok())
      << all.status().message() << f32.status().message() << repeatable.status().message();
  EXPECT_LT(f32->size(), all->size());
  EXPECT_LT(repeatable->size(), f32->size());
}

TEST_F(Cudnn, GroupsDilationAndOneSidedPadding) {
  auto library = open();
  ASSERT_TRUE(library);
  CudaConvolution layer = convolution(64, 28, 64, 3, 1);
  layer.groups = 4;
  EXPECT_EQ(library->candidates(layer, 1).status().message(), "");
  layer.groups = 5;
  EXPECT_EQ(library->candidates(layer, 1).status().code(), Code::Unsupported);
  layer = convolution(64, 28, 64, 3, 1);
  layer.dilationHeight = layer.dilationWidth = 2;
  EXPECT_EQ(layer.outputHeight(), 26);
  EXPECT_EQ(library->candidates(layer, 1).status().message(), "");
}

TEST_F(Cudnn, RefusalsSayWhat) {
  auto library = open();
  ASSERT_TRUE(library);
  CudaConvolution layer = convolution(64, 28, 64, 3, 1, DType::F64);
  EXPECT_EQ(library->candidates(layer, 1).status().message(),
            "cuDNN cannot convolve f64 NHWC 16x64x28x28 with 64 kernels of 3x3, stride 1x1: f32, "
            "f16 and bf16 are used; cast the operands");
  layer = convolution(64, 28, 64, 3, 1);
  layer.kind = CudaConvolution::Kind::InputGradient;
  layer.relu = true;
  EXPECT_EQ(library->candidates(layer, 1).status().code(), Code::Unsupported);
}

TEST_F(Cudnn, APlanWithoutADeviceDoesNotRun) {
  auto library = open();
  ASSERT_TRUE(library);
  auto plans = library->candidates(convolution(64, 28, 64, 3, 1), 1);
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  void *buffers[3] = {};
  EXPECT_EQ((*plans)[0]->run(buffers, nullptr, {"x", "y"}).code(), Code::FailedPrecondition);
}

TEST_F(CudaTest, TheRealCublasLtHasWhatIsUsed) {
  const std::string names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
  StatusOr<SharedLibrary> library = SharedLibrary::open("cuBLASLt", libraryCandidates(names, ""));
  if (!library.ok())
    GTEST_SKIP() << "no cuBLASLt to look into: " << library.status().message();
  auto opened = CudaMatmulLibrary::open(device(), {});
  if (opened.ok())
    return;
  // All entry points are there, and what follows is that it finds no driver.
  EXPECT_NE(opened.status().message().find("cuda:0: cuBLASLt cannot start: CUBLAS_STATUS_"),
            std::string::npos)
      << opened.status().message();
}

} // namespace
} // namespace sinter::rt::cuda
