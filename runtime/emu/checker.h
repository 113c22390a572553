// Finds reads of shared memory that nobody wrote and accesses of threads that race.
//
// Two accesses to the same bytes race if one writes, not both are atomic, their threads differ, and
// no barrier of the block nor a warp barrier of both lanes lies between. Each granule of memory
// remembers its last write and two reads. One worker's; see docs/emulator.md for what it misses.
#pragma once

#include "launch.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sinter::rt::emu {

/// What memory an access is to.
struct Place {
  uint8_t space = 0; ///< global, shared; generic for all that need no checks
  unsigned char *host = nullptr;
  uint64_t offset = 0;     ///< in shared memory, or in the allocation
  uint32_t allocation = 0; ///< its index
};

class Checker {
public:
  Checker(Launch &launch, uint32_t globalGranule, uint32_t sharedGranule);

  void blockBegins();
  void barrier() { ++epoch; }
  void warpBarrier(uint32_t warp, uint32_t lanes);
  void access(const sinter_emu_thread &thread, const Place &place, uint32_t site);

private:
  struct Stamp {
    uint32_t epoch = 0, clock = 0, site = 0;
    uint16_t thread = 0;
    bool set = false, atomic = false;
  };
  struct Cell {
    uint32_t block = 0; ///< its run's number; stale if another's
    Stamp write, reads[2];
  };
  struct GlobalCell {
    uint64_t key = 0;
    Cell cell;
  };
  /// Clocks that each lane of a warp has seen of each.
  using Clocks = std::array<std::array<uint32_t, SINTER_EMU_WARP>, SINTER_EMU_WARP>;

  Cell &globalCell(uint64_t key);
  void grow();
  /// True if a race was found.
  bool touch(Cell &cell, const Stamp &now, bool reads, bool writes, Stamp &other) const;
  bool races(const Stamp &before, const Stamp &now) const;
  void keepRead(Cell &cell, const Stamp &now) const;
  uint32_t clockOf(uint32_t thread) const;
  void reportRace(const sinter_emu_thread &thread, const Place &place, uint64_t offset,
                  uint32_t site, const Stamp &other);

  Launch &launch;
  const uint32_t globalGranule, sharedGranule;
  uint32_t block = 0, epoch = 0;
  std::vector<Cell> sharedCells;
  std::vector<GlobalCell> globalCells; ///< hashed
  size_t globalUsed = 0;
  std::vector<Clocks> clocks; ///< one a warp; empty until a warp barrier is met
};

} // namespace sinter::rt::emu
