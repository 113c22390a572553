#include "sinter/core/memory_plan.h"

#include "sinter/base/text.h"
#include "sinter/core/memory.h"

#include <algorithm>
#include <iomanip>
#include <numeric>

namespace sinter::rt {
namespace {

bool overlap(const Interval &a, const Interval &b) {
  return a.firstUse <= b.lastUse && b.firstUse <= a.lastUse;
}

std::vector<size_t> largestFirst(std::span<const Interval> intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  return order;
}

/// The start of the smallest gap of at least `bytes` between the blocks, which
/// are sorted by offset; behind all of them if there is none.
int64_t bestGap(std::span<const std::pair<int64_t, int64_t>> blocks, int64_t bytes) {
  int64_t best = -1, bestSize = 0, end = 0;
  for (auto [offset, size] : blocks) {
    int64_t gap = offset - end;
    if (gap >= bytes && (best < 0 || gap < bestSize))
      best = end, bestSize = gap;
    end = std::max(end, offset + size);
  }
  return best < 0 ? end : best;
}

/// The command at which the most bytes are alive, and that sum.
std::pair<int32_t, int64_t> fullestCommand(std::span<const Interval> intervals) {
  std::vector<std::pair<int32_t, int64_t>> changes;
  for (const Interval &interval : intervals) {
    changes.emplace_back(interval.firstUse, alignUp(interval.bytes));
    changes.emplace_back(interval.lastUse + 1, -alignUp(interval.bytes));
  }
  std::sort(changes.begin(), changes.end()); // at one command, deaths sort before births
  std::pair<int32_t, int64_t> fullest{0, 0};
  int64_t alive = 0;
  for (auto [command, change] : changes)
    if ((alive += change) > fullest.second)
      fullest = {command, alive};
  return fullest;
}

/// Each into the smallest gap that holds it, between those placed before.
ArenaPlan placeInOrder(std::span<const Interval> intervals, const std::vector<size_t> &order) {
  ArenaPlan plan;
  plan.offsets.assign(intervals.size(), 0);
  std::vector<size_t> placed;                        // sorted by offset
  std::vector<std::pair<int64_t, int64_t>> blocking; // offset and size
  for (size_t i : order) {
    int64_t bytes = alignUp(intervals[i].bytes);
    if (bytes == 0)
      continue;
    blocking.clear();
    for (size_t other : placed)
      if (overlap(intervals[i], intervals[other]))
        blocking.emplace_back(plan.offsets[other], alignUp(intervals[other].bytes));
    plan.offsets[i] = bestGap(blocking, bytes);
    plan.peak = std::max(plan.peak, plan.offsets[i] + bytes);
    auto behind = std::upper_bound(placed.begin(), placed.end(), i, [&](size_t a, size_t b) {
      return plan.offsets[a] < plan.offsets[b];
    });
    placed.insert(behind, i);
  }
  return plan;
}

} // namespace

ArenaPlan planArena(std::span<const Interval> intervals) {
  auto lifetime = [](const Interval &interval) { return interval.lastUse - interval.firstUse; };
  ArenaPlan bySize = placeInOrder(intervals, largestFirst(intervals));
  if (bySize.peak == lowerBound(intervals))
    return bySize;
  // Long-lived buffers at one end leave larger gaps to the others.
  std::vector<size_t> longestFirst = largestFirst(intervals);
  std::stable_sort(longestFirst.begin(), longestFirst.end(), [&](size_t a, size_t b) {
    return lifetime(intervals[a]) > lifetime(intervals[b]);
  });
  ArenaPlan byLifetime = placeInOrder(intervals, longestFirst);
  return byLifetime.peak < bySize.peak ? byLifetime : bySize;
}

int64_t lowerBound(std::span<const Interval> intervals) { return fullestCommand(intervals).second; }

std::string describeArena(std::span<const Interval> intervals, const ArenaPlan &plan,
                          std::span<const std::string_view> owners) {
  auto [command, alive] = fullestCommand(intervals);
  std::ostringstream out;
  out << "arena " << formatBytes(plan.peak) << " (" << plan.peak << " B), fullest at command "
      << command << " with " << formatBytes(alive) << " alive:\n";
  for (size_t i : largestFirst(intervals)) {
    const Interval &interval = intervals[i];
    if (interval.bytes > 0 && interval.firstUse <= command && command <= interval.lastUse)
      out << "  " << std::setw(12) << interval.bytes << " B at " << std::setw(12) << plan.offsets[i]
          << "  commands " << interval.firstUse << ".." << interval.lastUse << "  " << owners[i]
          << "\n";
  }
  return out.str();
}

} // namespace sinter::rt
