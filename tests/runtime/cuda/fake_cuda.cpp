// The entry points of the fake driver; see fake_cuda.h.
#include "fake_cuda.h"

#include "driver.h"
#include "fake_state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

using namespace sinter::rt::cuda;

#define CU FAKE_CUDA_EXPORT CuResult

namespace {

thread_local CuContext currentContext = nullptr;

/// One call: the lock, a line in the log, the state.
struct Call {
  explicit Call(const char *name) : state(FakeState::get()), lock(state.mutex) {
    state.log += name;
    state.log += '\n';
  }
  /// What the call returns before it does anything: a lost context or none.
  CuResult refused() const {
    if (state.lost != CuResult::Success)
      return state.lost;
    return currentContext ? CuResult::Success : CuResult::InvalidContext;
  }
  CuResult refused(CuStream stream) const {
    CuResult result = refused();
    if (result == CuResult::Success && stream->context != currentContext)
      return CuResult::InvalidHandle;
    return result;
  }
  FakeState &state;
  std::lock_guard<std::recursive_mutex> lock;
};

#define REFUSE(...)                                                                                \
  if (CuResult refused = call.refused(__VA_ARGS__); refused != CuResult::Success)                  \
  return refused

} // namespace

void fakeCudaSet(const char *name, int64_t value) {
  Call call("set");
  call.state.settings.at(name) = value;
}
int64_t fakeCudaGet(const char *name) {
  FakeState &state = FakeState::get();
  std::lock_guard lock(state.mutex);
  if (!std::strcmp(name, "pending")) {
    int64_t pending = 0;
    for (CuStream stream : state.streams)
      pending += int64_t(stream->queue.size());
    return pending;
  }
  return state.counters[name];
}
void fakeCudaHide(const char *symbol) {
  Call call("hide");
  call.state.hidden.insert(symbol);
}
size_t fakeCudaTakeLog(char *text, size_t size) {
  FakeState &state = FakeState::get();
  std::lock_guard lock(state.mutex);
  size_t length = std::min(size, state.log.size());
  std::memcpy(text, state.log.data(), length);
  state.log.clear();
  return length;
}

void fakeCudaEmulate(const char *name, const void *given) {
  Call call("emulate");
  auto *kernel = static_cast<const sinter_emu_kernel *>(given);
  FakeKernel fake{kernel->name, {}, [kernel](const FakeLaunch &launch) {
                    return runEmulated(*kernel, launch);
                  }};
  for (uint32_t i = 0; i < kernel->param_count; ++i)
    fake.params.push_back(kernel->params[i].bytes);
  call.state.emulated[name] = &call.state.added.emplace_back(std::move(fake));
}

std::byte *fakeCudaResolve(uint64_t address, size_t bytes) {
  return FakeState::get().resolve(address, bytes);
}
int fakeCudaEnqueue(void *stream, int (*work)(void *), void *data) {
  Call call("library");
  return int(call.state.enqueue(static_cast<CuStream>(stream),
                                [work, data] { return CuResult(work(data)); }));
}

CU cuDriverGetVersion(int *version) {
  Call call("cuDriverGetVersion");
  *version = int(call.state.settings["version"]);
  return CuResult::Success;
}
CU cuInit(unsigned int) {
  Call call("cuInit");
  if (call.state.settings["devices"] == 0)
    return CuResult::NoDevice;
  return CuResult(call.state.settings["init_result"]);
}
CU cuGetErrorName(CuResult error, const char **text) {
  switch (error) {
  case CuResult::InvalidValue:
    return *text = "CUDA_ERROR_INVALID_VALUE", CuResult::Success;
  case CuResult::OutOfMemory:
    return *text = "CUDA_ERROR_OUT_OF_MEMORY", CuResult::Success;
  case CuResult::IllegalAddress:
    return *text = "CUDA_ERROR_ILLEGAL_ADDRESS", CuResult::Success;
  case CuResult::SystemDriverMismatch:
    return *text = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", CuResult::Success;
  default:
    return CuResult::InvalidValue;
  }
}
CU cuGetErrorString(CuResult error, const char **text) {
  if (error != CuResult::IllegalAddress)
    return CuResult::InvalidValue;
  *text = "an illegal memory access was encountered";
  return CuResult::Success;
}

