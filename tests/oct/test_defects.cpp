// Raw tiles and files that are not what they should be: an error that names the place, and nothing half written.
#include <gtest/gtest.h>

#include "folder.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/volume.hpp"

using namespace penstock;
using namespace penstock::oct_test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTile = "subject/raw/z00/tile_x01_y01_z00/";

void expect_error(const Result<OctResult>& result, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), code) << result.error().message();
  EXPECT_NE(result.error().message().find(part), std::string::npos) << result.error().message();
}

Result<OctResult> mosaic(const Folder& folder, const std::string& z = "00") {
  return run("mosaic", {folder / "subject/raw", folder / ("mosaic_grid_z" + z + ".ome.zarr")},
             {{"axial_resolution_um", "10"}});
}

/// A small volume of one value.
void write_volume(const std::string& path, const Shape& shape, const Shape& chunks, float value) {
  oct::VolumeSpec spec;
  spec.shape = shape;
  spec.chunks = chunks;
  spec.spacing_mm.assign(shape.size(), 0.01);
  auto made = oct::NewVolume::create(path, spec, false);
  ASSERT_TRUE(made) << made.error().message();
  const std::vector<float> values(element_count(shape).value(), value);
  ASSERT_TRUE(oct::write_block(made->array(), whole(shape), values, {}));
  ASSERT_TRUE(made->finish({}, {}));
}

}  // namespace

TEST(Defects, OfRawTilesAreNamed) {
  const Folder folder;
  simulate(folder, "1");
  const std::string info = folder.text(std::string(kTile) + "info.txt");
  const std::string samples = folder.text(std::string(kTile) + "image_00001.bin");
  ASSERT_FALSE(info.empty() || samples.empty());

  std::string changed = info;
  changed.replace(changed.find("n_extra"), 7, "nextra_");
  folder.write(std::string(kTile) + "info.txt", changed);
  expect_error(mosaic(folder), ErrorCode::corrupt_data, "tile_x01_y01_z00/info.txt: no 'n_extra'");
  changed = info;
  changed.replace(changed.find("nx: 64"), 6, "nx: 60");
  folder.write(std::string(kTile) + "info.txt", changed);
  expect_error(mosaic(folder), ErrorCode::invalid_metadata, "tile_x01_y01_z00 is of another size");
  fs::remove(folder / (std::string(kTile) + "info.txt"));
  expect_error(mosaic(folder), ErrorCode::not_found, "tile_x01_y01_z00/info.txt");
  folder.write(std::string(kTile) + "info.txt", info);

  folder.write(std::string(kTile) + "image_00001.bin", samples.substr(0, samples.size() - 4));
  expect_error(mosaic(folder), ErrorCode::corrupt_data, "tile_x01_y01_z00/image_00001.bin");
  folder.write(std::string(kTile) + "image_00001.bin", samples.substr(0, samples.size() / 2));
  expect_error(mosaic(folder), ErrorCode::corrupt_data, "tile_x01_y01_z00: 48 B-scans, info.txt says 64");
  fs::remove(folder / (std::string(kTile) + "image_00001.bin"));
  fs::remove(folder / (std::string(kTile) + "image_00000.bin"));
  expect_error(mosaic(folder), ErrorCode::not_found, "tile_x01_y01_z00");
  // What failed left nothing that opens.
  EXPECT_FALSE(oct::open_volume(folder / "mosaic_grid_z00.ome.zarr", 3));

  fs::remove_all(folder / kTile);
  const auto made = mosaic(folder);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(made->metrics.find("1 of 9 tiles are missing"), std::string::npos) << made->metrics;
  expect_error(mosaic(folder, "09"), ErrorCode::not_found, "no tiles of slice 9");
  expect_error(mosaic(folder), ErrorCode::already_exists, "mosaic_grid_z00.ome.zarr");
  fs::create_directories(folder / "subject/raw/again/tile_x00_y00_z00");
  expect_error(mosaic(folder, "00b"), ErrorCode::invalid_argument, "are the same tile");
  fs::create_directories(folder / "empty");
  expect_error(run("mosaic", {folder / "empty", folder / "mosaic_grid_z00.ome.zarr"}), ErrorCode::not_found, "tile_x");
  expect_error(run("mosaic", {folder / "nowhere", folder / "mosaic_grid_z00.ome.zarr"}), ErrorCode::not_found,
               "nowhere");
}

TEST(Defects, MissingTilesLeaveTheRestInPlace) {
  const Folder folder;
  simulate(folder, "2", {{"missing_tiles", "2"}});
  const auto made = run("reconstruct", {folder / "subject/raw", folder / "out"}, settings(folder));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(made->metrics.find("tiles are missing"), std::string::npos) << made->metrics;
  const auto score = run("score", {folder / "out"}, {{"truth", folder / "subject/truth.json"}});
  ASSERT_TRUE(score) << score.error().message();
  EXPECT_NE(score->text.find("slice, across"), std::string::npos);
}

