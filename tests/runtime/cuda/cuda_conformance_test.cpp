// The CUDA device does what every device must, with work that runs at once or only in a wait.
#include "../device_conformance.h"
#include "cuda_support.h"

namespace sinter::rt::test {
namespace {

class Cuda : public ConformingDevice {
public:
  Cuda(bool eager, const CudaOptions &given) {
    driver.set("eager", eager);
    CudaOptions options = given;
    options.driver = driver.path();
    EXPECT_OK(platform.configure(options));
    StatusOr<CudaDevice *> made = platform.device(0);
    EXPECT_OK(made.status());
    gpu = *made;
    CudaImage image = cuda::image(CudaImage::Kind::Cubin, "sm_90", cuda::kCubin);
    StatusOr<std::unique_ptr<CudaModule>> loaded = gpu->loadModule({&image, 1}, "conformance");
    EXPECT_OK(loaded.status());
    module = *std::move(loaded);
  }
  Device &device() override { return *gpu; }
  DeviceKernel scale() override { return *module->kernel("scale_f32"); }
  DeviceKernel reverse() override { return *module->kernel("reverse_i32"); }
  DeviceKernel number() override { return *module->kernel("number_i32"); }
  DeviceKernel trap() override { return *module->kernel("trap"); }

private:
  cuda::FakeDriver driver;
  CudaPlatform platform;
  CudaDevice *gpu = nullptr;
  std::unique_ptr<CudaModule> module;
};

std::unique_ptr<ConformingDevice> late() { return std::make_unique<Cuda>(false, CudaOptions{}); }
std::unique_ptr<ConformingDevice> eager() { return std::make_unique<Cuda>(true, CudaOptions{}); }
std::unique_ptr<ConformingDevice> smallRing() {
  return std::make_unique<Cuda>(false, CudaOptions{.stagingBytes = 1024});
}

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceConformance, testing::Values(late, eager, smallRing));

} // namespace
} // namespace sinter::rt::test
