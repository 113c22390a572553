// Convolutions on a device, through a fake cuDNN: which of its proposals are taken, and what is
// executed.
#include "cuda_support.h"
#include "sinter/cuda/library.h"

namespace sinter::rt::cuda {
namespace {

namespace fs = std::filesystem;
constexpr WorkOrigin here = {"conv", "net.cc:9"};

class CudaConvolutions : public CudaTest {
protected:
  void SetUp() override {
    static int count = 0;
    root = fs::temp_directory_path() /
           ("fake_cudnn." + std::to_string(getpid()) + "." + std::to_string(count++));
    fs::create_directories(root);
    fs::copy_file(SINTER_FAKE_CUDNN, root / "libcudnn.so.9");
    handle = dlopen((root / "libcudnn.so.9").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    layer.batch = 2, layer.channels = 4, layer.height = layer.width = 8;
    layer.outputChannels = 4, layer.kernelHeight = layer.kernelWidth = 3;
  }
  void TearDown() override {
    EXPECT_EQ(call<int64_t()>("fakeDnnObjects")(), 0) << "descriptors left behind";
    fs::remove_all(root);
    CudaTest::TearDown();
  }
  template <class Function> Function *call(const char *name) {
    return reinterpret_cast<Function *>(dlsym(handle, name));
  }
  StatusOr<std::unique_ptr<CudaConvolutionLibrary>> open(CudaLibraryOptions options = {}) {
    options.searchPath = root.string();
    return CudaConvolutionLibrary::open(device(), options);
  }

  fs::path root;
  void *handle = nullptr;
  CudaConvolution layer;
};

TEST_F(CudaConvolutions, ExecutesOnTheStreamWithItsOperandsInOrder) {
  auto library = *open({.allowTf32 = true});
  EXPECT_EQ(library->version(), "cuDNN 9.19.0");
  layer.bias = layer.add = layer.relu = true;
  auto plans = *library->candidates(layer, 1);
  ASSERT_EQ(plans.size(), 1u);
  void *buffers[] = {(void *)16, (void *)32, (void *)48, (void *)64, (void *)80};
  EXPECT_OK(plans[0]->run(buffers, (void *)96, here));
  EXPECT_EQ(std::string(call<const char *()>("fakeDnnExecuted")()),
            "engine 0 stream " +
                std::to_string(reinterpret_cast<uintptr_t>(device().nativeStream())) +
                " 0=16 1=32 2=48 3=64 4=80 workspace 96");
}

TEST_F(CudaConvolutions, EveryKindHasThreeOperands) {
  auto library = *open();
  for (auto kind : {CudaConvolution::Kind::Forward, CudaConvolution::Kind::InputGradient,
                    CudaConvolution::Kind::WeightGradient}) {
    layer.kind = kind;
    auto plans = *library->candidates(layer, 1);
    void *buffers[] = {(void *)16, (void *)32, (void *)48};
    EXPECT_OK(plans[0]->run(buffers, nullptr, here));
    std::string executed = call<const char *()>("fakeDnnExecuted")();
    EXPECT_NE(executed.find(" 0=16 1=32 2=48 workspace 0"), std::string::npos) << executed;
  }
}

TEST_F(CudaConvolutions, ProposalsAreFilteredByWhatIsAllowed) {
  struct Case {
    CudaLibraryOptions options;
    DType dtype;
    size_t plans;
  };
  for (const Case &expected :
       {Case{{.allowTf32 = true}, DType::F32, 3},
        Case{{}, DType::F32, 2}, // not the one that rounds
        Case{{}, DType::F16, 3}, Case{{.deterministic = true}, DType::F16, 2},
        Case{{.deterministic = true}, DType::F32, 1},
        Case{{.workspaceLimit = 1024, .allowTf32 = true}, DType::F32, 2}}) {
    auto library = *open(expected.options);
    layer.dtype = expected.dtype;
    auto plans = library->candidates(layer, 10);
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    EXPECT_EQ(plans->size(), expected.plans);
  }
  auto library = *open({.workspaceLimit = 1024, .deterministic = true});
  layer.dtype = DType::F32;
  EXPECT_EQ(library->candidates(layer, 1).status().message(),
            "cuDNN knows no way to convolve f32 NHWC 2x4x8x8 with 4 kernels of 3x3, stride 1x1 in "
            "1.0 KiB of workspace, deterministically: the first one that works needs 2.0 KiB of "
            "workspace");
}

TEST_F(CudaConvolutions, AnotherMajorVersionIsRefused) {
  call<void(size_t)>("fakeDnnVersion")(100000);
  Status status = open().status();
  EXPECT_EQ(status.code(), Code::Unsupported);
  EXPECT_NE(status.message().find("is cuDNN 10.0.0, and sinter uses cuDNN 9"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace sinter::rt::cuda
