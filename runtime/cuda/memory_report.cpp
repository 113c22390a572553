// What a device tells of its memory.
#include "device_impl.h"
#include "sinter/base/text.h"

#include <cstdio>

namespace sinter::rt::cuda {
namespace {

constexpr size_t shownOwners = 10;

void appendOwner(std::string &text, int64_t bytes, int64_t count, const std::string &who) {
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "\n%12s %8lld  ", formatBytes(bytes).c_str(),
                static_cast<long long>(count));
  text += numbers + who;
}

} // namespace

CudaMemoryUse DeviceImpl::memoryUse() const {
  CachingAllocator::Use use = allocator.use();
  return {use.reserved, use.allocated, use.peak, use.limit};
}

std::string DeviceImpl::memoryReport() const {
  CachingAllocator::Use use = allocator.use();
  std::string text = concat(
      deviceName, " holds ", formatBytes(use.allocated), " in use (peak ", formatBytes(use.peak),
      ") of ", formatBytes(use.reserved), " taken from the card, limit ", formatBytes(use.limit),
      ", largest free piece ", formatBytes(use.largestFree), "\n       bytes   pieces  owner");
  std::vector<CachingAllocator::Owner> owners = allocator.owners();
  int64_t bytes = 0, count = 0;
  for (size_t i = 0; i < owners.size(); ++i) {
    const CachingAllocator::Owner &owner = owners[i];
    if (i < shownOwners) {
      appendOwner(text, owner.bytes, owner.count, describe({owner.name, owner.location}));
      continue;
    }
    bytes += owner.bytes;
    count += owner.count;
  }
  if (count)
    appendOwner(text, bytes, count, concat(owners.size() - shownOwners, " more"));
  return text;
}

Status DeviceImpl::explainOutOfMemory(size_t bytes, const WorkOrigin &origin) {
  size_t free = 0, total = 0;
  std::string card;
  if (driver.cuMemGetInfo(&free, &total) == CuResult::Success)
    card = concat("; the card has ", formatBytes(int64_t(free)), " free of ",
                  formatBytes(int64_t(total)), ", other processes counted");
  bool tooMuch = bytes > size_t(INT64_MAX);
  return makeError(Code::OutOfMemory, deviceName, " is out of memory: ", describe(origin),
                   " asks for ", formatBytes(tooMuch ? INT64_MAX : int64_t(bytes)), card,
                   ": use a smaller batch, recompute (--memory-budget) or raise "
                   "--device-memory\n",
                   memoryReport());
}

Status DeviceImpl::releaseCache() {
  SINTER_RETURN_IF_ERROR(refuseInCapture("release memory", "release it before or after"));
  SINTER_RETURN_IF_ERROR(makeCurrent());
  return allocator.trim();
}

} // namespace sinter::rt::cuda
