// Where elements lie in the world: parts of arrays, and arrays in another format.
#include "format/position.hpp"

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "format/zarr/zarr.hpp"

namespace penstock {
namespace {

Dataset volume() {
  Dataset d;
  d.shape = {20, 30, 40};
  d.dims = {{"x", "mm", 2.0, {}}, {"y", "mm", 3.0, 100.0}, {}};
  d.world_from_voxel = Affine{{-2, 0.5, 0, 7, 0.5, 3, 0.25, -3, 0, -0.25, 4, 11}};
  d.attributes = R"({"spatial:transform":[30.0,0.0,500000.0,0.0,-20.0,4600000.0],"kept":1})";
  return d;
}

std::array<double, 3> world(const Affine& m, const std::array<double, 3>& at) {
  std::array<double, 3> out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = m.rows[4 * i] * at[0] + m.rows[4 * i + 1] * at[1] + m.rows[4 * i + 2] * at[2] + m.rows[4 * i + 3];
  return out;
}

/// The middle of a pixel on the ground.
std::array<double, 2> ground(const Json& t, double row, double column) {
  const auto at = [&](std::size_t i) { return t[i].get<double>(); };
  return {at(2) + at(0) * (column + 0.5) + at(1) * (row + 0.5), at(5) + at(3) * (column + 0.5) + at(4) * (row + 0.5)};
}

TEST(Position, AnElementOfAPartIsWhereItWas) {
  const Region part{{2, 6, 3}, {25, 20, -1}, {4, 9, 2}};
  const Dataset before = volume();
  Dataset after = volume();
  ASSERT_TRUE(move_position(after, part));
  const Json then = parse_json(before.attributes).value(), now = parse_json(after.attributes).value();
  for (const double i : {0.0, 1.0, 5.0}) {
    EXPECT_EQ(world(*after.world_from_voxel, {i, i, i}),
              world(*before.world_from_voxel, {2 + 3 * i, 25 - i, 4 + 2 * i}));
    EXPECT_EQ(ground(now["spatial:transform"], i, i), ground(then["spatial:transform"], 25 - i, 4 + 2 * i));
  }
  EXPECT_EQ(now["kept"], 1);
  EXPECT_EQ(after.dims[0].scale, 6.0);
  EXPECT_FALSE(after.dims[0].offset);  // it was not said
  EXPECT_EQ(after.dims[1].scale, -3.0);
  EXPECT_EQ(after.dims[1].offset, 175.0);
}

TEST(Position, TheWholeKeepsItsAttributesToTheByte) {
  Dataset d = volume();
  d.attributes = R"({ "spatial:transform" : [1,2,3,4,5,6e0] })";
  const std::string text = d.attributes;
  ASSERT_TRUE(move_position(d, Region{{0, 20, 1}, {0, 30, 1}, {0, 40, 1}}));
  EXPECT_EQ(d.attributes, text);
  EXPECT_EQ(d.world_from_voxel, volume().world_from_voxel);
}

TEST(Position, IsNotGuessedOnceItIsLost) {
  Dataset d = volume();
  d.attributes = R"({"kept":1,"spatial:transform":[1,2,3,4,5,6],"raster":{"gcps":[[1,2,3,4,5]],"tags":{}}})";
  ASSERT_TRUE(forget_position(d));
  EXPECT_FALSE(d.world_from_voxel);
  EXPECT_FALSE(d.dims[0].scale);
  EXPECT_FALSE(d.dims[1].offset);
  EXPECT_EQ(parse_json(d.attributes).value(), (Json{{"kept", 1}, {"raster", {{"tags", Json::object()}}}}));
}

TEST(Position, GoesIntoZarrAndIsMovedThere) {
  Dataset d = volume();
  d.format = {"nifti", 1};
  Dataset zarr = as_zarr(d, {}).value();
  const Json rows = {{-2.0, 0.5, 0.0, 7.0}, {0.5, 3.0, 0.25, -3.0}, {0.0, -0.25, 4.0, 11.0}};
  EXPECT_EQ(parse_json(zarr.attributes).value()["world_from_voxel"], rows);
  ASSERT_TRUE(move_position(zarr, Region{{1, 5, 1}, {2, 5, 1}, {3, 5, 1}}));
  Affine moved;
  const Json now = parse_json(zarr.attributes).value()["world_from_voxel"];
  for (std::size_t i = 0; i < 12; ++i) moved.rows[i] = now[i / 4][i % 4].get<double>();
  EXPECT_EQ(world(moved, {0, 0, 0}), world(*d.world_from_voxel, {1, 2, 3}));
}

TEST(Position, AttributesOfAnotherFormAreLeftAlone) {
  for (const char* text : {R"({"spatial:transform":[1,2,3]})", R"({"spatial:transform":["a",2,3,4,5,6]})",
                           R"({"world_from_voxel":[[1,2],[3,4],[5,6]]})", R"({"world_from_voxel":7})"}) {
    Dataset d = volume();
    d.attributes = text;
    ASSERT_TRUE(move_position(d, Region{{1, 5, 1}, {2, 5, 1}, {3, 5, 1}}));
    EXPECT_EQ(d.attributes, text);
  }
}

}  // namespace
}  // namespace penstock
