#include "sinter/core/memory.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <utility>

namespace sinter::rt {

constexpr int64_t hugePage = 2 << 20;

StatusOr<Memory> Memory::allocate(int64_t bytes) {
  Memory memory;
  bool huge = bytes >= 2 * hugePage;
  int64_t alignment = huge ? hugePage : int64_t(kAlignment);
  int64_t whole = 0;
  if (bytes >= 0 && bytes <= kMostBytes) {
    whole = std::max(alignment, (bytes + alignment - 1) & -alignment);
    memory.first = static_cast<std::byte *>(std::aligned_alloc(alignment, whole));
  }
  if (!memory.first)
    return makeError(Code::OutOfMemory, "cannot allocate ", formatBytes(bytes),
                     " of memory; use a smaller batch or free memory");
  memory.size = bytes;
#ifdef MADV_HUGEPAGE
  if (huge)
    madvise(memory.first, whole, MADV_HUGEPAGE);
#endif
  return memory;
}

Memory::~Memory() { std::free(first); }

Memory::Memory(Memory &&other) noexcept
    : first(std::exchange(other.first, nullptr)), size(std::exchange(other.size, 0)) {}

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(first, other.first);
  std::swap(size, other.size);
  return *this;
}

} // namespace sinter::rt
