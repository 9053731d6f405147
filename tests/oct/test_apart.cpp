// No step that writes an image takes away what it reads, --force or not.
#include <gtest/gtest.h>

#include "folder.hpp"
#include "oct/file/apart.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;
namespace fs = std::filesystem;

namespace {

/// A folder with the mosaic a.ome.zarr, and a link to it.
struct Mosaic {
  const Folder folder;
  const std::string a = folder / "a.ome.zarr", link = folder / "link", other = folder / "b.ome.zarr";
  std::vector<float> before;

  Mosaic() {
    write_volume(a, {12, 32, 32}, {12, 16, 16}, [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
      return 1 + static_cast<double>((z * 31 + r * 17 + c * 79) % 101);
    });
    fs::create_directory_symlink(a, link);
    before = values_of(a);
  }
  /// Refused for the reason, with the image as it was.
  void refuses(const Result<OctResult>& made, const std::string& why) const {
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument) << made.error().message();
    EXPECT_NE(made.error().message().find(why), std::string::npos) << made.error().message();
    EXPECT_EQ(values_of(a), before);
  }
  [[nodiscard]] Result<OctResult> run_file(const std::string& steps) const {
    folder.write("s.toml", "input = \"" + a + "\"\n" + steps);
    return run("run", {folder / "s.toml"}, {}, true);
  }
};

std::string step(const std::string& name, const std::string& out, const std::string& in = "") {
  return "[[step]]\nname = \"" + name + "\"\noutput = \"" + out + "\"\n" +
         (in.empty() ? "" : "input = \"" + in + "\"\n");
}

}  // namespace

TEST(Apart, KnowsAPlaceHoweverItIsWritten) {
  const Mosaic m;
  for (const std::string& same : {m.a + "/", m.folder / "./a.ome.zarr", m.folder / "x/../a.ome.zarr", m.link})
    EXPECT_TRUE(oct::is_same_place(m.a, same)) << same;
  EXPECT_FALSE(oct::is_same_place(m.a, m.other));
  EXPECT_FALSE(oct::is_same_place("s3://bucket/a.ome.zarr", "a.ome.zarr"));
  EXPECT_TRUE(oct::check_apart(m.a + "2.zarr", m.a));  // the name only begins alike
  EXPECT_TRUE(oct::check_apart(m.other, m.folder / ""));
  EXPECT_FALSE(oct::check_apart(m.a + "/0.zarr", m.a));
  EXPECT_FALSE(oct::check_apart(m.a, m.a + "/0"));
}

TEST(Apart, StepsKeepTheirInput) {
  const Mosaic m;
  for (const char* name : {"aip", "fix-illumination", "fix-focal-curvature", "crop-below-interface", "normalize"})
    for (const std::string& in : {m.a, m.link, m.folder / "./a.ome.zarr"})
      m.refuses(run(name, {in, m.a}, {}, true), "it is the input too");
  m.refuses(run("resample-mosaic", {m.link, m.a}, {{"resolution_um", "20"}}, true), "it is the input too");
  m.refuses(run("aip", {m.a, m.a + "/0.zarr"}), "it lies in the input");
  // Levels that an image gets in its place, whatever its name, leave its elements.
  const auto levels = run("pyramid", {m.link, m.folder / "./a.ome.zarr"}, {{"n_levels", "3"}});
  ASSERT_TRUE(levels) << levels.error().message();
  EXPECT_EQ(values_of(m.a), m.before);
  EXPECT_TRUE(fs::exists(m.a + "/2/zarr.json"));
}

TEST(Apart, SlicesThatAreStackedOrMovedStay) {
  const Folder folder;
  const std::string slice = folder / "s/slice_z00_common.ome.zarr";
  for (const char* name : {"s/slice_z00_common.ome.zarr", "s/slice_z01_common.ome.zarr"})
    write_volume(folder / name, {8, 16, 16}, {8, 16, 16},
                 [](auto z, auto, auto) { return 1.0 + static_cast<double>(z); });
  folder.write("shifts.csv", "fixed_id,moving_id,x_shift_mm,y_shift_mm\n0,1,0.01,0\n");
  const auto before = values_of(slice);
  for (const auto& made : {run("stack", {folder / "s", slice}, {{"slicing_interval_mm", "0.05"}}, true),
                           run("common-space", {folder / "s", folder / "s"},
                               {{"shifts", folder / "shifts.csv"}, {"process", "common"}}, true)}) {
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message().find("it is the input too"), std::string::npos) << made.error().message();
    EXPECT_EQ(values_of(slice), before);
  }
}

TEST(Apart, FilesOfStepsAreNoCircles) {
  const Mosaic m;
  const std::string b = m.other;
  // To and fro; twice the same output; the input as the last output, of steps that run as one.
  m.refuses(m.run_file(step("fix-illumination", b) + step("fix-focal-curvature", m.folder / "./a.ome.zarr")),
            "s.toml:5: ");
  EXPECT_FALSE(fs::exists(b)) << "said before the work";
  m.refuses(m.run_file(step("fix-illumination", b) + step("fix-focal-curvature", b, m.a)),
            "s.toml:5: " + b + ": " + (m.folder / "s.toml:2") + " writes it already");
  EXPECT_FALSE(fs::exists(b));
  for (const std::string& in : {m.folder / "./a.ome.zarr", m.link})
    m.refuses(m.run_file("[[step]]\nname = \"fix-illumination\"\n" + step("fix-focal-curvature", in)),
              "it is the input too");
  // More levels for what a step has made are no circle.
  const auto made = m.run_file(step("fix-illumination", b) + step("pyramid", b));
  EXPECT_TRUE(made) << made.error().message();
  std::string many;
  for (int k = 0; k < 201; ++k) many += step("aip", m.folder / ("c" + std::to_string(k) + ".ome.zarr"));
  m.refuses(m.run_file(many), "201 steps, at most 200");
}
