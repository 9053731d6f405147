#include <gtest/gtest.h>

#include <random>

#include "array/blocks.hpp"
#include "array/grid.hpp"

using namespace penstock;

namespace {

/// Every element of the range is in exactly one segment, at its place, and no segment is empty.
void expect_exact(const Range& range, std::uint64_t chunk) {
  const DimPartition cut(range, chunk);
  std::uint64_t next = 0;
  for (std::uint64_t k = 0; k < cut.size(); ++k) {
    const ChunkSlice s = cut[k];
    ASSERT_GT(s.count, 0u);
    ASSERT_EQ(s.out_start, next);
    for (std::uint64_t j = 0; j < s.count; ++j) {
      const auto local = static_cast<std::int64_t>(s.local_start) + static_cast<std::int64_t>(j) * s.step;
      ASSERT_GE(local, 0);
      ASSERT_LT(local, static_cast<std::int64_t>(chunk));
      const auto global = static_cast<std::int64_t>(s.chunk * chunk) + local;
      ASSERT_EQ(global, static_cast<std::int64_t>(range.start) + static_cast<std::int64_t>(next + j) * range.step)
          << range.start << " " << range.count << " " << range.step << " chunk " << chunk;
    }
    next += s.count;
  }
  ASSERT_EQ(next, range.count);
}

}  // namespace

TEST(DimPartition, TouchesEachElementOnce) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t chunk = random() % 9 + 1, extent = random() % 60 + 1;
    Range r;
    r.start = random() % extent;
    r.step = static_cast<std::int64_t>(random() % 12 + 1) * (random() % 2 ? 1 : -1);
    const std::uint64_t room = r.step > 0 ? extent - 1 - r.start : r.start;
    r.count = random() % (room / static_cast<std::uint64_t>(std::abs(r.step)) + 2);
    expect_exact(r, chunk);
  }
}

TEST(DimPartition, WorksAtTheEndOfTheNumbers) {
  const std::uint64_t last = ~std::uint64_t{0} - 1;
  const DimPartition up({last - 10, 3, 5}, 4);
  EXPECT_EQ(up.size(), 3u);
  const DimPartition down({last, 3, -5}, std::uint64_t{1} << 40);
  EXPECT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].count, 3u);
}

TEST(GridPartition, ReportsTooManyPieces) {
  const std::uint64_t n = std::uint64_t{1} << 40;
  EXPECT_FALSE(GridPartition::make({{0, n, 1}, {0, n, 1}}, Shape{1, 1}));
  EXPECT_EQ(GridPartition::make({{0, n, 1}, {0, 0, 1}}, Shape{1, 1}).value().size(), 0u);
  EXPECT_EQ(GridPartition::make({}, Shape{}).value().size(), 1u) << "rank 0 has one element";
}

TEST(BlockWalk, CoversTheArrayInWholeObjects) {
  const Shape array = {37, 20, 11}, object = {4, 4, 4};
  for (const std::uint64_t most : {1u, 100u, 500u, 5000u, 1000000u}) {
    const BlockWalk walk(array, object, {1, 16, 16}, most);
    std::vector<int> seen(37 * 20 * 11);
    for (std::uint64_t i = 0; i < walk.size(); ++i) {
      const Region r = walk[i];
      for (std::size_t d = 0; d < 3; ++d) {
        EXPECT_EQ(r[d].start % object[d], 0u);
        EXPECT_TRUE(r[d].count % object[d] == 0 || r[d].start + r[d].count == array[d]);
      }
      for (std::uint64_t z = 0; z < r[0].count; ++z)
        for (std::uint64_t y = 0; y < r[1].count; ++y)
          for (std::uint64_t x = 0; x < r[2].count; ++x)
            ++seen[((r[0].start + z) * 20 + r[1].start + y) * 11 + r[2].start + x];
    }
    for (const int n : seen) ASSERT_EQ(n, 1);
  }
  EXPECT_EQ(BlockWalk(array, object, object, 1000000).size(), 1u);
  EXPECT_EQ(BlockWalk({0, 5}, {4, 4}, {4, 4}, 100).size(), 0u);
}
