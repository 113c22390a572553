// What a real step asks of a device: its launches with the bytes that they read, and the same step
// with one copy or wait left out.
#pragma once

#include "sinter/base/dtype.h"
#include "sinter/core/forwarding_device.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace sinter::mutation {

struct RecordedBuffer {
  uint64_t address = 0; ///< on the device it was recorded on
  std::string name;
  bool written = false;
  DType dtype = DType::F32;
  std::vector<std::byte> bytes; ///< before the launch
};

struct RecordedLaunch {
  std::string kernel;
  rt::LaunchShape shape;
  std::vector<RecordedBuffer> buffers;         ///< the first parameters
  std::vector<std::vector<std::byte>> scalars; ///< the others' values
};

/// Keeps the first launch of each kernel.
class RecordingDevice final : public rt::ForwardingDevice {
public:
  using rt::ForwardingDevice::ForwardingDevice;
  bool wantsBuffers() const override { return true; }
  void describeBuffers(std::span<const rt::DeviceBuffer> buffers) override;
  Status launch(const rt::DeviceKernel &kernel, const rt::LaunchShape &shape, void *const *params,
                const rt::WorkOrigin &origin) override;

  std::vector<RecordedLaunch> launches;

private:
  std::vector<RecordedBuffer> next;
  std::set<std::string> seen;
};

/// Leaves out the copy or wait of number `skip`, counted from 0 over all of them.
class SkippingDevice final : public rt::ForwardingDevice {
public:
  SkippingDevice(rt::Device &inner, int64_t skip) : ForwardingDevice(inner), skip(skip) {}
  Status copyToDevice(void *to, const void *from, size_t bytes,
                      const rt::WorkOrigin &origin) override;
  Status copyToHost(void *to, const void *from, size_t bytes,
                    const rt::WorkOrigin &origin) override;
  Status copy(void *to, const void *from, size_t bytes, const rt::WorkOrigin &origin) override;
  Status synchronize() override;

  struct Work {
    bool isWait;
    std::string what; ///< "copy to the device of first.weight"
  };
  std::vector<Work> met;

private:
  bool skips(bool isWait, const char *what, std::string_view owner);
  const int64_t skip;
};

} // namespace sinter::mutation
