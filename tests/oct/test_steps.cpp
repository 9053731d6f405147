// Made subjects, reconstructed and scored; one call gives what the steps give one by one.
#include <gtest/gtest.h>

#include <cstring>

#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/file/volume.hpp"
#include "oct/graph.hpp"
#include "oct/list.hpp"

using namespace penstock;
using namespace penstock::oct_test;

namespace {

std::vector<float> values_of(const std::string& path) {
  const oct::Volume volume = oct::open_volume(path, 3).value();
  return oct::read_block(volume.array, whole(volume.shape), {}).value().values;
}

double value_of(const OctResult& result, const std::string& name) {
  return oct::metric(result.metrics, name).value().get<double>();
}

}  // namespace

class Subjects : public testing::TestWithParam<int> {};

TEST_P(Subjects, ComeOutWithinTheMarks) {
  const Folder folder;
  simulate(folder, std::to_string(GetParam()));
  const auto made = run("reconstruct", {folder / "subject/raw", folder / "out"}, settings(folder));
  ASSERT_TRUE(made) << made.error().message();
  const auto score = run("score", {folder / "out"}, {{"truth", folder / "subject/truth.json"}});
  ASSERT_TRUE(score) << score.error().message();
  EXPECT_EQ(value_of(*score, "mosaic"), 0) << "bits";
  EXPECT_EQ(value_of(*score, "galvo shift"), 0);
  EXPECT_LE(value_of(*score, "flat field"), 0.02);
  EXPECT_TRUE(score->good) << score->text;
  EXPECT_LE(value_of(*score, "tile positions"), 1);
  EXPECT_LE(value_of(*score, "slice, across"), 0.5);
  EXPECT_LE(value_of(*score, "slice, along depth"), 1);
  EXPECT_LE(value_of(*score, "volume, across"), 0.5);
  EXPECT_LE(value_of(*score, "volume, along depth"), 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Subjects, testing::Values(7, 11, 23));

TEST(Steps, OneByOneGiveWhatOneCallGives) {
  const Folder folder;
  simulate(folder, "3");
  const auto made = run("reconstruct", {folder / "subject/raw", folder / "out"}, settings(folder));
  ASSERT_TRUE(made) << made.error().message();
  const std::string steps = folder / "steps/";
  for (const char* z : {"00", "01", "02", "03"}) {
    const std::string grid = steps + "mosaic_grid_z" + z, slice = steps + "slice_z" + z;
    ASSERT_TRUE(run("mosaic", {folder / "subject/raw", grid + ".ome.zarr"},
                    {{"resolution_um", "10"}, {"axial_resolution_um", "10"}}));
    ASSERT_TRUE(run("fix-illumination", {grid + ".ome.zarr", grid + "_illum.ome.zarr"}));
    ASSERT_TRUE(run("aip", {grid + "_illum.ome.zarr", grid + "_aip.ome.zarr"}));
    ASSERT_TRUE(run("estimate-transform", {grid + "_aip.ome.zarr", grid + "_transform.npy"}));
    ASSERT_TRUE(run("stitch", {grid + "_illum.ome.zarr", slice + "_stitch.ome.zarr"},
                    {{"transform", grid + "_transform.npy"}}));
    ASSERT_TRUE(
        run("crop-below-interface", {slice + "_stitch.ome.zarr", slice + "_crop.ome.zarr"}, {{"depth_um", "520"}}));
  }
  ASSERT_TRUE(
      run("common-space", {folder / "steps", folder / "moved"}, {{"shifts", folder / "subject/raw/shifts_xy.csv"}}));
  ASSERT_TRUE(run("stack", {folder / "moved", folder / "3d_volume.ome.zarr"}, {{"slicing_interval_mm", "0.24"}}));
  const auto one = values_of(folder / "out/3d_volume.ome.zarr"), other = values_of(folder / "3d_volume.ome.zarr");
  ASSERT_EQ(one.size(), other.size());
  EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)), 0);
}