CU cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount");
  *count = int(call.state.settings["devices"]);
  return CuResult::Success;
}
CU cuDeviceGet(CuDevice *device, int ordinal) {
  Call call("cuDeviceGet");
  if (ordinal < 0 || ordinal >= call.state.settings["devices"])
    return CuResult::InvalidDevice;
  *device = ordinal;
  return CuResult::Success;
}
CU cuDeviceGetName(char *name, int length, CuDevice) {
  std::strncpy(name, "Fake card", size_t(length));
  return CuResult::Success;
}
CU cuDeviceTotalMem_v2(size_t *bytes, CuDevice) {
  Call call("cuDeviceTotalMem");
  *bytes = size_t(call.state.settings["memory"]);
  return CuResult::Success;
}
CU cuDeviceGetAttribute(int *value, CuDeviceAttribute attribute, CuDevice) {
  Call call("cuDeviceGetAttribute");
  int capability = int(call.state.settings["capability"]);
  // What the programming guide's table of technical specifications gives for 9.0.
  const std::map<CuDeviceAttribute, int> values = {
      {CuDeviceAttribute::MaxThreadsPerBlock, 1024},
      {CuDeviceAttribute::MaxBlockDimX, 1024},
      {CuDeviceAttribute::MaxBlockDimY, 1024},
      {CuDeviceAttribute::MaxBlockDimZ, 64},
      {CuDeviceAttribute::MaxGridDimX, INT32_MAX},
      {CuDeviceAttribute::MaxGridDimY, 65535},
      {CuDeviceAttribute::MaxGridDimZ, 65535},
      {CuDeviceAttribute::MaxSharedMemoryPerBlock, 48 << 10},
      {CuDeviceAttribute::MaxSharedMemoryPerBlockOptin, 227 << 10},
      {CuDeviceAttribute::WarpSize, 32},
      {CuDeviceAttribute::MultiprocessorCount, 132},
      {CuDeviceAttribute::L2CacheSize, 50 << 20},
      {CuDeviceAttribute::ComputeCapabilityMajor, capability / 10},
      {CuDeviceAttribute::ComputeCapabilityMinor, capability % 10}};
  auto found = values.find(attribute);
  if (found == values.end())
    return CuResult::InvalidValue;
  *value = found->second;
  return CuResult::Success;
}

CU cuDevicePrimaryCtxRetain(CuContext *context, CuDevice device) {
  Call call("cuDevicePrimaryCtxRetain");
  CuContextObject &object = call.state.contexts[device];
  object.device = device;
  call.state.counters["contexts"] += object.references++ == 0;
  *context = &object;
  return CuResult::Success;
}
CU cuDevicePrimaryCtxRelease_v2(CuDevice device) {
  Call call("cuDevicePrimaryCtxRelease");
  call.state.counters["contexts"] -= --call.state.contexts[device].references == 0;
  return CuResult::Success;
}
CU cuCtxSetCurrent(CuContext context) {
  currentContext = context; // even a lost one
  return CuResult::Success;
}

