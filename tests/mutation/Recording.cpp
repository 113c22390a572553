#include "Recording.h"

#include "sinter/abi/emu.h"

namespace sinter::mutation {

void RecordingDevice::describeBuffers(std::span<const rt::DeviceBuffer> buffers) {
  next.clear();
  for (const rt::DeviceBuffer &buffer : buffers)
    next.push_back({reinterpret_cast<uint64_t>(buffer.first), std::string(buffer.name),
                    buffer.written, DType::F32, std::vector<std::byte>(buffer.bytes)});
}

Status RecordingDevice::launch(const rt::DeviceKernel &kernel, const rt::LaunchShape &shape,
                               void *const *params, const rt::WorkOrigin &origin) {
  if (!seen.insert(std::string(kernel.symbol)).second)
    return inner.launch(kernel, shape, params, origin);
  RecordedLaunch &record = launches.emplace_back();
  record.kernel = kernel.symbol;
  record.shape = shape;
  record.buffers = std::move(next);
  for (RecordedBuffer &buffer : record.buffers)
    if (!buffer.bytes.empty())
      SINTER_RETURN_IF_ERROR(inner.copyToHost(buffer.bytes.data(),
                                              reinterpret_cast<void *>(buffer.address),
                                              buffer.bytes.size(), origin));
  SINTER_RETURN_IF_ERROR(inner.synchronize());
  const auto &described = *static_cast<const sinter_emu_kernel *>(kernel.handle);
  for (uint32_t i = uint32_t(record.buffers.size()); i < described.param_count; ++i) {
    auto *value = static_cast<const std::byte *>(params[i]);
    record.scalars.emplace_back(value, value + described.params[i].bytes);
  }
  return inner.launch(kernel, shape, params, origin);
}

bool SkippingDevice::skips(bool isWait, const char *what, std::string_view owner) {
  met.push_back({isWait, what + std::string(owner)});
  return int64_t(met.size()) == skip + 1;
}

Status SkippingDevice::copyToDevice(void *to, const void *from, size_t bytes,
                                    const rt::WorkOrigin &origin) {
  return skips(false, "copy to the device of ", origin.name)
             ? Status()
             : inner.copyToDevice(to, from, bytes, origin);
}

Status SkippingDevice::copyToHost(void *to, const void *from, size_t bytes,
                                  const rt::WorkOrigin &origin) {
  return skips(false, "copy to the host of ", origin.name)
             ? Status()
             : inner.copyToHost(to, from, bytes, origin);
}

Status SkippingDevice::copy(void *to, const void *from, size_t bytes,
                            const rt::WorkOrigin &origin) {
  return skips(false, "copy on the device, ", origin.name) ? Status()
                                                           : inner.copy(to, from, bytes, origin);
}

Status SkippingDevice::synchronize() {
  return skips(true, "wait", "") ? Status() : inner.synchronize();
}

} // namespace sinter::mutation
