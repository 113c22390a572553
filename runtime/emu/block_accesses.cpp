#include "block_accesses.h"

#include "sinter/base/text.h"

namespace sinter::rt::emu {

bool canRace(const Launch &launch) {
  for (uint32_t i = 0; i < launch.kernel.site_count; ++i) {
    const sinter_emu_site &site = launch.kernel.sites[i];
    if (site.bytes != 0 && site.space != SINTER_EMU_SPACE_SHARED &&
        (site.flags & SINTER_EMU_ATOMICALLY))
      return false;
  }
  return launch.blocks() > 1;
}

BlockAccesses::BlockAccesses(const Launch &launch, uint32_t granule)
    : launch(launch), granule(granule),
      allocations(new ChunkedArray<Cell>[launch.allocations->size()]) {
  for (size_t i = 0; i < launch.allocations->size(); ++i)
    allocations[i].setSize((*launch.allocations)[i].bytes / granule + 1);
}

static void raise(std::atomic<uint64_t> &most, uint64_t value) {
  uint64_t known = most.load(std::memory_order_relaxed);
  while (known < value && !most.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

void BlockAccesses::Extremes::note(uint64_t value) {
  raise(last, value);
  raise(first, ~value);
}

void BlockAccesses::note(bool write, uint32_t allocation, uint64_t offset, uint32_t bytes,
                         uint64_t block, uint32_t site) {
  uint64_t value = (block + 1) << 16 | (site & 0xffff);
  for (uint64_t at = offset / granule; at < (offset + bytes) / granule; ++at) {
    Cell &cell = allocations[allocation][at];
    (write ? cell.writes : cell.reads).note(value);
  }
}

void BlockAccesses::report() const {
  const uint32_t *grid = launch.shape.grid.data();
  const uint32_t extent[3] = {grid[0], grid[1], grid[2]};
  for (size_t i = 0; i < launch.allocations->size(); ++i)
    allocations[i].forEach([&](uint64_t index, const Cell &cell) {
      uint64_t writer = cell.writes.last.load();
      if (writer == 0)
        return;
      uint64_t other = 0;
      for (uint64_t candidate :
           {~cell.reads.first.load(), cell.reads.last.load(), ~cell.writes.first.load()})
        if (candidate != 0 && candidate != ~uint64_t(0) && candidate >> 16 != writer >> 16)
          other = candidate;
      if (other == 0)
        return;
      uint32_t site = writer & 0xffff, otherSite = other & 0xffff;
      launch.findings.add(Fault::BlockRace, site, [&] {
        bool writes = launch.kernel.sites[otherSite].flags & SINTER_EMU_WRITES;
        return concat("block ", coordinates((writer >> 16) - 1, extent), " writes ",
                      index * granule, " of '", launch.ownerOf(uint32_t(i)), "', which block ",
                      coordinates((other >> 16) - 1, extent), writes ? " writes" : " reads", " at ",
                      placeOf(launch.kernel, otherSite));
      });
    });
}

} // namespace sinter::rt::emu
