// gpu-check-device: what every device must do, on the card itself. The driver is the system's, or
// $SINTER_CUDA_DRIVER; the card is the first that CUDA_VISIBLE_DEVICES leaves.
#include "DeviceKernels.h"

#include "device_conformance.h"

#include "sinter/cuda/platform.h"

#include <cstdio>

namespace sinter::rt::test {
namespace {

class Card : public ConformingDevice {
public:
  explicit Card(CudaDevice &card) : card(card) {
    CudaImage image = {CudaImage::Kind::Ptx, "sm_80", std::as_bytes(std::span(kDeviceKernels))};
    StatusOr<std::unique_ptr<CudaModule>> loaded = card.loadModule({&image, 1}, "gpu-check");
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (loaded.ok())
      module = *std::move(loaded);
  }
  Device &device() override { return card; }
  DeviceKernel scale() override { return kernel("scale_f32"); }
  DeviceKernel reverse() override { return kernel("reverse_i32"); }
  DeviceKernel number() override { return kernel("number_i32"); }
  DeviceKernel trap() override { return kernel("trap"); }

private:
  DeviceKernel kernel(std::string_view symbol) {
    StatusOr<DeviceKernel> found =
        module ? module->kernel(symbol) : Status(Code::NotFound, "the module was not loaded");
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found : DeviceKernel{};
  }
  CudaDevice &card;
  std::unique_ptr<CudaModule> module;
};

StatusOr<CudaDevice *> firstCard() { return CudaPlatform::global().device(0); }
std::unique_ptr<ConformingDevice> onFirstCard() { return std::make_unique<Card>(**firstCard()); }

// The last test of the suite traps, which costs the process its context.
INSTANTIATE_TEST_SUITE_P(Card, DeviceConformance, testing::Values(onFirstCard));

} // namespace
} // namespace sinter::rt::test

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  auto card = sinter::rt::test::firstCard();
  if (!card.ok()) {
    std::fprintf(stderr, "gpu-check-device: %s\n", card.status().message().c_str());
    return 4; // as gpu-check: there is no device
  }
  return RUN_ALL_TESTS();
}
