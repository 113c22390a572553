// Counts what kernels move. The n-th execution of an instruction by the lanes of a warp, between
// barriers of the block, is one request.
//
// A worker's `Counter` logs the addresses of its warps until all lanes were there; `Touched` is
// shared by a launch's workers and knows which bytes any of them touched.
#pragma once

#include "checker.h"
#include "chunked_array.h"
#include "memory.h"

#include "sinter/emu/counts.h"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace sinter::rt::emu {

/// One bit for each granule of each allocation, for reads and for writes.
class Touched {
public:
  Touched(const Allocations &allocations, uint32_t granule);

  void mark(bool write, uint32_t allocation, uint64_t offset, uint32_t bytes);
  /// Adds the distinct bytes and sectors.
  void addTo(MemoryCounts &read, MemoryCounts &written) const;

private:
  using Bits = ChunkedArray<std::atomic<uint64_t>>;
  void addTo(MemoryCounts &counts, const Bits &bits) const;

  const uint32_t granule;
  std::unique_ptr<Bits[]> maps; ///< two an allocation
  size_t mapCount;
};

/// What of a launch stays in the card's cache, and what of it was touched.
struct Kept {
  Kept(const Allocations &allocations, uint32_t granule, uint64_t bytes)
      : touched(allocations, granule), bytes(bytes) {}

  Touched touched;
  uint64_t bytes;           ///< of the largest buffer that does
  std::vector<bool> params; ///< by parameter: whether what it points to does
};

class Counter {
public:
  Counter(const Launch &launch, Touched &touched, Kept &kept);

  void access(const sinter_emu_thread &thread, const Place &place, uint32_t site);
  /// The lanes of all warps are done with what they do before a barrier or the block's end.
  void flush();
  void addTo(KernelCounts &counts) const;

private:
  struct Row {
    uint32_t lanes = 0;
    std::array<uint64_t, SINTER_EMU_WARP> offsets;
  };
  /// What the lanes of a warp did at a site.
  struct Log {
    std::array<uint32_t, SINTER_EMU_WARP> executions = {};
    std::vector<Row> rows; ///< one an execution
    size_t used = 0;
  };
  static constexpr int kAllocationShift = 44;

  void count(const sinter_emu_site &site, const Row &row);
  void countGlobal(const sinter_emu_site &site, const Row &row, uint32_t width);
  void countShared(const Row &row, uint32_t width);

  bool isKept(const sinter_emu_site &site, const Row &row) const;

  const Launch &launch;
  Touched &touched;
  Kept &kept;
  const size_t siteCount;
  std::vector<std::unique_ptr<Log>> logs; ///< by warp and site
  std::vector<uint32_t> dirty;            ///< logs with rows
  MemoryCounts read, written;
  uint64_t sharedRequests = 0, bankConflicts = 0;
};

} // namespace sinter::rt::emu
