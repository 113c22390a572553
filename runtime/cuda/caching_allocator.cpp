#include "caching_allocator.h"

#include <algorithm>
#include <utility>

namespace sinter::rt::cuda {
namespace {

constexpr int64_t mebibyte = 1 << 20;
constexpr int64_t smallest = mebibyte;       ///< of the pool of large pieces
constexpr int64_t smallBlock = 2 * mebibyte; ///< the driver's own page
constexpr int64_t largeBlock = 32 * mebibyte;
constexpr int64_t mostBytes = int64_t(1) << 46; // so that sums cannot overflow

int64_t roundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

} // namespace

CachingAllocator::~CachingAllocator() {
  if (!source.drain().ok())
    return; // the card is lost, and its memory with it
  for (const auto &[address, block] : blocks)
    source.release(address);
}

/// A block that holds everything serves both classes.
int CachingAllocator::poolOf(int64_t bytes) const {
  return options.grow && bytes < smallest ? 0 : 1;
}

int64_t CachingAllocator::blockBytes(int64_t bytes) const {
  if (!options.grow)
    return options.limit / kGranule * kGranule;
  int64_t wanted =
      poolOf(bytes) == 0 ? smallBlock : std::max(largeBlock, roundUp(bytes, smallBlock));
  int64_t left = (options.limit - reservedBytes) / kGranule * kGranule;
  return std::max(bytes, std::min(wanted, left));
}

void CachingAllocator::addFree(Pieces::iterator piece) {
  piece->second.free = true;
  int pool = blocks.at(static_cast<Address>(piece->second.block)).pool;
  freePieces[pool].insert({piece->second.bytes, piece->first});
}

void CachingAllocator::removeFree(Pieces::iterator piece) {
  piece->second.free = false;
  int pool = blocks.at(static_cast<Address>(piece->second.block)).pool;
  freePieces[pool].erase({piece->second.bytes, piece->first});
}

CachingAllocator::Address CachingAllocator::takeFree(int pool, int64_t bytes) {
  auto best = freePieces[pool].lower_bound({bytes, nullptr});
  if (best == freePieces[pool].end())
    return nullptr;
  auto piece = pieces.find(best->second);
  removeFree(piece);
  int64_t rest = piece->second.bytes - bytes;
  // A sliver of a large piece stays with it: nothing that asks this pool would fit.
  if (rest >= (pool == 1 && options.grow ? smallest : kGranule)) {
    piece->second.bytes = bytes;
    addFree(pieces.emplace(piece->first + bytes, Piece{piece->second.block, rest}).first);
  }
  return piece->first;
}

Status CachingAllocator::addBlock(int64_t bytes) {
  int64_t size = blockBytes(bytes);
  if (bytes > size || size > options.limit - reservedBytes)
    return Status(Code::OutOfMemory, "");
  StatusOr<void *> block = source.reserve(size);
  if (!block.ok() && block.status().code() == Code::OutOfMemory && options.grow && size > bytes) {
    size = bytes; // not a whole block, but what is asked for
    block = source.reserve(size);
  }
  if (!block.ok())
    return block.status();
  auto *address = static_cast<Address>(*block);
  blocks[address] = {size, poolOf(bytes)};
  reservedBytes += size;
  addFree(pieces.emplace(address, Piece{address, size}).first);
  return {};
}

CachingAllocator::Owner *CachingAllocator::ownerOf(const WorkOrigin &origin) {
  auto [entry, added] =
      ownerTable.try_emplace({std::string(origin.name), std::string(origin.location)});
  if (added)
    entry->second = {entry->first.first, entry->first.second, 0, 0};
  return &entry->second;
}

StatusOr<void *> CachingAllocator::allocate(size_t asked, const WorkOrigin &origin) {
  if (asked > size_t(mostBytes))
    return Status(Code::OutOfMemory, "");
  int64_t bytes = std::max(kGranule, roundUp(int64_t(asked), kGranule));
  int pool = poolOf(bytes);
  Address address = takeFree(pool, bytes);
  if (!address) {
    Status added = addBlock(bytes);
    if (added.code() == Code::OutOfMemory) {
      SINTER_RETURN_IF_ERROR(trim());
      added = addBlock(bytes);
    }
    if (!added.ok() && added.code() != Code::OutOfMemory)
      return added;
    address = takeFree(pool, bytes);
  }
  if (!address) // large pieces serve small requests before the request fails
    address = pool == 0 ? takeFree(1, bytes) : nullptr;
  if (!address)
    return Status(Code::OutOfMemory, "");
  Piece &piece = pieces.at(address);
  piece.owner = ownerOf(origin);
  piece.owner->bytes += piece.bytes;
  piece.owner->count += 1;
  allocatedBytes += piece.bytes;
  peakBytes = std::max(peakBytes, allocatedBytes);
  return static_cast<void *>(address);
}

bool CachingAllocator::free(void *memory) {
  auto piece = pieces.find(static_cast<Address>(memory));
  if (piece == pieces.end() || piece->second.free)
    return false;
  allocatedBytes -= piece->second.bytes;
  Owner &owner = *std::exchange(piece->second.owner, nullptr);
  owner.bytes -= piece->second.bytes;
  owner.count -= 1;
  auto joins = [&](Pieces::iterator other) {
    return other->second.free && other->second.block == piece->second.block;
  };
  if (auto next = std::next(piece); next != pieces.end() && joins(next)) {
    removeFree(next);
    piece->second.bytes += next->second.bytes;
    pieces.erase(next);
  }
  if (piece != pieces.begin() && joins(std::prev(piece))) {
    auto previous = std::prev(piece);
    removeFree(previous);
    previous->second.bytes += piece->second.bytes;
    pieces.erase(piece);
    piece = previous;
  }
  addFree(piece);
  return true;
}

Status CachingAllocator::trim() {
  if (!options.grow)
    return {};
  std::vector<Address> unused;
  for (const auto &[address, block] : blocks)
    if (const Piece &piece = pieces.at(address); piece.free && piece.bytes == block.bytes)
      unused.push_back(address);
  if (unused.empty())
    return {};
  SINTER_RETURN_IF_ERROR(source.drain());
  for (Address address : unused) {
    auto piece = pieces.find(address);
    reservedBytes -= piece->second.bytes;
    removeFree(piece);
    pieces.erase(piece);
    blocks.erase(address);
    source.release(address);
  }
  return {};
}

CachingAllocator::Use CachingAllocator::use() const {
  Use result{reservedBytes, allocatedBytes, peakBytes, 0, options.limit};
  for (const std::set<FreeKey> &pool : freePieces)
    if (!pool.empty())
      result.largestFree = std::max(result.largestFree, pool.rbegin()->first);
  return result;
}

std::vector<CachingAllocator::Owner> CachingAllocator::owners() const {
  std::vector<Owner> result;
  for (const auto &[key, owner] : ownerTable)
    if (owner.count)
      result.push_back(owner);
  std::ranges::stable_sort(result,
                           [](const Owner &a, const Owner &b) { return a.bytes > b.bytes; });
  return result;
}

bool CachingAllocator::consistent() const {
  int64_t reserved = 0, allocated = 0, freeBytes = 0, owned = 0;
  for (const auto &[address, block] : blocks) {
    Address next = address;
    bool afterFree = false;
    for (auto piece = pieces.find(address);
         piece != pieces.end() && piece->first < address + block.bytes; ++piece) {
      const Piece &here = piece->second;
      bool listed = freePieces[block.pool].contains({here.bytes, piece->first});
      if (piece->first != next || here.block != address || here.bytes % kGranule != 0 ||
          (here.free && afterFree) || listed != here.free)
        return false;
      next += here.bytes;
      afterFree = here.free;
      (here.free ? freeBytes : allocated) += here.bytes;
    }
    if (next != address + block.bytes)
      return false;
    reserved += block.bytes;
  }
  for (const auto &[key, owner] : ownerTable)
    owned += owner.bytes;
  return reserved == reservedBytes && allocated == allocatedBytes && owned == allocated &&
         reserved == allocated + freeBytes && reserved <= options.limit;
}

} // namespace sinter::rt::cuda
