// Gives out pieces of large blocks that a source (the driver) provides, and keeps what is freed for
// the next request: device memory costs a call of milliseconds, a piece nothing.
//
// Order is the stream's: a piece that was freed may be given out at once, since work that uses it
// next runs after the work that used it last. Two size classes keep apart what lives differently:
// pieces under 1 MiB come from blocks of 2 MiB, others from blocks of their own size or 32 MiB.
// Within a class the smallest piece that fits is split and neighbours are merged when freed.
//
// One caller at a time.
#pragma once

#include "sinter/base/status.h"
#include "sinter/core/device.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sinter::rt::cuda {

/// Where blocks come from.
class BlockSource {
public:
  virtual ~BlockSource() = default;
  /// OutOfMemory if there is none left.
  virtual StatusOr<void *> reserve(int64_t bytes) = 0;
  /// Called only after `drain`.
  virtual void release(void *block) = 0;
  /// Waits for the work that may use memory freed so far.
  virtual Status drain() = 0;
};

struct AllocatorOptions {
  int64_t limit = 0; ///< bytes of all blocks together
  bool grow = true;  ///< false: `limit` bytes are reserved at the first request, as one block
};

class CachingAllocator {
public:
  static constexpr int64_t kGranule = 256; ///< alignment; sizes are multiples of it

  CachingAllocator(BlockSource &source, AllocatorOptions options)
      : source(source), options(options) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator &) = delete;

  /// OutOfMemory (with an empty message: the caller knows the card) when neither the pieces kept
  /// nor the source suffice; other errors are the source's.
  StatusOr<void *> allocate(size_t bytes, const WorkOrigin &origin);
  /// False if `memory` is no live allocation.
  bool free(void *memory);
  /// Returns blocks that are wholly free to the source; nothing without `grow`.
  Status trim();

  struct Use {
    int64_t reserved = 0;    ///< bytes of all blocks
    int64_t allocated = 0;   ///< in live allocations
    int64_t peak = 0;        ///< largest `allocated` so far
    int64_t largestFree = 0; ///< largest piece kept
    int64_t limit = 0;
  };
  Use use() const;

  struct Owner {
    std::string name, location;
    int64_t bytes = 0, count = 0;
  };
  /// Who holds live allocations, largest first.
  std::vector<Owner> owners() const;

  /// Whether the books are in order: pieces tile their blocks, no two free neighbours, sums right.
  bool consistent() const;

private:
  struct Piece {
    void *block = nullptr; ///< start of its block
    int64_t bytes = 0;
    bool free = true;
    Owner *owner = nullptr;
  };
  struct Block {
    int64_t bytes = 0;
    int pool = 0;
  };
  using Address = std::byte *;
  using FreeKey = std::pair<int64_t, Address>; ///< by size, then address
  using Pieces = std::map<Address, Piece>;

  int poolOf(int64_t bytes) const;
  int64_t blockBytes(int64_t bytes) const;
  Address takeFree(int pool, int64_t bytes);
  Status addBlock(int64_t bytes);
  Owner *ownerOf(const WorkOrigin &origin);
  void addFree(Pieces::iterator piece);
  void removeFree(Pieces::iterator piece);

  BlockSource &source;
  AllocatorOptions options;
  Pieces pieces; ///< all of all blocks, by address
  std::map<Address, Block> blocks;
  std::set<FreeKey> freePieces[2];
  std::map<std::pair<std::string, std::string>, Owner> ownerTable;
  int64_t reservedBytes = 0, allocatedBytes = 0, peakBytes = 0;
};

} // namespace sinter::rt::cuda
