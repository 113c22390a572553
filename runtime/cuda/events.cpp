// Events and pinned memory.
#include "device_impl.h"
#include "sinter/base/text.h"

namespace sinter::rt::cuda {
namespace {

class EventImpl final : public CudaEvent {
public:
  EventImpl(DeviceImpl &device, CuEvent event) : event(event), device(device) {}
  ~EventImpl() override { device.api().cuEventDestroy(event); }

  StatusOr<bool> done() override {
    SINTER_RETURN_IF_ERROR(device.makeCurrent());
    CuResult result = device.api().cuEventQuery(event);
    if (result == CuResult::NotReady)
      return false;
    SINTER_RETURN_IF_ERROR(device.check(result, "ask for an event"));
    return true;
  }
  Status wait() override {
    SINTER_RETURN_IF_ERROR(
        device.refuseInCapture("wait for an event", "wait before or after the capture"));
    SINTER_RETURN_IF_ERROR(device.makeCurrent());
    return device.check(device.api().cuEventSynchronize(event), "wait for an event");
  }
  StatusOr<double> millisecondsSince(const CudaEvent &start) override {
    SINTER_RETURN_IF_ERROR(device.makeCurrent());
    float milliseconds = 0;
    CuResult result = device.api().cuEventElapsedTime(
        &milliseconds, static_cast<const EventImpl &>(start).event, event);
    if (result == CuResult::NotReady || result == CuResult::InvalidHandle)
      return makeError(Code::FailedPrecondition, device.name(),
                       ": no time between events that are not done or not timed: record both with "
                       "timed = true and wait for them");
    SINTER_RETURN_IF_ERROR(device.check(result, "take the time between events"));
    return double(milliseconds);
  }

  const CuEvent event;

private:
  DeviceImpl &device;
};

class PinnedImpl final : public PinnedMemory {
public:
  PinnedImpl(DeviceImpl &device, void *memory, size_t size)
      : device(device), memory(static_cast<std::byte *>(memory)), size(size) {}
  ~PinnedImpl() override {
    device.quiesce(); // copies may be using it
    device.api().cuMemFreeHost(memory);
  }
  std::byte *data() const override { return memory; }
  size_t bytes() const override { return size; }

private:
  DeviceImpl &device;
  std::byte *memory;
  size_t size;
};

} // namespace

StatusOr<std::unique_ptr<CudaEvent>> DeviceImpl::record(bool timed) {
  SINTER_RETURN_IF_ERROR(
      refuseInCapture("record an event", "record it before or after the capture"));
  SINTER_RETURN_IF_ERROR(makeCurrent());
  CuEvent event = nullptr;
  SINTER_RETURN_IF_ERROR(check(
      driver.cuEventCreate(&event, timed ? kEventDefault : kEventDisableTiming), "make an event"));
  auto result = std::make_unique<EventImpl>(*this, event);
  SINTER_RETURN_IF_ERROR(check(driver.cuEventRecord(event, cuStream()), "record an event"));
  return std::unique_ptr<CudaEvent>(std::move(result));
}

Status DeviceImpl::waitFor(const CudaEvent &event) {
  SINTER_RETURN_IF_ERROR(refuseInCapture("wait for an event", "wait before or after the capture"));
  SINTER_RETURN_IF_ERROR(makeCurrent());
  CuResult result =
      driver.cuStreamWaitEvent(cuStream(), static_cast<const EventImpl &>(event).event, 0);
  return check(result, "wait for an event");
}

StatusOr<std::unique_ptr<PinnedMemory>> DeviceImpl::pin(size_t bytes) {
  SINTER_RETURN_IF_ERROR(refuseInCapture("pin memory", "pin it before the capture"));
  SINTER_RETURN_IF_ERROR(makeCurrent());
  void *memory = nullptr;
  CuResult result = driver.cuMemHostAlloc(&memory, bytes ? bytes : 1, kMemHostAllocPortable);
  if (result == CuResult::OutOfMemory)
    return makeError(Code::OutOfMemory, deviceName, ": cannot pin ", formatBytes(int64_t(bytes)),
                     " of host memory: free memory or pin less");
  SINTER_RETURN_IF_ERROR(check(result, "pin host memory"));
  return std::unique_ptr<PinnedMemory>(std::make_unique<PinnedImpl>(*this, memory, bytes));
}

} // namespace sinter::rt::cuda
