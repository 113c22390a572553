#include "sinter/emu/counts.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <iomanip>

namespace sinter::rt {
namespace {

/// Lanes of a multiprocessor by class. Shared and global accesses share the load/store units, one
/// instruction of a warp a clock; 4 schedulers issue one instruction of a warp each a clock.
constexpr std::array<double, SINTER_EMU_CLASSES> lanesOf(double fp32, double fp64, double fp16) {
  std::array<double, SINTER_EMU_CLASSES> lanes = {};
  lanes.fill(128);
  lanes[SINTER_EMU_FP32] = fp32;
  lanes[SINTER_EMU_FP64] = fp64;
  lanes[SINTER_EMU_FP16] = fp16;
  lanes[SINTER_EMU_INTEGER] = 64;
  lanes[SINTER_EMU_CONVERT] = 64;
  lanes[SINTER_EMU_SPECIAL] = 16;
  for (int access :
       {SINTER_EMU_GLOBAL_LOAD, SINTER_EMU_GLOBAL_STORE, SINTER_EMU_SHARED_LOAD,
        SINTER_EMU_SHARED_STORE, SINTER_EMU_LOCAL, SINTER_EMU_ATOMIC, SINTER_EMU_WARP_OP})
    lanes[access] = 32;
  return lanes;
}

// Where the numbers come from is told in docs/emulator.md.
constexpr double kLaunchSeconds = 2e-6;
constexpr Card kCards[] = {
    {"h200", 4.8e12, 5120 * 1.98e9, uint64_t(50) << 20, 132, 1.98e9, lanesOf(128, 64, 256),
     kLaunchSeconds},
    {"a100", 2.039e12, 5120 * 1.41e9, uint64_t(40) << 20, 108, 1.41e9, lanesOf(64, 32, 256),
     kLaunchSeconds},
};
constexpr double kIssuedLanes = 128;

} // namespace

std::span<const Card> allCards() { return kCards; }

const Card *findCard(std::string_view name) {
  auto found = std::find_if(std::begin(kCards), std::end(kCards),
                            [&](const Card &card) { return card.name == name; });
  return found == std::end(kCards) ? nullptr : found;
}

double KernelCounts::sectorEfficiency() const {
  uint64_t moved = bytesMoved();
  return moved ? double(read.requestedBytes + written.requestedBytes) / double(moved) : 1;
}

double KernelCounts::bytesOverMinimum() const {
  uint64_t distinct = read.distinctBytes + written.distinctBytes;
  return distinct ? double(bytesFetched()) / double(distinct) : 1;
}

Roofline roofline(const KernelCounts &counts, const Card &card) {
  Roofline result;
  uint64_t footprint = 32 * (counts.read.distinctSectors + counts.written.distinctSectors);
  uint64_t moved = counts.bytesMoved(), fetched = counts.bytesFetched();
  // What fits the cache comes from memory once; what does not comes every time.
  bool fits = footprint <= card.cacheBytes * std::max<uint64_t>(counts.launches, 1);
  result.memorySeconds =
      double(fits ? std::min(footprint, fetched) : fetched) / card.memoryBandwidth;
  result.cacheSeconds = double(moved) / card.cacheBandwidth;
  double perSecond = card.multiprocessors * card.clock;
  uint64_t all = 0;
  for (int i = 0; i < SINTER_EMU_CLASSES; ++i) {
    all += counts.instructions[i];
    result.computeSeconds = std::max(result.computeSeconds,
                                     double(counts.instructions[i]) / (card.lanes[i] * perSecond));
  }
  // A pass over shared memory takes its unit a clock.
  uint64_t sharedLanes = counts.instructions[SINTER_EMU_SHARED_LOAD] +
                         counts.instructions[SINTER_EMU_SHARED_STORE] +
                         SINTER_EMU_WARP * counts.bankConflicts;
  result.computeSeconds =
      std::max({result.computeSeconds,
                double(sharedLanes) / (card.lanes[SINTER_EMU_SHARED_LOAD] * perSecond),
                double(all) / (kIssuedLanes * perSecond)});
  result.seconds = std::max({result.memorySeconds, result.cacheSeconds, result.computeSeconds}) +
                   double(counts.launches) * card.launchSeconds;
  return result;
}

std::string formatCounts(std::span<const KernelCounts> counts, const Card &card) {
  std::ostringstream table;
  size_t width = 6;
  for (const KernelCounts &kernel : counts)
    width = std::max(width, kernel.kernel.size());
  table << std::left << std::setw(int(width)) << "kernel" << std::right
        << "  launches         moved  over min  efficiency  conflicts  us on " << card.name << '\n';
  table << std::fixed;
  for (const KernelCounts &kernel : counts)
    table << std::left << std::setw(int(width)) << kernel.kernel << std::right << std::setw(10)
          << kernel.launches << std::setw(14) << formatBytes(int64_t(kernel.bytesMoved()))
          << std::setprecision(3) << std::setw(10) << kernel.bytesOverMinimum() << std::setw(12)
          << kernel.sectorEfficiency() << std::setw(11) << kernel.bankConflicts
          << std::setprecision(1) << std::setw(int(7 + card.name.size()))
          << roofline(kernel, card).seconds * 1e6 << '\n';
  return std::move(table).str();
}

} // namespace sinter::rt
