#include <gtest/gtest.h>

#include "core/selection.hpp"
#include "penstock/region.hpp"

using namespace penstock;

namespace {
const Shape kShape = {10, 20, 30};
Range one(const char* text) { return parse_region(text, Shape{10}).value().at(0); }
}  // namespace

TEST(Region, KnowsWhichDimensionsNumpyDrops) {
  const std::uint64_t shape[] = {5, 6, 7};
  const auto kept = [&](const char* text) { return parse_selection(text, shape).value().shape(); };
  EXPECT_EQ(kept("..."), (Shape{5, 6, 7}));
  EXPECT_EQ(kept(""), (Shape{5, 6, 7}));
  EXPECT_EQ(kept("2"), (Shape{6, 7}));
  EXPECT_EQ(kept("2:3"), (Shape{1, 6, 7}));
  EXPECT_EQ(kept("...,-1"), (Shape{5, 6}));
  EXPECT_EQ(kept("1,...,2:4"), (Shape{6, 2}));
  EXPECT_EQ(kept("4,5,6"), Shape{});
  EXPECT_EQ(parse_selection("1,...,2:4", shape).value().region, parse_region("1,...,2:4", shape).value());
  EXPECT_EQ(parse_selection("5", shape).error().code(), ErrorCode::out_of_range);
}

TEST(Region, ParsesAsNumpySlices) {
  EXPECT_EQ(one("2:5"), (Range{2, 3, 1}));
  EXPECT_EQ(one(":"), (Range{0, 10, 1}));
  EXPECT_EQ(one("-3:"), (Range{7, 3, 1}));
  EXPECT_EQ(one("::2"), (Range{0, 5, 2}));
  EXPECT_EQ(one("1:100:4"), (Range{1, 3, 4}));
  EXPECT_EQ(one("::-1"), (Range{9, 10, -1}));
  EXPECT_EQ(one("8:2:-3"), (Range{8, 2, -3}));
  EXPECT_EQ(one("5:5").count, 0u);
  EXPECT_EQ(one("-1"), (Range{9, 1, 1}));
  const Region r = parse_region("1, ..., 2:4", kShape).value();
  EXPECT_EQ(r, (Region{{1, 1, 1}, {0, 20, 1}, {2, 2, 1}}));
  EXPECT_EQ(parse_region("", kShape).value(), whole(kShape));
}

TEST(Region, RefusesWhatIsNoRange) {
  for (const char* bad : {"a", "1:2:0", "1:2:3:4", "...,...", "1.5", "--1"})
    EXPECT_EQ(parse_region(bad, kShape).error().code(), ErrorCode::invalid_argument) << bad;
  for (const char* bad : {"10", "-11", "1,2,3,4"})
    EXPECT_EQ(parse_region(bad, kShape).error().code(), ErrorCode::out_of_range) << bad;
}

TEST(Region, BoundsAreCheckedWithoutOverflow) {
  const Shape shape = {~std::uint64_t{0}};
  EXPECT_TRUE(check_region({{0, ~std::uint64_t{0}, 1}}, shape));
  EXPECT_FALSE(check_region({{1, ~std::uint64_t{0}, 1}}, shape));
  EXPECT_FALSE(check_region({{0, 3, INT64_MAX}}, Shape{100}));
  EXPECT_FALSE(check_region({{5, 7, -1}}, Shape{10}));
  EXPECT_TRUE(check_region({{5, 6, -1}}, Shape{10}));
  EXPECT_FALSE(check_region({{0, 1, 1}}, kShape));
}

TEST(Region, CountsReportOverflow) {
  EXPECT_EQ(element_count(Shape{}).value(), 1u);
  EXPECT_EQ(element_count(Shape{0, ~std::uint64_t{0}, ~std::uint64_t{0}}).value(), 0u);
  EXPECT_FALSE(element_count(Shape{std::uint64_t{1} << 33, std::uint64_t{1} << 33}));
  EXPECT_EQ(c_strides(Shape{2, 3, 4}, 2).value(), (Strides{24, 8, 2}));
  EXPECT_FALSE(c_strides(Shape{2, std::uint64_t{1} << 62, 4}, 2));
}
