#include <gtest/gtest.h>
#include <algorithm>

#include <cstring>

#include "codec/strided.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// The definition: one element at a time.
void copy_slowly(std::byte* to, const Strides& ts, const std::byte* from, const Strides& fs, const Shape& shape,
                 std::size_t item) {
  std::uint64_t count = 1;
  for (const auto extent : shape) count *= extent;
  for (std::uint64_t n = 0; n < count; ++n) {
    std::int64_t t = 0;
    std::int64_t f = 0;
    std::uint64_t rest = n;
    for (std::size_t d = shape.size(); d-- > 0;) {
      t += static_cast<std::int64_t>(rest % shape[d]) * ts[d];
      f += static_cast<std::int64_t>(rest % shape[d]) * fs[d];
      rest /= shape[d];
    }
    std::memcpy(to + t, from + f, item);
  }
}

TEST(CopyStrided, EveryAxisOrderOfManyShapes) {
  const std::vector<Shape> shapes = {{}, {1}, {7}, {3, 40}, {70, 33}, {5, 1, 9}, {4, 33, 37}, {2, 3, 4, 5}, {0, 4}};
  for (const Shape& shape : shapes) {
    for (const std::size_t item : {1UL, 2UL, 3UL, 4UL, 8UL, 16UL, 24UL}) {
      const Strides from_strides = c_strides(shape, item).value();
      const std::size_t size = element_count(shape).value() * item;
      const auto from = test::image_bytes(size);
      std::vector<std::size_t> order(shape.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      do {
        Shape permuted;
        for (const auto axis : order) permuted.push_back(shape[axis]);
        const Strides strides = c_strides(permuted, item).value();
        Strides to_strides(shape.size());
        for (std::size_t i = 0; i < order.size(); ++i) to_strides[order[i]] = strides[i];
        std::vector<std::byte> expected(size, std::byte{0xaa});
        std::vector<std::byte> found(size, std::byte{0xaa});
        copy_slowly(expected.data(), to_strides, from.data(), from_strides, shape, item);
        copy_strided(found.data(), to_strides, from.data(), from_strides, shape, item);
        ASSERT_EQ(expected, found) << to_string(shape) << " item " << item;
        copy_slowly(expected.data(), from_strides, from.data(), to_strides, shape, item);
        copy_strided(found.data(), from_strides, from.data(), to_strides, shape, item);
        ASSERT_EQ(expected, found) << to_string(shape) << " item " << item << " back";
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(CopyStrided, NegativeStridesAndGaps) {
  const auto from = test::image_bytes(4000);
  std::vector<std::byte> expected(4000, std::byte{0});
  auto found = expected;
  const Shape shape = {10, 9};
  copy_slowly(expected.data() + 3000, {-200, 8}, from.data() + 100, {16, 160}, shape, 4);
  copy_strided(found.data() + 3000, Strides{-200, 8}, from.data() + 100, Strides{16, 160}, shape, 4);
  EXPECT_EQ(expected, found);
}

}  // namespace
}  // namespace penstock
