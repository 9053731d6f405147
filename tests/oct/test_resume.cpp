// Reconstructions that go on in a folder: what is kept, what is made again, and what is refused before hours of work.
#include <gtest/gtest.h>

#include "folder.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;

namespace {

const char* const kHead = "fixed_id,moving_id,x_shift_mm,y_shift_mm\n";

std::string shifts_of(const std::vector<std::string>& rows) {
  std::string text = kHead;
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

/// Small subjects in a folder, and their reconstructions.
struct Runs {
  const Folder folder;
  std::map<std::string, std::string> how = settings(folder);

  Runs() {
    simulate(folder, "4", {{"traps", "one-row,zoom-edge"}});
    how["shifts"] = folder / "shifts.csv";
    folder.write("shifts.csv", shifts_of({"0,1,0.01,0.02", "1,2,0.01,0", "2,3,0,0.01"}));
  }
  [[nodiscard]] Result<OctResult> into(const std::string& out, const std::string& flag = "", bool force = false) const {
    auto options = how;
    if (!flag.empty()) options[flag] = "true";
    return run("reconstruct", {folder / "subject/raw", folder / out}, options, force);
  }
  [[nodiscard]] std::vector<float> volume(const std::string& out) const {
    return values_of(folder / (out + "/3d_volume.ome.zarr"));
  }
  void move(const std::string& from, const std::string& to) const {
    std::filesystem::rename(folder / from, folder / to);
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(Resume, TakesMendedShifts) {
  const Runs runs;
  ASSERT_TRUE(runs.into("out"));
  const auto before = runs.volume("out");
  runs.folder.write("shifts.csv", shifts_of({"0,1,0.05,0.02", "1,2,0.01,0", "2,3,0,0.01"}));
  const auto again = runs.into("out", "resume");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(has(again->text, "slice_z03_crop.ome.zarr: kept")) << again->text;
  EXPECT_FALSE(has(again->text, "3d_volume.ome.zarr: kept")) << again->text;
  ASSERT_TRUE(runs.into("whole"));
  EXPECT_EQ(runs.volume("out"), runs.volume("whole"));
  EXPECT_NE(runs.volume("out"), before);
  // Other words for the same places change nothing.
  runs.folder.write("shifts.csv", shifts_of({"2,3,0.0,0.010", "0,1,0.05,0.02", "1,2,0.01,0"}));
  const auto same = runs.into("out", "resume");
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_TRUE(has(same->text, "3d_volume.ome.zarr: kept")) << same->text;
}

TEST(Resume, TakesSlicesThatCameLater) {
  const Runs runs;
  runs.move("subject/raw/z03", "z03");
  runs.folder.write("shifts.csv", shifts_of({"0,1,0.01,0.02", "1,2,0.01,0"}));
  ASSERT_TRUE(runs.into("out"));
  runs.move("z03", "subject/raw/z03");
  runs.folder.write("shifts.csv", shifts_of({"0,1,0.01,0.02", "1,2,0.01,0", "2,3,0,0.01"}));
  const auto again = runs.into("out", "resume");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(has(again->text, "slice_z02_crop.ome.zarr: kept")) << again->text;
  EXPECT_FALSE(has(again->text, "slice_z03_crop.ome.zarr: kept")) << again->text;
  ASSERT_TRUE(runs.into("whole"));
  EXPECT_EQ(runs.volume("out"), runs.volume("whole"));
}

TEST(Resume, RefusesSlicesWhoseTilesAreGone) {
  const Runs runs;
  ASSERT_TRUE(runs.into("out"));
  runs.move("subject/raw/z03", "z03");
  runs.folder.write("shifts.csv", shifts_of({"0,1,0.01,0.02", "1,2,0.01,0"}));
  const auto refused = runs.into("out", "resume");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::already_exists);
  EXPECT_TRUE(has(refused.error().message(), "slice_z03_crop.ome.zarr: no tiles")) << refused.error().message();
  EXPECT_TRUE(std::filesystem::exists(runs.folder / "out/3d_volume.ome.zarr/zarr.json"));
  // Begun anew, the volume is of the slices that are there.
  const auto anew = runs.into("out", "", true);
  ASSERT_TRUE(anew) << anew.error().message();
  ASSERT_TRUE(runs.into("whole"));
  EXPECT_EQ(runs.volume("out"), runs.volume("whole"));
}

TEST(Resume, LeavesOutSlicesThatAreNotUsedAnyMore) {
  Runs runs;
  ASSERT_TRUE(runs.into("out"));
  const auto before = runs.volume("out");
  runs.folder.write("slice_config.csv", "slice_id,use,notes\n00,true,\n01,false,torn\n02,true,\n03,true,\n");
  runs.how["slice_config"] = runs.folder / "slice_config.csv";
  const auto again = runs.into("out", "resume");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(has(again->text, "slice_z02_crop.ome.zarr: kept")) << again->text;
  EXPECT_TRUE(has(again->text, "of 3 slices")) << again->text;
  EXPECT_NE(runs.volume("out"), before);
  ASSERT_TRUE(runs.into("whole"));
  EXPECT_EQ(runs.volume("out"), runs.volume("whole"));
  EXPECT_FALSE(std::filesystem::exists(runs.folder / "whole/mosaic_grid_z01.ome.zarr"));
  // And takes them in again.
  runs.folder.write("slice_config.csv", "slice_id,use,notes\n");
  ASSERT_TRUE(runs.into("out", "resume"));
  EXPECT_EQ(runs.volume("out"), before);
  runs.folder.write("slice_config.csv", "slice_id,use\n0,no\n1,no\n2,no\n3,no\n");
  EXPECT_TRUE(has(runs.into("none").error().message(), "no slice of")) << runs.into("none").error().message();
}

TEST(Resume, MakesAgainWhatFollowsFromWhatWasMadeAgain) {
  const Runs runs;
  ASSERT_TRUE(runs.into("out"));
  const auto before = runs.volume("out");
  std::filesystem::remove_all(runs.folder / "out/mosaic_grid_z01_transform.npy");
  const auto again = runs.into("out", "resume");
  ASSERT_TRUE(again) << again.error().message();
  for (const char* name : {"mosaic_grid_z01_aip", "slice_z00_crop", "slice_z02_crop"})
    EXPECT_TRUE(has(again->text, std::string(name) + ".ome.zarr: kept")) << again->text;
  for (const char* name : {"slice_z01_stitch", "slice_z01_crop", "slice_z03_common", "3d_volume"})
    EXPECT_FALSE(has(again->text, std::string(name) + ".ome.zarr: kept")) << again->text;
  EXPECT_EQ(runs.volume("out"), before);
}

TEST(Resume, LeavesResultsThatNothingSaysTheSettingsOf) {
  const Runs runs;
  const std::string grid = runs.folder / "out/mosaic_grid_z02.ome.zarr";
  ASSERT_TRUE(run("mosaic", {runs.folder / "subject/raw", grid}, {{"axial_resolution_um", "10"}}));
  const auto before = values_of(grid);
  for (const char* flag : {"", "resume"}) {
    const auto refused = runs.into("out", flag);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::already_exists);
    EXPECT_TRUE(has(refused.error().message(), "mosaic_grid_z02.ome.zarr")) << refused.error().message();
    EXPECT_EQ(values_of(grid), before);
  }
  EXPECT_TRUE(runs.into("out", "", true));
}

TEST(Resume, TellsWhichOptionIsAnother) {
  Runs runs;
  ASSERT_TRUE(runs.into("out"));
  runs.how["depth_um"] = "300";
  const auto other = runs.into("out", "resume");
  ASSERT_FALSE(other);
  EXPECT_TRUE(has(other.error().message(), "depth_um was 520.0, is 300.0")) << other.error().message();
}

TEST(Reconstruct, SaysWrongUnitsBeforeItBegins) {
  const Runs runs;
  const std::vector<std::pair<std::string, std::string>> cases = {{"depth_um", "0.52"},
                                                                  {"depth_um", "-520"},
                                                                  {"slicing_interval_mm", "240"},
                                                                  {"slicing_interval_mm", "0"},
                                                                  {"slicing_interval_mm", "-0.24"},
                                                                  {"axial_resolution_um", "0.01"},
                                                                  {"axial_resolution_um", "-10"},
                                                                  {"resolution_um", "0.01"},
                                                                  {"resolution_um", "-1"}};
  for (const auto& [name, value] : cases) {
    auto how = runs.how;
    how[name] = value;
    const auto refused = run("reconstruct", {runs.folder / "subject/raw", runs.folder / "out"}, how);
    ASSERT_FALSE(refused) << name << " " << value;
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument) << refused.error().message();
    EXPECT_FALSE(std::filesystem::exists(runs.folder / "out")) << name << " " << value;
  }
}

TEST(Reconstruct, SaysShiftsInAnotherUnitBeforeItBegins) {
  const Runs runs;
  for (const char* row : {"1,2,10,0", "1,2,0,-20"}) {  // um for mm
    runs.folder.write("shifts.csv", shifts_of({"0,1,0.01,0.02", row, "2,3,0,0.01"}));
    const auto refused = runs.into("out");
    ASSERT_FALSE(refused) << row;
    EXPECT_TRUE(has(refused.error().message(), "slice 2 would lie")) << refused.error().message();
    EXPECT_TRUE(has(refused.error().hint(), "millimetres")) << refused.error().hint();
    EXPECT_FALSE(std::filesystem::exists(runs.folder / "out"));
  }
}

TEST(Reconstruct, SaysThatASliceHasAnotherGridThanTheOneBefore) {
  const Runs runs;  // of one row of tiles
  std::filesystem::remove_all(runs.folder / "subject/raw/z02/tile_x00_y00_z02");
  const auto made = runs.into("out");
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_EQ(made->warnings.size(), 2U);  // there and back
  EXPECT_TRUE(has(made->warnings[0], "slice 2 has 1 x 2 tiles from x00_y01, the one before 1 x 3 from x00_y00"))
      << made->warnings[0];
}

TEST(Reconstruct, IsMadeInAFolder) {
  const Runs runs;
  const auto refused = run("reconstruct", {runs.folder / "subject/raw", "s3://bucket/out"}, runs.how);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported) << refused.error().message();
  EXPECT_FALSE(std::filesystem::exists("s3:"));
}

