#include "sinter/core/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace sinter::rt {
namespace {

void expectSound(const std::vector<Interval> &intervals, const ArenaPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    const Interval &a = intervals[i];
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_LE(plan.offsets[i] + a.bytes, plan.peak);
    for (size_t j = 0; j < i; ++j) {
      const Interval &b = intervals[j];
      bool together = a.firstUse <= b.lastUse && b.firstUse <= a.lastUse;
      bool disjoint = plan.offsets[i] + a.bytes <= plan.offsets[j] ||
                      plan.offsets[j] + b.bytes <= plan.offsets[i];
      EXPECT_TRUE(!together || disjoint || a.bytes == 0 || b.bytes == 0) << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, DeadBuffersGiveTheirBytesAway) {
  std::vector<Interval> chain = {{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  ArenaPlan plan = planArena(chain);
  expectSound(chain, plan);
  EXPECT_EQ(plan.peak, 2048);
  EXPECT_EQ(lowerBound(chain), 2048);
}

TEST(MemoryPlan, TakesTheSmallestGapThatFits) {
  // The last one fits the gap of 128 left by b and that of 256 left by d.
  std::vector<Interval> intervals = {{1024, 0, 9}, {128, 0, 0}, {512, 0, 9},
                                     {256, 0, 0},  {320, 0, 9}, {64, 5, 6}};
  ArenaPlan plan = planArena(intervals);
  expectSound(intervals, plan);
  EXPECT_EQ(plan.peak, lowerBound(intervals));
}

TEST(MemoryPlan, EmptyAndZeroSized) {
  EXPECT_EQ(planArena({}).peak, 0);
  std::vector<Interval> nothing = {{0, 0, 5}, {1, 0, 5}};
  ArenaPlan plan = planArena(nothing);
  EXPECT_EQ(plan.peak, 64);
}

TEST(MemoryPlan, RandomPlansAreSoundCloseToTheBoundAndRepeatable) {
  std::mt19937 random(3);
  double worst = 1, sum = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> intervals(1 + random() % 200);
    for (Interval &interval : intervals) {
      interval.firstUse = int32_t(random() % 100);
      interval.lastUse = interval.firstUse + int32_t(random() % 10);
      interval.bytes = int64_t(1) << (random() % 20);
    }
    ArenaPlan plan = planArena(intervals);
    expectSound(intervals, plan);
    EXPECT_EQ(planArena(intervals).offsets, plan.offsets);
    double ratio = double(plan.peak) / double(lowerBound(intervals));
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(worst, 1.3);
  EXPECT_LT(sum / 50, 1.06);
}

TEST(MemoryPlan, ReportListsTheOwnersAtThePeak) {
  std::vector<Interval> intervals = {{100, 0, 1}, {5000, 1, 2}, {70, 4, 5}};
  std::vector<std::string_view> owners = {"small", "big", "late"};
  std::string report = describeArena(intervals, planArena(intervals), owners);
  EXPECT_NE(report.find("fullest at command 1"), std::string::npos) << report;
  EXPECT_LT(report.find("big"), report.find("small"));
  EXPECT_EQ(report.find("late"), std::string::npos);
}

} // namespace
} // namespace sinter::rt
