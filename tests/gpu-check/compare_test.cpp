// What is within a bound and what is not, and how a failure reads.
#include "RunPack.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace sinter::gpucheck {
namespace {

std::string judge(const rt::Array &expected, const rt::Array &got, Bound bound, double &worst) {
  return compare({Expected::Of::Result, 0, "result 0", expected, bound}, got, worst);
}
std::string judge(const rt::Array &expected, const rt::Array &got, Bound bound = {}) {
  double worst = 0;
  return judge(expected, got, bound, worst);
}

TEST(Compare, BoundsAreRelativeToTheLargestMagnitude) {
  rt::Array expected = rt::Array::of({1.0, 4.0});
  rt::Array got = rt::Array::of({1.5, 4.0});
  EXPECT_EQ(judge(expected, got, {.relative = 0.5}), "");
  EXPECT_NE(judge(expected, got, {.relative = 0.49}), "");
  EXPECT_EQ(judge(expected, got, {.relative = 0.25, .floor = 2}), "");
  EXPECT_EQ(judge(expected, got, {.absolute = 0.5}), "");
  EXPECT_EQ(judge(expected, got, {.relative = 0.1, .scale = rt::Array::of({5.0, 0.0})}), "");
  EXPECT_NE(judge(expected, got, {.relative = 0.1, .scale = rt::Array::of({4.0, 9.0})}), "");
}

TEST(Compare, TellsTheWorstElement) {
  double worst = 0;
  std::string text =
      judge(rt::Array::of({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}),
            rt::Array::of({1.5f, 2.0f, 4.0f, 4.0f}, {2, 2}), {.absolute = 0.25}, worst);
  EXPECT_EQ(text, "result 0, element [1, 0] of f32[2, 2]: got 4, expected 3, bound 0.25 "
                  "(difference 1)");
  EXPECT_EQ(worst, 4);
}

TEST(Compare, NotFiniteIsNeverWithin) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Bound wide = {.relative = 1e9, .absolute = 1e9};
  rt::Array one = rt::Array::of({1.0}), nan = rt::Array::of({kNan}),
            infinity = rt::Array::of({double(INFINITY)});
  EXPECT_EQ(judge(nan, nan, wide), "");
  EXPECT_EQ(judge(infinity, infinity, wide), "");
  EXPECT_NE(judge(one, nan, wide), "");
  EXPECT_NE(judge(nan, one, wide), "");
  EXPECT_NE(judge(infinity, one, wide), "");
  EXPECT_NE(judge(infinity, rt::Array::of({-double(INFINITY)}), wide), "");
}

TEST(Compare, IntegersAndTypesMustBeEqual) {
  Bound wide = {.relative = 1e9, .absolute = 1e9};
  EXPECT_EQ(judge(rt::Array::of({7, 8}), rt::Array::of({7, 8})), "");
  EXPECT_EQ(judge(rt::Array::of({7, 8}), rt::Array::of({7, 9}), wide),
            "result 0, element [1] of i32[2]: got 9, expected 8, must be equal");
  EXPECT_NE(judge(rt::Array::of({7.0f}), rt::Array::of({7.0}), wide), "");
  EXPECT_NE(judge(rt::Array::of({7.0f}), rt::Array::of({7.0f}, {1, 1}), wide), "");
}

} // namespace
} // namespace sinter::gpucheck
