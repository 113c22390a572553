// Placement of buffers with known lifetimes in one arena, and the report of who
// owns its bytes. Pure functions, deterministic, callable from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::rt {

/// Bytes that must survive commands `firstUse` to `lastUse`, both included.
struct Interval {
  int64_t bytes = 0; ///< >= 0
  int32_t firstUse = 0, lastUse = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets; ///< one an interval, multiples of 64
  int64_t peak = 0;             ///< bytes the arena must have
};

/// Intervals that are alive together never overlap. Greedy best fit, the largest
/// first or the longest-lived first, whichever needs less.
ArenaPlan planArena(std::span<const Interval> intervals);

/// The largest sum of bytes alive at one command: no plan can need less.
int64_t lowerBound(std::span<const Interval> intervals);

/// A table of the plan: peak, lower bound, and every buffer alive at the fullest
/// command, the largest first. `owners`: one name an interval.
std::string describeArena(std::span<const Interval> intervals, const ArenaPlan &plan,
                          std::span<const std::string_view> owners);

} // namespace sinter::rt
