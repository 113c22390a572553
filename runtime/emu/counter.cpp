#include "counter.h"

#include <algorithm>
#include <bit>

namespace sinter::rt::emu {

static constexpr uint32_t kSector = 32, kBanks = 32;

Touched::Touched(const Allocations &allocations, uint32_t granule)
    : granule(granule), maps(new Bits[2 * allocations.size()]), mapCount(2 * allocations.size()) {
  for (size_t i = 0; i < mapCount; ++i)
    maps[i].setSize(allocations[i / 2].bytes / (64 * granule) + 1);
}

void Touched::mark(bool write, uint32_t allocation, uint64_t offset, uint32_t bytes) {
  Bits &map = maps[2 * allocation + write];
  for (uint64_t bit = offset / granule, end = (offset + bytes) / granule; bit < end;) {
    uint64_t count = std::min<uint64_t>(end - bit, 64 - bit % 64);
    uint64_t mask = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << bit % 64;
    std::atomic<uint64_t> &word = map[bit / 64];
    if ((word.load(std::memory_order_relaxed) & mask) != mask)
      word.fetch_or(mask, std::memory_order_relaxed);
    bit += count;
  }
}

void Touched::addTo(MemoryCounts &counts, const Bits &map) const {
  uint32_t sectorBits = kSector / granule;
  uint64_t sectorMask = (uint64_t(1) << sectorBits) - 1;
  map.forEach([&](uint64_t, const std::atomic<uint64_t> &word) {
    uint64_t bits = word.load(std::memory_order_relaxed);
    counts.distinctBytes += uint64_t(std::popcount(bits)) * granule;
    for (; bits != 0; bits >>= sectorBits)
      counts.distinctSectors += (bits & sectorMask) != 0;
  });
}

void Touched::addTo(MemoryCounts &read, MemoryCounts &written) const {
  for (size_t i = 0; i < mapCount; ++i)
    addTo(i % 2 ? written : read, maps[i]);
}

Counter::Counter(const Launch &launch, Touched &touched, Kept &kept)
    : launch(launch), touched(touched), kept(kept), siteCount(launch.kernel.site_count),
      logs(siteCount * ((launch.threads() + SINTER_EMU_WARP - 1) / SINTER_EMU_WARP)) {}

void Counter::access(const sinter_emu_thread &thread, const Place &place, uint32_t site) {
  uint32_t lane = thread.index % SINTER_EMU_WARP;
  uint32_t number = uint32_t(thread.index / SINTER_EMU_WARP * siteCount + site);
  std::unique_ptr<Log> &slot = logs[number];
  if (!slot)
    slot = std::make_unique<Log>();
  Log &log = *slot;
  if (log.used == 0)
    dirty.push_back(number);
  uint32_t execution = log.executions[lane]++;
  if (execution == log.used) {
    if (log.rows.size() == log.used)
      log.rows.emplace_back();
    log.rows[log.used++].lanes = 0;
  }
  Row &row = log.rows[execution];
  row.lanes |= 1u << lane;
  bool shared = place.space == SINTER_EMU_SPACE_SHARED;
  // A generic access may be to either.
  row.offsets[lane] = shared ? place.offset | uint64_t(1) << 63
                             : uint64_t(place.allocation) << kAllocationShift | place.offset;
}

void Counter::flush() {
  for (uint32_t number : dirty) {
    Log &log = *logs[number];
    for (size_t i = 0; i < log.used; ++i)
      count(launch.kernel.sites[number % siteCount], log.rows[i]);
    log.used = 0;
    log.executions = {};
  }
  dirty.clear();
}

void Counter::count(const sinter_emu_site &site, const Row &row) {
  // An access is as wide as it is aligned; a wider one takes several.
  uint32_t width = std::min<uint32_t>({site.align, 16u, std::bit_floor(uint32_t(site.bytes))});
  for (uint32_t done = 0; done < site.bytes; done += width) {
    Row global, shared;
    for (uint32_t left = row.lanes; left != 0; left &= left - 1) {
      int lane = std::countr_zero(left);
      bool isShared = row.offsets[lane] >> 63;
      Row &to = isShared ? shared : global;
      to.lanes |= 1u << lane;
      to.offsets[lane] = (row.offsets[lane] & ~(uint64_t(1) << 63)) + done;
    }
    if (global.lanes)
      countGlobal(site, global, width);
    if (shared.lanes)
      countShared(shared, width);
  }
}

/// Whether the request is to a buffer that stays in the cache.
bool Counter::isKept(const sinter_emu_site &site, const Row &row) const {
  if (site.param >= 0)
    return kept.params[size_t(site.param)];
  uint64_t allocation = row.offsets[std::countr_zero(row.lanes)] >> kAllocationShift;
  return (*launch.allocations)[allocation].bytes <= kept.bytes;
}

void Counter::countGlobal(const sinter_emu_site &site, const Row &row, uint32_t width) {
  std::array<uint64_t, SINTER_EMU_WARP> sectors;
  size_t lanes = 0;
  for (uint32_t left = row.lanes; left != 0; left &= left - 1)
    sectors[lanes++] = row.offsets[std::countr_zero(left)] / kSector;
  std::sort(sectors.begin(), sectors.begin() + lanes);
  auto distinct = std::unique(sectors.begin(), sectors.begin() + lanes) - sectors.begin();
  constexpr uint64_t offsetMask = (uint64_t(1) << kAllocationShift) - 1;
  bool stays = isKept(site, row);
  for (bool write : {false, true}) {
    if (!(site.flags & (write ? SINTER_EMU_WRITES : SINTER_EMU_READS)))
      continue;
    MemoryCounts &counts = write ? written : read;
    ++counts.requests;
    counts.sectors += uint64_t(distinct);
    counts.fetchedSectors += stays ? 0 : uint64_t(distinct);
    counts.requestedBytes += lanes * width;
    for (uint32_t left = row.lanes; left != 0; left &= left - 1) {
      uint64_t offset = row.offsets[std::countr_zero(left)];
      uint32_t allocation = uint32_t(offset >> kAllocationShift);
      touched.mark(write, allocation, offset & offsetMask, width);
      if (stays)
        kept.touched.mark(write, allocation, offset & offsetMask, width);
    }
  }
}

/// The passes that some lanes' words take: as many as the busiest bank has different words.
static uint32_t passes(const std::array<uint64_t, SINTER_EMU_WARP> &offsets, uint32_t lanes,
                       uint32_t width) {
  std::array<std::array<uint64_t, kBanks>, kBanks> words;
  std::array<uint32_t, kBanks> used = {};
  uint32_t most = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    for (uint32_t byte = 0; byte < width; byte += 4) {
      uint64_t word = (offsets[std::countr_zero(left)] + byte) / 4;
      auto &bank = words[word % kBanks];
      uint32_t &count = used[word % kBanks];
      if (std::find(bank.begin(), bank.begin() + count, word) == bank.begin() + count) {
        bank[count++] = word;
        most = std::max(most, count);
      }
    }
  return most;
}

void Counter::countShared(const Row &row, uint32_t width) {
  // 8 bytes a lane go in two halves of a warp, 16 in four quarters.
  uint32_t groups = std::max(1u, width / 4), lanes = SINTER_EMU_WARP / groups;
  uint32_t mask = lanes == SINTER_EMU_WARP ? ~0u : (1u << lanes) - 1;
  uint64_t conflicts = 0;
  for (uint32_t group = 0; group < groups; ++group)
    if (uint32_t some = row.lanes & mask << group * lanes)
      conflicts += passes(row.offsets, some, width) - 1;
  ++sharedRequests;
  bankConflicts += conflicts;
}

void Counter::addTo(KernelCounts &counts) const {
  for (auto [to, from] : {std::pair{&counts.read, &read}, std::pair{&counts.written, &written}}) {
    to->requests += from->requests;
    to->sectors += from->sectors;
    to->fetchedSectors += from->fetchedSectors;
    to->requestedBytes += from->requestedBytes;
  }
  counts.sharedRequests += sharedRequests;
  counts.bankConflicts += bankConflicts;
}

} // namespace sinter::rt::emu
