// Arrays without elements: everything that can be done with an array ends, with nothing or with an error.
#include <gtest/gtest.h>

#include "array/device/read.hpp"
#include "array/device/write.hpp"
#include "array/model.hpp"
#include "penstock/copy.hpp"
#include "penstock/ops.hpp"
#include "penstock/pyramid.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

/// Shapes with an extent of 0 at every place, and their chunks.
const std::vector<std::pair<Shape, Shape>> kShapes = {{{0}, {4}},       {{0, 8}, {4, 4}},       {{8, 0}, {4, 4}},
                                                      {{0, 0}, {4, 4}}, {{8, 0, 8}, {4, 4, 4}}, {{0, 0, 0}, {4, 4, 4}}};

CodecSpec shards(std::size_t rank) {
  std::string inner = "[2";
  for (std::size_t d = 1; d < rank; ++d) inner += ",2";
  return sharding(inner + "]");
}

}  // namespace

TEST(NoElements, EveryOperationEnds) {
  for (const auto& [shape, chunks] : kShapes)
    for (const bool sharded : {false, true})
      for (const std::uint64_t n : {1, 4}) {
        SCOPED_TRACE(to_string(shape) + (sharded ? ", shards" : ""));
        const Dataset d =
            dataset(shape, chunks,
                    sharded ? std::vector<CodecSpec>{shards(shape.size())} : std::vector<CodecSpec>{bytes_codec()});
        const auto store = memory();
        Array array = Array::create(store, "a", d, Array::IfExists::fail).value();
        std::byte nothing{};
        Target target;
        target.data = &nothing;
        const Region all = whole(shape);
        EXPECT_TRUE(array.read(all, target, threads(n)));
        EXPECT_TRUE(read_device({{ReadItem{&array, all, target}}}, threads(n)));
        EXPECT_TRUE(array.write(all, target, threads(n)));
        EXPECT_TRUE(write_from_device(array, all, target, threads(n), 4096));
        EXPECT_TRUE(array.verify(threads(n)));
        EXPECT_TRUE(array.plan(all, {}, threads(n)));
        EXPECT_EQ(store->list("a").value(), std::vector<std::string>{"a/zarr.json"}) << "nothing was stored";
        EXPECT_TRUE(copy(array, store, "b", {}, Array::IfExists::fail, Resume::no, threads(n)));
        EXPECT_EQ(Array::open(store, "b").value().dataset().shape, shape);
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
          const std::size_t axes[] = {axis};
          const auto projected = reduce_array(array, "maximum", axes, {}, threads(n));
          if (!projected) {
            EXPECT_EQ(projected.error().code(), ErrorCode::invalid_argument);
          }
        }
        PyramidOptions levels;
        levels.levels = 3;
        const auto pyramid = write_pyramid(array, store, "p", levels, Array::IfExists::fail, threads(n));
        if (!pyramid) {
          EXPECT_EQ(pyramid.error().code(), ErrorCode::invalid_argument) << pyramid.error().message();
        }
      }
}

TEST(NoElements, AnArrayThatLosesAllAndGrowsAgainHoldsFillValues) {
  const auto store = memory();
  const Dataset d = dataset({8, 8}, {4, 4});
  Array array = Array::create(store, "", d, Array::IfExists::fail).value();
  std::mt19937_64 random(1);
  ASSERT_TRUE(test::write(array, whole(Shape{8, 8}), random_values(whole(Shape{8, 8}), 2, random)));
  ASSERT_TRUE(array.resize({0, 8}));
  EXPECT_EQ(store->list("").value(), std::vector<std::string>{"zarr.json"});
  ASSERT_TRUE(array.resize({8, 8}));
  EXPECT_EQ(test::read(array, whole(Shape{8, 8})).value(), Model(d).data);
}
