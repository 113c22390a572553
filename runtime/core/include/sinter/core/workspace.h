// The working memory of executables: one arena for planned buffers and one area
// for kernels' scratch, grown to the largest need seen and never shrunk.
//
// Executables that never run at the same time (the entries of one artifact
// instance, a training and an evaluation step) may share one. Not synchronised.
#pragma once

#include "sinter/core/memory.h"

namespace sinter::rt {

class Workspace {
public:
  /// Grows what is smaller; contents are lost where it grew.
  Status reserve(int64_t arenaBytes, int64_t scratchBytes) {
    SINTER_RETURN_IF_ERROR(grow(arenaMemory, arenaBytes));
    return grow(scratchMemory, scratchBytes);
  }
  std::byte *arena() const { return arenaMemory.data(); }
  std::byte *scratch() const { return scratchMemory.data(); }
  int64_t arenaBytes() const { return arenaMemory.bytes(); }
  int64_t scratchBytes() const { return scratchMemory.bytes(); }
  /// Changes when an address did.
  uint64_t version() const { return growths; }

private:
  Status grow(Memory &memory, int64_t bytes) {
    if (bytes <= memory.bytes())
      return {};
    ++growths;
    memory = Memory(); // first, so that both never exist together
    StatusOr<Memory> larger = Memory::allocate(bytes);
    if (larger.ok())
      memory = *std::move(larger);
    return larger.status();
  }

  Memory arenaMemory, scratchMemory;
  uint64_t growths = 1;
};

} // namespace sinter::rt
