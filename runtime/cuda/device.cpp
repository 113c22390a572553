#include "device_impl.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace sinter::rt::cuda {
namespace {

CuDevicePtr address(const void *memory) { return reinterpret_cast<CuDevicePtr>(memory); }

} // namespace

StatusOr<std::unique_ptr<CudaDevice>> DeviceImpl::create(const Driver &driver, const CudaCard &card,
                                                         std::string name,
                                                         const Settings &settings) {
  auto session = std::make_unique<Session>(driver, card.ordinal);
  if (CuResult result = session->open(); result != CuResult::Success)
    return makeError(result == CuResult::OutOfMemory ? Code::OutOfMemory : Code::FailedPrecondition,
                     name, " (", card.name, ") cannot make its context: ", driver.describe(result),
                     ": look with nvidia-smi whether other processes hold or fill the card");
  return std::unique_ptr<CudaDevice>(
      new DeviceImpl(std::move(session), card, std::move(name), settings));
}

CuResult Session::open() {
  CuResult result = driver.cuDeviceGet(&device, ordinal);
  if (result == CuResult::Success)
    result = driver.cuDevicePrimaryCtxRetain(&context, device);
  if (result == CuResult::Success)
    result = driver.cuCtxSetCurrent(context);
  if (result == CuResult::Success)
    result = driver.cuStreamCreate(&stream, kStreamNonBlocking);
  return result;
}

Session::~Session() {
  if (stream)
    driver.cuStreamDestroy(stream);
  if (context)
    driver.cuDevicePrimaryCtxRelease(device);
}

DeviceImpl::DeviceImpl(std::unique_ptr<Session> opened, const CudaCard &card, std::string name,
                       const Settings &settings)
    : session(std::move(opened)), driver(session->driver), cardInfo(card),
      deviceName(std::move(name)), sync(settings.sync),
      staging(driver, session->stream, settings.stagingBytes),
      allocator(*this, {settings.memoryLimit, settings.grow}) {}

DeviceImpl::~DeviceImpl() {
  abandonCapture();
  staging.discard(); // nobody waited for these downloads: where they go may be gone
  quiesce();
}

void DeviceImpl::quiesce() {
  if (lost.ok() && !inCapture && driver.cuCtxSetCurrent(session->context) == CuResult::Success)
    (void)settle(); // an error is kept, and told by the next call
}

Status DeviceImpl::settle() {
  SINTER_RETURN_IF_ERROR(check(driver.cuStreamSynchronize(cuStream()), "wait for its work"));
  staging.finish();
  log.clear();
  return {};
}

Status DeviceImpl::makeCurrent() {
  if (!lost.ok())
    return lost;
  if (!pending.ok())
    return std::exchange(pending, Status());
  return check(driver.cuCtxSetCurrent(session->context), "make its context current");
}

Status DeviceImpl::fail(CuResult result, std::string_view action) {
  if (!losesContext(result))
    return makeError(result == CuResult::OutOfMemory ? Code::OutOfMemory : Code::Internal,
                     deviceName, ": cannot ", action, ": ", driver.describe(result));
  std::string where;
  if (sync && log.size())
    where = concat("in ", log.names());
  else if (log.size() == 1)
    where = concat("in ", log.names(), ", the only work since the last wait");
  else if (log.size())
    where = concat("in one of ", log.size(), " works since the last wait, the newest ",
                   std::min(log.size(), WorkLog::kShown), " being ", log.names(),
                   "; run again with --device-sync to learn which");
  else
    where = concat("on attempting to ", action);
  lost = makeError(Code::Internal, deviceName, ": ", driver.describe(result), " ", where,
                   "; this process cannot use the card any more");
  staging.discard();
  return lost;
}

Status DeviceImpl::refuseInCapture(std::string_view what, std::string_view remedy) const {
  if (!inCapture)
    return {};
  return makeError(Code::FailedPrecondition, deviceName, ": cannot ", what,
                   " while a step is captured: ", remedy);
}

Status DeviceImpl::finishWork(CuResult result, const WorkOrigin &origin) {
  if (result != CuResult::Success) {
    // What the call itself refuses is its own fault; a lost context is that of works before.
    return fail(result, concat("enqueue ", describe(origin)));
  }
  return enqueued(origin);
}

Status DeviceImpl::enqueued(const WorkOrigin &origin) {
  if (inCapture)
    return {};
  log.add(origin);
  return sync ? synchronize() : Status();
}