TEST(Defects, OfShiftsAreNamed) {
  const Folder folder;
  for (const char* z : {"00", "01"})
    write_volume(folder / ("slices/slice_z" + std::string(z) + "_crop.ome.zarr"), {4, 20, 20}, {4, 20, 20}, 1);
  const auto align = [&](const std::string& csv) {
    folder.write("shifts.csv", "fixed_id,moving_id,x_shift_mm,y_shift_mm\n" + csv);
    return run("common-space", {folder / "slices", folder / "moved"}, {{"shifts", folder / "shifts.csv"}}, true);
  };
  expect_error(align("0,1,0.01,0\n1,2,0,0\n"), ErrorCode::invalid_argument, "shifts.csv: a shift names slice 2");
  expect_error(align(""), ErrorCode::invalid_argument, "no shifts lead from slice 0 to slice 1");
  expect_error(align("0,1,zero,0\n"), ErrorCode::corrupt_data, "shifts.csv: line 2: x_shift_mm");
  expect_error(align("0,1,1e8,0\n"), ErrorCode::invalid_argument, "slice 1 would lie 1e+08 mm along x");
  const auto good = align("0,1,0.025,-0.04\n");
  ASSERT_TRUE(good) << good.error().message();
  // x is along columns, y along rows; the second slice lies 2.5 columns further and 4 rows up.
  const oct::Volume moved = oct::open_volume(folder / "moved/slice_z01_common.ome.zarr", 3).value();
  EXPECT_EQ(moved.shape, (Shape{4, 24, 23}));
  const auto values = oct::read_block(moved.array, whole(moved.shape), {}).value().values;
  EXPECT_EQ(values[0 * 23 + 2], 0);
  EXPECT_EQ(values[0 * 23 + 3], 1);
  EXPECT_EQ(values[19 * 23 + 3], 1);
  EXPECT_EQ(values[20 * 23 + 3], 0);
  EXPECT_NEAR(moved.offset_mm[1], -0.04, 1e-12);
  write_volume(folder / "slices/slice_z02_crop.ome.zarr", {4, 20, 20}, {4, 20, 20}, 1);
  expect_error(align("0,1,0.01,0\n"), ErrorCode::invalid_argument, "slice 2");
}

TEST(Defects, OfShiftsAreSaidBeforeTheWork) {
  const Folder folder;
  simulate(folder, "1");
  auto how = settings(folder);
  folder.write("shifts.csv", "fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,0,0\n1,2,0,0\n2,9,0,0\n");
  for (const std::string csv : {"shifts.csv", "none.csv"}) {
    how["shifts"] = folder / csv;
    const auto made = run("reconstruct", {folder / "subject/raw", folder / "out"}, how);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message().find(csv), std::string::npos) << made.error().message();
    EXPECT_FALSE(fs::exists(folder / "out")) << csv;
  }
}