TEST(Reconstruct, SaysTilesInMillimetresBeforeItBegins) {
  const Runs runs;
  for (const auto& file : std::filesystem::recursive_directory_iterator(runs.folder / "subject/raw")) {
    if (file.path().filename() != "info.txt") continue;
    const std::string name = std::filesystem::relative(file.path(), runs.folder / "").string();
    std::string text = runs.folder.text(name);
    const std::size_t at = text.find("width: ");
    text.replace(at, text.find('\n', at) - at, "width: 0.22");
    runs.folder.write(name, text);
  }
  const auto refused = runs.into("out");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().message(), "tiles of slice 0, 0.22 x 220 um")) << refused.error().message();
  EXPECT_FALSE(std::filesystem::exists(runs.folder / "out"));
}

TEST(Reconstruct, SaysWhatIsWrongWithTheLastSliceBeforeItBegins) {
  const Runs runs;
  const std::string info = "subject/raw/z03/tile_x00_y01_z03/info.txt", good = runs.folder.text(info);
  ASSERT_TRUE(has(good, "nx: "));
  std::string other = good;
  other.replace(other.find("nx: "), 4, "nx: 1");
  for (const std::string& text : {std::string("nx: 4\n"), other}) {
    runs.folder.write(info, text);
    const auto refused = runs.into("out");
    ASSERT_FALSE(refused);
    EXPECT_TRUE(has(refused.error().message(), "tile_x00_y01_z03")) << refused.error().message();
    EXPECT_FALSE(std::filesystem::exists(runs.folder / "out"));
  }
  // Slices whose voxels differ: no volume could come of them.
  for (const auto& tile : std::filesystem::directory_iterator(runs.folder / "subject/raw/z03")) {
    const std::string name = "subject/raw/z03/" + tile.path().filename().string() + "/info.txt";
    std::string text = good;
    const std::size_t at = text.find("width: ");
    text.replace(at, text.find('\n', at) - at, "width: 213.3");  // 21 pixels of 10.16 um, not 22 of 10
    runs.folder.write(name, text);
  }
  const auto refused = runs.into("out");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().message(), "voxels of slice 3 are")) << refused.error().message();
  EXPECT_FALSE(std::filesystem::exists(runs.folder / "out"));
}