Status DeviceImpl::synchronize() {
  SINTER_RETURN_IF_ERROR(refuseInCapture("wait", "wait before or after the capture"));
  Status earlier = lost.ok() ? std::exchange(pending, Status()) : Status(); // it waits all the same
  Status status = makeCurrent();
  if (status.ok())
    status = settle();
  if (!status.ok())
    staging.forgetDownloads(); // who asked for them goes on with the error, and frees their places
  return earlier.ok() ? status : earlier;
}

StatusOr<void *> DeviceImpl::reserve(int64_t bytes) {
  CuDevicePtr memory = 0;
  CuResult result = driver.cuMemAlloc(&memory, size_t(bytes));
  if (result == CuResult::OutOfMemory)
    return Status(Code::OutOfMemory, "");
  SINTER_RETURN_IF_ERROR(check(result, "allocate memory"));
  return reinterpret_cast<void *>(memory);
}

void DeviceImpl::release(void *block) { driver.cuMemFree(address(block)); }

Status DeviceImpl::drain() { return lost.ok() ? settle() : lost; }

StatusOr<void *> DeviceImpl::allocate(size_t bytes, const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(refuseInCapture(concat("allocate memory for ", describe(origin)),
                                         "allocate before the capture"));
  SINTER_RETURN_IF_ERROR(makeCurrent());
  StatusOr<void *> memory = allocator.allocate(bytes, origin);
  if (!memory.ok() && memory.status().code() == Code::OutOfMemory)
    return explainOutOfMemory(bytes, origin);
  return memory;
}

void DeviceImpl::free(void *memory) {
  if (memory && !allocator.free(memory) && pending.ok())
    pending = makeError(Code::InvalidArgument, deviceName, ": memory at ", memory,
                        " was freed that is not allocated (was it freed twice?)");
}

bool DeviceImpl::pinned(const void *memory) const {
  CuMemoryType type{};
  return driver.cuPointerGetAttribute(&type, CuPointerAttribute::MemoryType, address(memory)) ==
             CuResult::Success &&
         type == CuMemoryType::Host;
}

Status DeviceImpl::refusePageable(std::string_view direction, const WorkOrigin &origin) const {
  return makeError(Code::FailedPrecondition, deviceName, ": ", describe(origin), " copies ",
                   direction,
                   " pageable host memory, which cannot be captured: use pinned memory "
                   "(CudaDevice::pin), or copy outside of the captured step");
}

Status DeviceImpl::copyToDevice(void *to, const void *from, size_t bytes,
                                const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(makeCurrent());
  if (bytes == 0)
    return {};
  if (pinned(from))
    return finishWork(driver.cuMemcpyHtoDAsync(address(to), from, bytes, cuStream()), origin);
  return inCapture ? refusePageable("from", origin) : copyStaged(to, from, bytes, true, origin);
}

Status DeviceImpl::copyToHost(void *to, const void *from, size_t bytes, const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(makeCurrent());
  if (bytes == 0)
    return {};
  if (pinned(to))
    return finishWork(driver.cuMemcpyDtoHAsync(to, address(from), bytes, cuStream()), origin);
  return inCapture ? refusePageable("to", origin) : copyStaged(to, from, bytes, false, origin);
}

Status DeviceImpl::copyStaged(void *to, const void *from, size_t bytes, bool upload,
                              const WorkOrigin &origin) {
  for (size_t done = 0, size; done < bytes; done += size) {
    size = std::min(bytes - done, staging.pieceBytes());
    std::byte *room = nullptr;
    CuResult result = staging.acquire(size, room);
    if (result == CuResult::OutOfMemory)
      return makeError(Code::OutOfMemory, deviceName, ": cannot pin host memory for copies (",
                       describe(origin), "): free memory, or take less with --staging-memory");
    SINTER_RETURN_IF_ERROR(check(result, concat("enqueue ", describe(origin))));
    auto *target = static_cast<std::byte *>(to) + done;
    const auto *source = static_cast<const std::byte *>(from) + done;
    if (upload) {
      std::copy(source, source + size, room);
      result = driver.cuMemcpyHtoDAsync(address(target), room, size, cuStream());
    } else {
      result = driver.cuMemcpyDtoHAsync(room, address(source), size, cuStream());
    }
    if (result == CuResult::Success)
      result = staging.commit(upload ? nullptr : target);
    SINTER_RETURN_IF_ERROR(check(result, concat("enqueue ", describe(origin))));
  }
  return finishWork(CuResult::Success, origin);
}

Status DeviceImpl::copy(void *to, const void *from, size_t bytes, const WorkOrigin &origin) {
  SINTER_RETURN_IF_ERROR(makeCurrent());
  if (bytes == 0)
    return {};
  return finishWork(driver.cuMemcpyDtoDAsync(address(to), address(from), bytes, cuStream()),
                    origin);
}

} // namespace sinter::rt::cuda