CU cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call("cuMemGetInfo");
  REFUSE();
  *total = size_t(call.state.settings["memory"]);
  *free = *total - size_t(call.state.allocatedOn(currentContext->device));
  return CuResult::Success;
}
CU cuMemAlloc_v2(CuDevicePtr *memory, size_t bytes) {
  Call call("cuMemAlloc");
  REFUSE();
  if (call.state.breaksCapture())
    return CuResult::StreamCaptureUnsupported;
  return call.state.allocate(currentContext->device, bytes, *memory);
}
CU cuMemFree_v2(CuDevicePtr memory) {
  Call call("cuMemFree");
  REFUSE();
  // The real one waits; work still queued here that uses the memory will fail, as it should.
  return call.state.release(memory);
}
CU cuMemHostAlloc(void **memory, size_t bytes, unsigned int) {
  Call call("cuMemHostAlloc");
  REFUSE();
  if (call.state.counters["pinned"] + int64_t(bytes) > call.state.settings["most_pinned"])
    return CuResult::OutOfMemory;
  *memory = std::malloc(bytes);
  call.state.pinned[static_cast<std::byte *>(*memory)] = bytes;
  call.state.counters["pinned"] += int64_t(bytes);
  return CuResult::Success;
}
CU cuMemFreeHost(void *memory) {
  Call call("cuMemFreeHost");
  auto found = call.state.pinned.find(static_cast<std::byte *>(memory));
  if (found == call.state.pinned.end())
    return CuResult::InvalidValue;
  call.state.counters["pinned"] -= int64_t(found->second);
  call.state.pinned.erase(found);
  std::free(memory);
  return CuResult::Success;
}
CU cuPointerGetAttribute(void *value, CuPointerAttribute, CuDevicePtr pointer) {
  FakeState &state = FakeState::get();
  std::lock_guard lock(state.mutex);
  CuMemoryType type{};
  if (state.resolve(pointer, 1))
    type = CuMemoryType::Device;
  else if (state.isPinned(reinterpret_cast<void *>(pointer), 1))
    type = CuMemoryType::Host;
  else
    return CuResult::InvalidValue;
  std::memcpy(value, &type, sizeof type);
  return CuResult::Success;
}

CU cuMemcpyHtoDAsync_v2(CuDevicePtr to, const void *from, size_t bytes, CuStream stream) {
  Call call("cuMemcpyHtoDAsync");
  REFUSE(stream);
  call.state.counters["pageable_copies"] += !call.state.isPinned(from, bytes);
  return call.state.enqueue(stream, [&state = call.state, to, from, bytes] {
    std::byte *target = state.resolve(to, bytes);
    if (!target)
      return CuResult::IllegalAddress;
    std::memcpy(target, from, bytes);
    return CuResult::Success;
  });
}
CU cuMemcpyDtoHAsync_v2(void *to, CuDevicePtr from, size_t bytes, CuStream stream) {
  Call call("cuMemcpyDtoHAsync");
  REFUSE(stream);
  call.state.counters["pageable_copies"] += !call.state.isPinned(to, bytes);
  return call.state.enqueue(stream, [&state = call.state, to, from, bytes] {
    const std::byte *source = state.resolve(from, bytes);
    if (!source)
      return CuResult::IllegalAddress;
    std::memcpy(to, source, bytes);
    return CuResult::Success;
  });
}
CU cuMemcpyDtoDAsync_v2(CuDevicePtr to, CuDevicePtr from, size_t bytes, CuStream stream) {
  Call call("cuMemcpyDtoDAsync");
  REFUSE(stream);
  return call.state.enqueue(stream, [&state = call.state, to, from, bytes] {
    std::byte *target = state.resolve(to, bytes), *source = state.resolve(from, bytes);
    if (!target || !source)
      return CuResult::IllegalAddress;
    std::memmove(target, source, bytes);
    return CuResult::Success;
  });
}

