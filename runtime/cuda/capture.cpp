// Whole steps as CUDA graphs.
#include "device_impl.h"
#include "sinter/base/text.h"

#include <algorithm>

namespace sinter::rt {
namespace cuda {
namespace {

class GraphImpl final : public CudaGraph {
public:
  GraphImpl(DeviceImpl &device, CuGraphExec exec, size_t count)
      : device(device), exec(exec), count(count) {}
  // One that runs is freed by the driver when it is done.
  ~GraphImpl() override { device.api().cuGraphExecDestroy(exec); }

  Status launch(const WorkOrigin &origin) override {
    SINTER_RETURN_IF_ERROR(device.refuseInCapture(concat("launch ", describe(origin)),
                                                  "launch it behind the capture"));
    SINTER_RETURN_IF_ERROR(device.makeCurrent());
    SINTER_RETURN_IF_ERROR(device.check(device.api().cuGraphLaunch(exec, device.cuStream()),
                                        concat("launch the captured step ", describe(origin))));
    return device.enqueued(origin);
  }
  size_t nodes() const override { return count; }

private:
  DeviceImpl &device;
  CuGraphExec exec;
  size_t count;
};

} // namespace

Status DeviceImpl::beginCapture() {
  SINTER_RETURN_IF_ERROR(refuseInCapture("begin a capture", "end the first one"));
  if (sync)
    return makeError(Code::FailedPrecondition, deviceName,
                     ": --device-sync waits after each work, which cannot be captured: run the "
                     "step as it is, or without --device-sync");
  SINTER_RETURN_IF_ERROR(makeCurrent());
  // Other threads may go on with other devices of the card.
  CuResult result = driver.cuStreamBeginCapture(cuStream(), CuStreamCaptureMode::ThreadLocal);
  SINTER_RETURN_IF_ERROR(check(result, "begin a capture"));
  inCapture = true;
  return {};
}

StatusOr<std::unique_ptr<CudaGraph>> DeviceImpl::endCapture() {
  if (!inCapture)
    return makeError(Code::FailedPrecondition, deviceName,
                     ": no capture to end: call beginCapture first");
  inCapture = false;
  SINTER_RETURN_IF_ERROR(makeCurrent());
  CuGraph graph = nullptr;
  CuResult result = driver.cuStreamEndCapture(cuStream(), &graph);
  SINTER_RETURN_IF_ERROR(check(result, "end the capture"));
  size_t count = 0;
  CuGraphExec exec = nullptr;
  result = driver.cuGraphGetNodes(graph, nullptr, &count);
  if (result == CuResult::Success)
    result = driver.cuGraphInstantiateWithFlags(&exec, graph, 0);
  driver.cuGraphDestroy(graph); // the executable one is its own
  SINTER_RETURN_IF_ERROR(check(result, concat("make a graph of ", count, " captured works")));
  return std::unique_ptr<CudaGraph>(std::make_unique<GraphImpl>(*this, exec, count));
}

void DeviceImpl::abandonCapture() {
  if (!inCapture)
    return;
  inCapture = false;
  CuGraph graph = nullptr;
  if (driver.cuStreamEndCapture(cuStream(), &graph) == CuResult::Success && graph)
    driver.cuGraphDestroy(graph);
}

} // namespace cuda

std::unique_ptr<Replay> CudaDevice::makeReplay() { return std::make_unique<CapturedStep>(*this); }

Status CapturedStep::run(std::span<void *const> addresses, FunctionRef<Status()> enqueue,
                         const WorkOrigin &origin) {
  if (device.synchronous())
    return enqueue();
  if (!graph || !std::ranges::equal(addresses, capturedAddresses)) {
    graph = nullptr;
    SINTER_RETURN_IF_ERROR(device.beginCapture());
    if (Status status = enqueue(); !status.ok()) {
      device.abandonCapture();
      return status;
    }
    StatusOr<std::unique_ptr<CudaGraph>> captured = device.endCapture();
    if (!captured.ok())
      return captured.status();
    graph = std::move(*captured);
    capturedAddresses.assign(addresses.begin(), addresses.end());
    captureCount += 1;
  }
  return graph->launch(origin);
}

} // namespace sinter::rt
