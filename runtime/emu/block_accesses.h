// Finds blocks of one launch that touch the same global memory, at least one of them writing it.
// Shared by a launch's workers.
//
// For each granule of memory the first and the last block that wrote it and that read it are kept,
// which tells whether two blocks differ, whoever came first. Blocks can be ordered by atomics,
// which nothing here sees, so kernels with atomics on global memory are left alone.
#pragma once

#include "chunked_array.h"
#include "launch.h"

#include <memory>

namespace sinter::rt::emu {

class BlockAccesses {
public:
  BlockAccesses(const Launch &launch, uint32_t granule);

  void note(bool write, uint32_t allocation, uint64_t offset, uint32_t bytes, uint64_t block,
            uint32_t site);
  /// Adds what was found to the launch's findings.
  void report() const;

private:
  /// The highest of (block + 1) << 16 | site, and the highest of their complements.
  struct Extremes {
    std::atomic<uint64_t> last, first;
    void note(uint64_t value);
  };
  struct Cell {
    Extremes writes, reads;
  };

  const Launch &launch;
  const uint32_t granule;
  std::unique_ptr<ChunkedArray<Cell>[]> allocations;
};

/// Whether two blocks of the launch may be told to race by what they touch.
bool canRace(const Launch &launch);

} // namespace sinter::rt::emu
