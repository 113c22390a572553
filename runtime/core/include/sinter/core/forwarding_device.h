// A device in front of another one: what it does not override, the other does. For what watches or
// disturbs the work of a device. It refers to the other one; threads as there.
#pragma once

#include "sinter/core/device.h"

namespace sinter::rt {

/// It has no replay of its own: a recorded step would pass it by.
class ForwardingDevice : public Device {
public:
  explicit ForwardingDevice(Device &inner) : inner(inner) {}
  std::string_view name() const override { return inner.name(); }
  StatusOr<void *> allocate(size_t bytes, const WorkOrigin &origin) override {
    return inner.allocate(bytes, origin);
  }
  void free(void *memory) override { inner.free(memory); }
  Status copyToDevice(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override {
    return inner.copyToDevice(to, from, bytes, origin);
  }
  Status copyToHost(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override {
    return inner.copyToHost(to, from, bytes, origin);
  }
  Status copy(void *to, const void *from, size_t bytes, const WorkOrigin &origin) override {
    return inner.copy(to, from, bytes, origin);
  }
  Status launch(const DeviceKernel &kernel, const LaunchShape &shape, void *const *params,
                const WorkOrigin &origin) override {
    return inner.launch(kernel, shape, params, origin);
  }
  bool wantsBuffers() const override { return inner.wantsBuffers(); }
  void describeBuffers(std::span<const DeviceBuffer> buffers) override {
    inner.describeBuffers(buffers);
  }
  Status synchronize() override { return inner.synchronize(); }

protected:
  Device &inner;
};

} // namespace sinter::rt