TEST(Steps, GoOnWhereTheyWereStopped) {
  const Folder folder;
  simulate(folder, "4");
  const auto how = settings(folder);
  const std::vector<std::string> paths = {folder / "subject/raw", folder / "out"};
  ASSERT_TRUE(run("reconstruct", paths, how));
  const auto before = values_of(folder / "out/3d_volume.ome.zarr");
  EXPECT_EQ(run("reconstruct", paths, how).error().code(), ErrorCode::already_exists);
  // As if killed while slice 2 was stitched: its metadata are missing, and so is all that follows.
  for (const char* name : {"slice_z02_stitch.ome.zarr", "3d_volume.ome.zarr"})
    std::filesystem::remove(folder / ("out/" + std::string(name) + "/zarr.json"));
  auto resumed = how;
  resumed["resume"] = "true";
  const auto again = run("reconstruct", paths, resumed);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_NE(again->text.find("slice_z01_stitch.ome.zarr: kept"), std::string::npos) << again->text;
  EXPECT_EQ(again->text.find("slice_z02_stitch.ome.zarr: kept"), std::string::npos) << again->text;
  EXPECT_EQ(values_of(folder / "out/3d_volume.ome.zarr"), before);
  resumed["depth_um"] = "300";
  const auto other = run("reconstruct", paths, resumed);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("other options"), std::string::npos) << other.error().message();
}

TEST(Steps, KeepShardsAndTakeSmallBudgets) {
  const Folder folder;
  simulate(folder, "5");
  const std::map<std::string, std::string> how = {{"axial_resolution_um", "10"}, {"sharding_factor", "2"}};
  const auto made = run("mosaic", {folder / "subject/raw", folder / "mosaic_grid_z01.ome.zarr"}, how);
  ASSERT_TRUE(made) << made.error().message();
  const oct::Volume mosaic = oct::open_volume(folder / "mosaic_grid_z01.ome.zarr", 3).value();
  EXPECT_EQ(mosaic.chunks, (Shape{60, 64, 64}));
  EXPECT_EQ(mosaic.objects, (Shape{60, 128, 128}));
  EXPECT_EQ(values_of(folder / "mosaic_grid_z01.ome.zarr"),
            values_of(folder / "subject/truth/mosaic_grid_z01.ome.zarr"));
  ASSERT_TRUE(run("fix-illumination", {folder / "mosaic_grid_z01.ome.zarr", folder / "fixed.ome.zarr"}));
  EXPECT_EQ(oct::open_volume(folder / "fixed.ome.zarr", 3)->objects, mosaic.objects);
  Options small;
  small.budget_bytes = std::uint64_t{24} << 20;
  small.threads = 1;
  const auto tight =
      run("fix-illumination", {folder / "mosaic_grid_z01.ome.zarr", folder / "tight.ome.zarr"}, {}, false, small);
  ASSERT_TRUE(tight) << tight.error().message();
  EXPECT_EQ(values_of(folder / "tight.ome.zarr"), values_of(folder / "fixed.ome.zarr"));
  small.budget_bytes = 1 << 20;
  const auto refused =
      run("fix-illumination", {folder / "mosaic_grid_z01.ome.zarr", folder / "never.ome.zarr"}, {}, false, small);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::budget_too_small) << refused.error().message();
}

TEST(Steps, ResampleToTheResolutionThatIsAskedFor) {
  const Folder folder;
  simulate(folder, "6");
  const auto made = run("mosaic", {folder / "subject/raw", folder / "mosaic_grid_z00.ome.zarr"},
                        {{"axial_resolution_um", "10"}, {"resolution_um", "30"}});
  ASSERT_TRUE(made) << made.error().message();
  const oct::Volume mosaic = oct::open_volume(folder / "mosaic_grid_z00.ome.zarr", 3).value();
  EXPECT_EQ(mosaic.chunks, (Shape{20, 21, 21}));
  EXPECT_NEAR(mosaic.spacing_mm[0], 0.03, 1e-12);
  EXPECT_NEAR(mosaic.spacing_mm[1], 0.64 / 21, 1e-12);  // what 64 pixels on 21 are, not 0.03
  const auto coarse = values_of(folder / "mosaic_grid_z00.ome.zarr"),
             fine = values_of(folder / "subject/truth/mosaic_grid_z00.ome.zarr");
  double a = 0, b = 0;
  for (const float v : coarse) a += v / static_cast<double>(coarse.size());
  for (const float v : fine) b += v / static_cast<double>(fine.size());
  EXPECT_NEAR(a / b, 1, 0.02);
}

TEST(Steps, AreAllListedWithWhatTheyTake) {
  for (const OctStep& step : oct_steps()) {
    EXPECT_FALSE(step.summary.empty() || step.about.empty() || step.arguments.empty()) << step.name;
    for (const OctOption& option : step.options) EXPECT_FALSE(option.help.empty()) << step.name << " " << option.name;
  }
  for (const oct::SliceStep& step : oct::slice_steps()) EXPECT_NE(oct::find_step(step.step), nullptr) << step.step;
}