CU cuStreamCreate(CuStream *stream, unsigned int) {
  Call call("cuStreamCreate");
  REFUSE();
  *stream = new CuStreamObject{.context = currentContext};
  call.state.streams.insert(*stream);
  call.state.counters["streams"] += 1;
  return CuResult::Success;
}
CU cuStreamDestroy_v2(CuStream stream) {
  Call call("cuStreamDestroy");
  call.state.counters["streams"] -= int64_t(call.state.streams.erase(stream));
  delete stream;
  return CuResult::Success;
}
CU cuStreamSynchronize(CuStream stream) {
  Call call("cuStreamSynchronize");
  REFUSE(stream);
  if (call.state.breaksCapture())
    return CuResult::StreamCaptureUnsupported;
  call.state.counters["waits"] += 1;
  return call.state.runUntil(stream, stream->enqueued);
}
CU cuStreamWaitEvent(CuStream stream, CuEvent event, unsigned int) {
  Call call("cuStreamWaitEvent");
  REFUSE(stream);
  if (!event->stream)
    return CuResult::Success;
  return call.state.enqueue(stream, [&state = call.state, event = *event] {
    return state.runUntil(event.stream, event.ticket);
  });
}

CU cuStreamBeginCapture_v2(CuStream stream, CuStreamCaptureMode) {
  Call call("cuStreamBeginCapture");
  REFUSE(stream);
  stream->capture = new CuGraphObject;
  stream->captureBroken = false;
  call.state.counters["graphs"] += 1;
  return CuResult::Success;
}
CU cuStreamEndCapture(CuStream stream, CuGraph *graph) {
  Call call("cuStreamEndCapture");
  *graph = std::exchange(stream->capture, nullptr);
  if (stream->captureBroken) {
    call.state.counters["graphs"] -= 1;
    delete std::exchange(*graph, nullptr);
    return CuResult::StreamCaptureInvalidated;
  }
  return CuResult::Success;
}
CU cuGraphGetNodes(CuGraph graph, CuGraphNode *, size_t *count) {
  *count = graph->works.size();
  return CuResult::Success;
}
CU cuGraphInstantiateWithFlags(CuGraphExec *exec, CuGraph graph, unsigned long long) {
  Call call("cuGraphInstantiateWithFlags");
  REFUSE();
  *exec = new CuGraphExecObject{graph->works};
  call.state.counters["graphs"] += 1;
  return CuResult::Success;
}
CU cuGraphLaunch(CuGraphExec exec, CuStream stream) {
  Call call("cuGraphLaunch");
  REFUSE(stream);
  return call.state.enqueue(stream, [works = exec->works] {
    for (const Work &work : works)
      if (CuResult result = work(); result != CuResult::Success)
        return result;
    return CuResult::Success;
  });
}
CU cuGraphExecDestroy(CuGraphExec exec) {
  Call call("cuGraphExecDestroy");
  call.state.counters["graphs"] -= 1;
  delete exec;
  return CuResult::Success;
}
CU cuGraphDestroy(CuGraph graph) {
  Call call("cuGraphDestroy");
  call.state.counters["graphs"] -= 1;
  delete graph;
  return CuResult::Success;
}

CU cuEventCreate(CuEvent *event, unsigned int flags) {
  Call call("cuEventCreate");
  REFUSE();
  *event = new CuEventObject{.timed = flags != kEventDisableTiming};
  call.state.counters["events"] += 1;
  return CuResult::Success;
}
CU cuEventRecord(CuEvent event, CuStream stream) {
  Call call("cuEventRecord");
  REFUSE(stream);
  event->stream = stream;
  event->ticket = stream->enqueued;
  return CuResult::Success;
}
CU cuEventQuery(CuEvent event) {
  Call call("cuEventQuery");
  REFUSE();
  return !event->stream || event->stream->done >= event->ticket ? CuResult::Success
                                                                : CuResult::NotReady;
}
CU cuEventSynchronize(CuEvent event) {
  Call call("cuEventSynchronize");
  REFUSE();
  return event->stream ? call.state.runUntil(event->stream, event->ticket) : CuResult::Success;
}
CU cuEventElapsedTime(float *milliseconds, CuEvent start, CuEvent end) {
  Call call("cuEventElapsedTime");
  if (!start->timed || !end->timed)
    return CuResult::InvalidHandle;
  if (end->stream->done < end->ticket)
    return CuResult::NotReady;
  *milliseconds = float(end->ticket - start->ticket); // a work takes a millisecond
  return CuResult::Success;
}
CU cuEventDestroy_v2(CuEvent event) {
  Call call("cuEventDestroy");
  call.state.counters["events"] -= 1;
  delete event;
  return CuResult::Success;
}

