// The emulated device does what every device must, however its work is timed.
#include "device_conformance.h"
#include "emu_kernels.h"

#include "sinter/emu/device.h"

namespace sinter::rt::test {
namespace {

class Emu : public ConformingDevice {
public:
  explicit Emu(EmuOptions options) {
    auto made = EmuDevice::create(std::move(options));
    EXPECT_TRUE(made.ok()) << made.status().message();
    emu = *std::move(made);
  }
  Device &device() override { return *emu; }
  DeviceKernel scale() override { return handleOf(kScale); }
  DeviceKernel reverse() override { return handleOf(kReverse); }
  DeviceKernel number() override { return handleOf(kNumber); }
  DeviceKernel trap() override { return handleOf(kTrap); }

private:
  std::unique_ptr<EmuDevice> emu;
};

std::unique_ptr<ConformingDevice> prompt() {
  return std::make_unique<Emu>(EmuOptions{.threads = 3});
}
std::unique_ptr<ConformingDevice> deferred() {
  return std::make_unique<Emu>(EmuOptions{.threads = 1, .deferred = true});
}
std::unique_ptr<ConformingDevice> late() {
  return std::make_unique<Emu>(EmuOptions{.threads = 2, .delay = std::chrono::milliseconds(1)});
}

INSTANTIATE_TEST_SUITE_P(Emu, DeviceConformance, testing::Values(prompt, deferred, late));

} // namespace
} // namespace sinter::rt::test