TEST(Defects, AnImageOfZarr2IsToldFromNone) {
  const Folder folder;
  std::filesystem::create_directories(folder / "old.ome.zarr");
  EXPECT_EQ(run("aip", {folder / "old.ome.zarr", folder / "p.ome.zarr"}).error().code(), ErrorCode::not_found);
  folder.write("old.ome.zarr/.zgroup", "{\"zarr_format\": 2}");
  const auto refused = run("aip", {folder / "old.ome.zarr", folder / "p.ome.zarr"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
  EXPECT_NE(refused.error().message().find("old.ome.zarr: it is of zarr v2"), std::string::npos)
      << refused.error().message();
  EXPECT_NE(refused.error().hint().find("--zarr-format 3"), std::string::npos) << refused.error().hint();
}

TEST(Defects, OfVolumesAreNamed) {
  const Folder folder;
  write_volume(folder / "plane.ome.zarr", {20, 20}, {20, 20}, 1);
  write_volume(folder / "slab.ome.zarr", {8, 20, 20}, {4, 20, 20}, 1);
  write_volume(folder / "zero.ome.zarr", {8, 20, 20}, {8, 10, 10}, 0);
  write_volume(folder / "one_row.ome.zarr", {8, 16, 48}, {8, 16, 16}, 5);
  const std::string out = folder / "out.ome.zarr";
  expect_error(run("aip", {folder / "plane.ome.zarr", out}), ErrorCode::invalid_metadata,
               "plane.ome.zarr: it has 2 dimensions");
  expect_error(run("aip", {folder / "nothing.ome.zarr", out}), ErrorCode::not_found, "nothing.ome.zarr");
  expect_error(run("fix-illumination", {folder / "slab.ome.zarr", out}), ErrorCode::invalid_metadata,
               "no tiles at full depth");
  expect_error(run("fix-illumination", {folder / "zero.ome.zarr", out}, {{"method", "mean"}}),
               ErrorCode::invalid_argument, "every tile is empty");
  expect_error(run("aip", {folder / "slab.ome.zarr", folder / "out.tif"}), ErrorCode::invalid_argument,
               "must end in .ome.zarr");
  folder.write("bad.npy", "no matrix");
  expect_error(run("stitch", {folder / "one_row.ome.zarr", out}, {{"transform", folder / "bad.npy"}}),
               ErrorCode::corrupt_data, "bad.npy");
  folder.write("three.npy", oct::npy_text(Shape{3}, std::vector<double>{1, 2, 3}));
  expect_error(run("stitch", {folder / "one_row.ome.zarr", out}, {{"transform", folder / "three.npy"}}),
               ErrorCode::invalid_metadata, "[2, 2]");
  // One row of tiles without anything to see: the step along it is the nominal one, and a warning says so.
  ASSERT_TRUE(run("aip", {folder / "one_row.ome.zarr", folder / "aip.ome.zarr"}));
  const auto estimated = run("estimate-transform", {folder / "aip.ome.zarr", folder / "t.npy"});
  ASSERT_TRUE(estimated) << estimated.error().message();
  EXPECT_NE(estimated->metrics.find("along columns"), std::string::npos) << estimated->metrics;
  EXPECT_EQ(oct::read_npy(folder / "t.npy")->values, (std::vector<double>{12.8, 0, 0, 12.8}));
  // All of it zero: the interface is at the first plane, said so.
  const auto cropped =
      run("crop-below-interface", {folder / "zero.ome.zarr", folder / "cropped.ome.zarr"}, {{"depth_um", "50"}});
  ASSERT_TRUE(cropped) << cropped.error().message();
  EXPECT_NE(cropped->metrics.find("at the first plane"), std::string::npos) << cropped->metrics;
  EXPECT_EQ(oct::open_volume(folder / "cropped.ome.zarr", 3)->shape, (Shape{5, 20, 20}));
  const auto deep = run("crop-below-interface", {folder / "zero.ome.zarr", folder / "deep.ome.zarr"},
                        {{"depth_um", "500"}, {"pad_after", "true"}});
  ASSERT_TRUE(deep) << deep.error().message();
  EXPECT_NE(deep->metrics.find("8 planes lie below"), std::string::npos) << deep->metrics;
  EXPECT_EQ(oct::open_volume(folder / "deep.ome.zarr", 3)->shape, (Shape{50, 20, 20}));
}

TEST(Defects, OfCallsAreNamed) {
  const Folder folder;
  expect_error(run("stich", {}), ErrorCode::invalid_argument, "Did you mean stitch?");
  expect_error(run("aip", {"a"}), ErrorCode::invalid_argument, "2 paths");
  expect_error(run("stitch", {"a", "b"}), ErrorCode::invalid_argument, "transform is needed");
  expect_error(run("aip", {"a", "b"}, {{"n_level", "1"}}), ErrorCode::invalid_argument, "Did you mean n_levels?");
  expect_error(run("aip", {"a", "b"}, {{"n_levels", "-1"}}), ErrorCode::invalid_argument, "n_levels");
  expect_error(run("stack", {"a", "b"}, {{"slicing_interval_mm", "nan"}}), ErrorCode::invalid_argument,
               "slicing_interval_mm");
  expect_error(run("stitch", {"a", "b"}, {{"transform", "t"}, {"blending", "averag"}}), ErrorCode::invalid_argument,
               "Did you mean average?");
}

TEST(Defects, SlicesOfUnequalDepthAndMissingOnesStack) {
  const Folder folder;
  write_volume(folder / "s/slice_z00_common.ome.zarr", {6, 8, 8}, {6, 8, 8}, 1);
  write_volume(folder / "s/slice_z01_common.ome.zarr", {3, 8, 8}, {3, 8, 8}, 2);
  write_volume(folder / "s/slice_z03_common.ome.zarr", {6, 8, 8}, {6, 8, 8}, 4);
  const auto made =
      run("stack", {folder / "s", folder / "v.ome.zarr"}, {{"slicing_interval_mm", "0.04"}, {"keep_falloff", "true"}});
  ASSERT_TRUE(made) << made.error().message();
  const oct::Volume volume = oct::open_volume(folder / "v.ome.zarr", 3).value();
  ASSERT_EQ(volume.shape, (Shape{18, 8, 8}));
  const auto values = oct::read_block(volume.array, whole(volume.shape), {}).value().values;
  std::vector<float> column;
  for (std::size_t z = 0; z < 18; ++z) column.push_back(values[z * 64]);
  // Planes 4 and 5 fade from the first to the second; the third is missing, and leaves a gap that is said.
  EXPECT_EQ(column, (std::vector<float>{1, 1, 1, 1, 1, 2, 2, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4}));
  EXPECT_NE(made->metrics.find("5 planes before"), std::string::npos) << made->metrics;
  write_volume(folder / "s/slice_z04_common.ome.zarr", {6, 9, 8}, {6, 9, 8}, 1);
  expect_error(run("stack", {folder / "s", folder / "w.ome.zarr"}, {{"slicing_interval_mm", "0.04"}}),
               ErrorCode::invalid_metadata, "slice_z04");
}
