// Blocks of host memory for arenas and arrays: 64-byte aligned, large ones on
// huge pages where the system grants them. A block has one owner.
#pragma once

#include "sinter/base/status.h"

#include <cstddef>
#include <cstdint>

namespace sinter::rt {

inline constexpr size_t kAlignment = 64;
/// More than any machine maps; refused outright, so that sums of sizes can't overflow.
inline constexpr int64_t kMostBytes = int64_t(1) << 46;

constexpr int64_t alignUp(int64_t bytes) {
  return (bytes + int64_t(kAlignment) - 1) & -int64_t(kAlignment);
}

class Memory {
public:
  Memory() = default;
  ~Memory();
  Memory(Memory &&other) noexcept;
  Memory &operator=(Memory &&other) noexcept;

  /// Contents are undefined. OutOfMemory names the size.
  static StatusOr<Memory> allocate(int64_t bytes);

  std::byte *data() const { return first; }
  int64_t bytes() const { return size; }

private:
  std::byte *first = nullptr;
  int64_t size = 0;
};

} // namespace sinter::rt
