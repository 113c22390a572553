#include "memory.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace sinter::rt::emu {

static constexpr uint64_t kPage = 4096;
/// Fresh memory holds this: NaN as a float, -1 as an integer.
static constexpr int kPoison = 0xff;

bool isDeviceAddress(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer) >> 60 == SINTER_EMU_GLOBAL >> 60;
}

StatusOr<std::unique_ptr<DeviceMemory>> DeviceMemory::reserve(int64_t limit) {
  if (limit <= 0 || limit > int64_t(1) << 44)
    return makeError(Code::InvalidArgument, "an emulated device cannot have ", limit,
                     " bytes of memory; give 1 byte to 16 TiB");
  // Room for holes between allocations, too.
  uint64_t size = 4 * (uint64_t(limit) + (kPage << 12)) & ~(kPage - 1);
  void *range = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return makeError(Code::OutOfMemory, "cannot reserve ", formatBytes(int64_t(size)),
                     " of addresses for an emulated device (", std::strerror(errno),
                     "); give it less memory or raise `ulimit -v`");
  return std::unique_ptr<DeviceMemory>(
      new DeviceMemory(static_cast<std::byte *>(range), size, uint64_t(limit)));
}

DeviceMemory::DeviceMemory(std::byte *first, uint64_t size, uint64_t limit)
    : first(first), size(size), limit(limit) {
  holes[kPage] = size - kPage; // address 0 of the device is nobody's
}

DeviceMemory::~DeviceMemory() { munmap(first, size); }

Status DeviceMemory::exhausted(uint64_t bytes, const std::string &owner, const char *reason) const {
  std::vector<const Allocation *> largest;
  for (const auto &[address, allocation] : live)
    largest.push_back(&allocation);
  std::stable_sort(largest.begin(), largest.end(),
                   [](auto *a, auto *b) { return a->bytes > b->bytes; });
  std::string owners;
  for (size_t i = 0; i < std::min<size_t>(largest.size(), 8); ++i)
    owners += concat("\n  ", formatBytes(int64_t(largest[i]->bytes)), "  ", largest[i]->owner);
  if (largest.size() > 8)
    owners += concat("\n  and ", largest.size() - 8, " more");
  return makeError(Code::OutOfMemory, "out of device memory: '", owner, "' asks for ",
                   formatBytes(int64_t(bytes)), ", and ", formatBytes(int64_t(used)), " of ",
                   formatBytes(int64_t(limit)), " are in use", reason,
                   "; use a smaller batch or free some of", owners.empty() ? " it" : ":", owners);
}

StatusOr<uint64_t> DeviceMemory::allocate(uint64_t bytes, std::string owner) {
  std::lock_guard lock(mutex);
  if (bytes > limit - used)
    return exhausted(bytes, owner, "");
  uint64_t pages = std::max(kPage, (bytes + kPage - 1) & ~(kPage - 1)), whole = pages + kPage;
  auto hole = std::find_if(holes.begin(), holes.end(),
                           [&](const auto &entry) { return entry.second >= whole; });
  if (hole == holes.end())
    return exhausted(bytes, owner, ", in too small pieces");
  auto [offset, room] = *hole;
  if (mprotect(first + offset, pages, PROT_READ | PROT_WRITE) != 0)
    return exhausted(bytes, owner, ", and the host has no more");
  holes.erase(hole);
  if (room > whole)
    holes[offset + whole] = room - whole;
  std::memset(first + offset, kPoison, bytes);
  uint64_t address = SINTER_EMU_GLOBAL + offset;
  live[address] = {address, bytes, std::move(owner)};
  used += bytes;
  latest.reset();
  return address;
}

bool DeviceMemory::retire(uint64_t address) {
  std::lock_guard lock(mutex);
  auto found = live.find(address);
  if (found == live.end() || found->second.retired)
    return false;
  found->second.retired = true;
  return true;
}

void DeviceMemory::release(uint64_t address) {
  std::lock_guard lock(mutex);
  auto found = live.find(address);
  uint64_t bytes = found->second.bytes, offset = address - SINTER_EMU_GLOBAL;
  uint64_t pages = std::max(kPage, (bytes + kPage - 1) & ~(kPage - 1));
  // A fresh mapping faults and gives the pages back.
  mmap(first + offset, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
  used -= bytes;
  live.erase(found);
  latest.reset();
  auto [hole, inserted] = holes.insert({offset, pages + kPage});
  if (auto next = std::next(hole);
      next != holes.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    holes.erase(next);
  }
  if (hole != holes.begin())
    if (auto before = std::prev(hole); before->first + before->second == hole->first) {
      before->second += hole->second;
      holes.erase(hole);
    }
}

bool DeviceMemory::hasRetired() const {
  std::lock_guard lock(mutex);
  return std::any_of(live.begin(), live.end(),
                     [](const auto &entry) { return entry.second.retired; });
}

const Allocation *DeviceMemory::containing(uint64_t address) const {
  auto next = live.upper_bound(address);
  if (next == live.begin())
    return nullptr;
  const Allocation &allocation = std::prev(next)->second;
  return address - allocation.address <= allocation.bytes ? &allocation : nullptr;
}

Status DeviceMemory::check(uint64_t address, uint64_t bytes, const std::string &what) const {
  const void *pointer = reinterpret_cast<const void *>(address);
  if (!isDeviceAddress(pointer))
    return makeError(Code::InvalidArgument, what, " is ", pointer,
                     ", which is no address of this device; allocate it there and copy what the "
                     "host has");
  std::lock_guard lock(mutex);
  const Allocation *allocation = containing(address);
  if (!allocation)
    return makeError(Code::InvalidArgument, what, " is ", pointer,
                     ", where this device has no memory allocated; was it freed or made by another "
                     "device?");
  if (allocation->retired)
    return makeError(Code::InvalidArgument, what, " lies in memory of '", allocation->owner,
                     "' that was freed before; free it later");
  uint64_t offset = address - allocation->address;
  if (bytes > allocation->bytes - offset)
    return makeError(Code::InvalidArgument, what, " takes ", bytes, " bytes from byte ", offset,
                     " of '", allocation->owner, "', which has ", allocation->bytes,
                     "; allocate more or pass less");
  return {};
}

std::shared_ptr<const Allocations> DeviceMemory::snapshot() {
  std::lock_guard lock(mutex);
  if (!latest) {
    auto list = std::make_shared<Allocations>();
    for (const auto &[address, allocation] : live)
      list->push_back(allocation);
    latest = std::move(list);
  }
  return latest;
}

int64_t DeviceMemory::bytesInUse() const {
  std::lock_guard lock(mutex);
  return int64_t(used);
}

} // namespace sinter::rt::emu
