#include "checker.h"

#include "monitor.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <bit>

namespace sinter::rt::emu {

Checker::Checker(Launch &launch, uint32_t globalGranule, uint32_t sharedGranule)
    : launch(launch), globalGranule(globalGranule), sharedGranule(sharedGranule),
      sharedCells((launch.sharedBytes() + sharedGranule - 1) / sharedGranule),
      globalCells(1 << 12) {}

void Checker::blockBegins() {
  ++block;
  epoch = 0;
  globalUsed = 0;
  clocks.clear();
}

void Checker::warpBarrier(uint32_t warp, uint32_t lanes) {
  if (clocks.empty()) {
    clocks.resize((launch.threads() + SINTER_EMU_WARP - 1) / SINTER_EMU_WARP);
    for (Clocks &fresh : clocks)
      for (uint32_t lane = 0; lane < SINTER_EMU_WARP; ++lane)
        fresh[lane][lane] = 1;
  }
  Clocks &own = clocks[warp];
  std::array<uint32_t, SINTER_EMU_WARP> joined = {};
  for (uint32_t left = lanes; left != 0; left &= left - 1)
    for (uint32_t other = 0; other < SINTER_EMU_WARP; ++other)
      joined[other] = std::max(joined[other], own[std::countr_zero(left)][other]);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    int lane = std::countr_zero(left);
    own[lane] = joined;
    ++own[lane][lane];
  }
}

uint32_t Checker::clockOf(uint32_t thread) const {
  uint32_t lane = thread % SINTER_EMU_WARP;
  return clocks.empty() ? 1 : clocks[thread / SINTER_EMU_WARP][lane][lane];
}

bool Checker::races(const Stamp &before, const Stamp &now) const {
  if (!before.set || before.epoch != now.epoch || before.thread == now.thread ||
      (before.atomic && now.atomic))
    return false;
  if (before.thread / SINTER_EMU_WARP != now.thread / SINTER_EMU_WARP || clocks.empty())
    return true;
  uint32_t seen = clocks[now.thread / SINTER_EMU_WARP][now.thread % SINTER_EMU_WARP]
                        [before.thread % SINTER_EMU_WARP];
  return seen < before.clock;
}

/// Keeps two reads, of different warps if there are any: a barrier of the warp orders those of one.
void Checker::keepRead(Cell &cell, const Stamp &now) const {
  for (Stamp &kept : cell.reads)
    if (!kept.set || kept.epoch != now.epoch || kept.thread == now.thread) {
      kept = now;
      return;
    }
  uint32_t warp = now.thread / SINTER_EMU_WARP;
  if (cell.reads[0].thread / SINTER_EMU_WARP == cell.reads[1].thread / SINTER_EMU_WARP &&
      cell.reads[0].thread / SINTER_EMU_WARP != warp)
    cell.reads[1] = now;
}

bool Checker::touch(Cell &cell, const Stamp &now, bool reads, bool writes, Stamp &other) const {
  bool found = false;
  if (races(cell.write, now)) {
    other = cell.write;
    found = true;
  }
  if (writes)
    for (const Stamp &read : cell.reads)
      if (!found && races(read, now)) {
        other = read;
        found = true;
      }
  if (writes)
    cell.write = now;
  else if (reads)
    keepRead(cell, now);
  return found;
}

Checker::Cell &Checker::globalCell(uint64_t key) {
  if (2 * globalUsed >= globalCells.size())
    grow();
  size_t mask = globalCells.size() - 1;
  for (size_t at = size_t(key * 0x9E3779B97F4A7C15u >> 32) & mask;; at = (at + 1) & mask) {
    GlobalCell &slot = globalCells[at];
    if (slot.cell.block == block && slot.key != key)
      continue;
    if (slot.cell.block != block) {
      slot = {key, {}};
      slot.cell.block = block;
      ++globalUsed;
    }
    return slot.cell;
  }
}

void Checker::grow() {
  std::vector<GlobalCell> old(globalCells.size() * 2);
  old.swap(globalCells);
  globalUsed = 0;
  for (const GlobalCell &slot : old)
    if (slot.cell.block == block)
      globalCell(slot.key) = slot.cell;
}

void Checker::access(const sinter_emu_thread &thread, const Place &place, uint32_t site) {
  const sinter_emu_site &kind = launch.kernel.sites[site];
  bool reads = kind.flags & SINTER_EMU_READS, writes = kind.flags & SINTER_EMU_WRITES;
  Stamp now{epoch, clockOf(thread.index),
            site,  uint16_t(thread.index),
            true,  bool(kind.flags & SINTER_EMU_ATOMICALLY)};
  bool shared = place.space == SINTER_EMU_SPACE_SHARED;
  uint32_t granule = shared ? sharedGranule : globalGranule;
  bool reported = false, unwritten = false;
  for (uint64_t offset = place.offset; offset < place.offset + kind.bytes; offset += granule) {
    uint64_t number = offset / granule;
    Cell &cell =
        shared ? sharedCells[number] : globalCell(uint64_t(place.allocation) << 44 | number);
    if (cell.block != block) {
      cell = {};
      cell.block = block;
    }
    if (shared && reads && !cell.write.set && !unwritten) {
      unwritten = true;
      launch.findings.add(Fault::Uninitialised, thread, site, [&] {
        return concat(describeAccess(kind), " at ", offset,
                      " of shared memory, which the block has not written");
      });
    }
    Stamp other;
    if (touch(cell, now, reads, writes, other) && !reported) {
      reported = true;
      reportRace(thread, place, offset, site, other);
    }
  }
}

void Checker::reportRace(const sinter_emu_thread &thread, const Place &place, uint64_t offset,
                         uint32_t site, const Stamp &other) {
  launch.findings.add(Fault::Race, thread, site, [&] {
    const sinter_emu_site &kind = launch.kernel.sites[site],
                          &before = launch.kernel.sites[other.site];
    std::string where = "shared memory";
    if (place.space != SINTER_EMU_SPACE_SHARED)
      where = "'" + launch.ownerOf(place.allocation) + "'";
    return concat(describeAccess(kind), " at ", offset, " of ", where, " which thread ",
                  coordinates(other.thread, thread.block->ntid),
                  before.flags & SINTER_EMU_WRITES ? " wrote at " : " read at ",
                  placeOf(launch.kernel, other.site), " with no barrier between");
  });
}

} // namespace sinter::rt::emu
