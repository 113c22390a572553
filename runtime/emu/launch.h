// One launch of a kernel, as its workers see it.
#pragma once

#include "findings.h"
#include "memory.h"

#include "sinter/core/device.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sinter::rt::emu {

/// Copies of the parameters' values, so that the caller's may change.
class Params {
public:
  Params(const sinter_emu_kernel &kernel, void *const *values);
  const void *const *pointers() const { return places.data(); }

private:
  std::vector<std::byte> bytes;
  std::vector<const void *> places;
};

struct Launch {
  const sinter_emu_kernel &kernel;
  LaunchShape shape;
  const void *const *params = nullptr;
  uint64_t delta = 0; ///< of device addresses
  Findings &findings;
  /// The first block whose threads wait for each other for ever: later ones need not run.
  std::atomic<uint64_t> stuckBlock{UINT64_MAX};

  std::shared_ptr<const Allocations> allocations = {}; ///< when it began; null: nobody watches
  std::string ownerOf(uint32_t allocation) const { return (*allocations)[allocation].owner; }

  uint64_t blocks() const { return uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2]; }
  uint32_t threads() const { return shape.block[0] * shape.block[1] * shape.block[2]; }
  uint32_t sharedBytes() const { return kernel.static_shared + shape.dynamicSharedBytes; }
};

/// Counted x fastest.
inline uint64_t blockIndex(const sinter_emu_block &block) {
  return block.ctaid[0] +
         uint64_t(block.nctaid[0]) * (block.ctaid[1] + uint64_t(block.nctaid[1]) * block.ctaid[2]);
}

/// Where the bytes of an address are for the host, which need not exist.
inline void *hostAddress(const sinter_emu_block &block, uint8_t space, uint64_t address) {
  bool shared = space == SINTER_EMU_SPACE_SHARED, global = space == SINTER_EMU_SPACE_GLOBAL;
  if (space == SINTER_EMU_SPACE_GENERIC) {
    // Variables of the module lie up to 2^47 to either side of device memory.
    global = address - (SINTER_EMU_GLOBAL - (uint64_t(1) << 47)) < uint64_t(1) << 48;
    shared = address - SINTER_EMU_SHARED < uint64_t(1) << 32;
    if (shared)
      address -= SINTER_EMU_SHARED;
  }
  if (shared)
    return block.shared + address;
  return reinterpret_cast<void *>(global ? address + block.global_delta : address);
}

} // namespace sinter::rt::emu