CU cuModuleLoadDataEx(CuModule *module, const void *image, unsigned int count, CuJitOption *options,
                      void **values) {
  Call call("cuModuleLoadDataEx");
  REFUSE();
  auto loaded = std::make_unique<CuModuleObject>();
  std::string log;
  CuResult result =
      loadImage(static_cast<const char *>(image), int(call.state.settings["capability"]),
                int(call.state.settings["version"]), *loaded, log);
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == CuJitOption::ErrorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CuJitOption::ErrorLogBufferSizeBytes)
      size = reinterpret_cast<uintptr_t>(values[i]);
  }
  if (buffer)
    std::memcpy(buffer, log.c_str(), std::min(size, log.size() + 1));
  if (result == CuResult::Success) {
    *module = loaded.release();
    call.state.counters["modules"] += 1;
  }
  return result;
}
CU cuModuleUnload(CuModule module) {
  Call call("cuModuleUnload");
  call.state.counters["modules"] -= 1;
  *module->loaded = false;
  delete module;
  return CuResult::Success;
}
CU cuModuleGetFunction(CuFunction *function, CuModule module, const char *name) {
  Call call("cuModuleGetFunction");
  REFUSE();
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return CuResult::NotFound;
  *function = &found->second;
  return CuResult::Success;
}
CU cuFuncGetAttribute(int *value, CuFunctionAttribute attribute, CuFunction function) {
  const FakeKernel &kernel = *function->kernel;
  *value = attribute == CuFunctionAttribute::MaxThreadsPerBlock ? kernel.mostThreads
           : attribute == CuFunctionAttribute::SharedSizeBytes  ? kernel.staticShared
           : attribute == CuFunctionAttribute::NumRegs          ? kernel.registers
                                                                : 0;
  return CuResult::Success;
}
CU cuFuncSetAttribute(CuFunction function, CuFunctionAttribute, int value) {
  Call call("cuFuncSetAttribute");
  REFUSE();
  if (value + function->kernel->staticShared > (227 << 10))
    return CuResult::InvalidValue;
  function->mostDynamicShared = uint32_t(value);
  return CuResult::Success;
}
CU cuLaunchKernel(CuFunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ,
                  unsigned int blockX, unsigned int blockY, unsigned int blockZ,
                  unsigned int sharedBytes, CuStream stream, void **params, void **) {
  Call call("cuLaunchKernel");
  REFUSE(stream);
  if (!gridX || !gridY || !gridZ || gridY > 65535 || gridZ > 65535 || blockZ > 64 ||
      uint64_t(blockX) * blockY * blockZ > uint64_t(function->kernel->mostThreads) ||
      blockX * blockY * blockZ == 0 || sharedBytes > function->mostDynamicShared)
    return CuResult::InvalidValue;
  return call.state.launch(*function, stream, {{}, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}},
                           params);
}

#ifndef FAKE_CUDA_WITHOUT_PROC_ADDRESS
CU cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t,
                       CuProcAddressResult *found) {
  Call call("cuGetProcAddress");
  *function = nullptr;
#define FAKE_CUDA_MATCH(base, symbol, parameters)                                                  \
  if (!std::strcmp(name, #base) && !call.state.hidden.contains(name))                              \
    *function = reinterpret_cast<void *>(&symbol);
  SINTER_CUDA_ENTRY_POINTS(FAKE_CUDA_MATCH)
  if (version > call.state.settings["version"])
    *function = nullptr;
  *found = *function ? CuProcAddressResult::Success : CuProcAddressResult::SymbolNotFound;
  return *function ? CuResult::Success : CuResult::NotFound;
}
#endif
