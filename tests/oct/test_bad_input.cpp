// Elements that are no numbers, slices with nothing to see, volumes thinner than a filter, a full disk; and memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/file/npy.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;

namespace {

/// 3 x 3 tiles of 16 x 16 pixels with a surface at plane 8 of 30, and something to see below.
double scene(std::uint64_t z, std::uint64_t r, std::uint64_t c) {
  const double y = static_cast<double>(r % 16) + 12.0 * static_cast<double>(r / 16);  // tiles overlap by 4
  const double x = static_cast<double>(c % 16) + 12.0 * static_cast<double>(c / 16);
  return z < 8 ? 5.0 : 60 + 20 * std::sin(y / 3 + std::cos(x / 4)) + 10 * std::cos(x / 2.5);
}

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

/// Every step that takes a mosaic grid or a slice, with the options that make it small.
struct Case {
  std::string step;
  std::map<std::string, std::string> options;
};
const std::vector<Case> kCases = {
    {"resample-mosaic", {{"resolution_um", "20"}}},
    {"fix-focal-curvature", {}},
    {"fix-illumination", {{"method", "overlap"}}},
    {"fix-illumination", {{"method", "mean"}}},
    {"fix-illumination", {{"method", "basic"}}},
    {"fix-illumination", {{"method", "basic"}, {"fit", "slice"}}},
    {"crop-below-interface", {{"depth_um", "100"}}},
    {"crop-below-interface", {{"depth_um", "100"}, {"tiles", "true"}}},
    {"crop-below-interface", {{"depth_um", "100"}, {"tiles", "true"}, {"percentile_max", "99"}}},
    {"normalize", {}},
    {"normalize", {{"tiles", "true"}}}};

}  // namespace

TEST(BadInput, NoNumbersStayWhereTheyAreOrBecomeZero) {
  const Folder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write_volume(folder / "m.ome.zarr", {30, 48, 48}, {30, 16, 16},
               [&](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
                 if (r == 20 && c == 21) return static_cast<double>(nan);
                 if (z == 12 && r == 3 && c == 40) return std::numeric_limits<double>::infinity();
                 return scene(z, r, c);
               });
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    const std::string out = folder / (std::to_string(i) + ".ome.zarr");
    const auto made = run(kCases[i].step, {folder / "m.ome.zarr", out}, kCases[i].options);
    ASSERT_TRUE(made) << kCases[i].step << ": " << made.error().message();
    const std::vector<float> values = values_of(out);
    // Of 47 x 47 columns the two that are odd, and what a filter or a neighbouring pixel makes of them.
    const auto odd = std::ranges::count_if(values, [](float v) { return !std::isfinite(v); });
    EXPECT_LT(static_cast<double>(odd), 0.05 * static_cast<double>(values.size())) << kCases[i].step << " " << i;
    if (kCases[i].step == "fix-illumination" || kCases[i].step == "normalize")
      EXPECT_TRUE(std::ranges::none_of(values, [](float v) { return std::isnan(v); })) << i;
  }
  for (const std::string file :
       {"1_focal.npy", "2_flatfield.npy", "4_flatfield.npy", "4_flatfields.npy", "5_flatfield.npy"})
    for (const double v : oct::read_npy(folder / file)->values) ASSERT_TRUE(std::isfinite(v)) << file;
}

TEST(BadInput, NothingToSeeIsSaid) {
  const Folder folder;
  write_volume(folder / "zero.ome.zarr", {30, 48, 48}, {30, 16, 16}, [](auto, auto, auto) { return 0.0; });
  write_volume(folder / "agarose.ome.zarr", {30, 48, 48}, {30, 16, 16}, [](auto, auto, auto) { return 7.0; });
  for (std::size_t i = 0; i < kCases.size(); ++i)
    for (const std::string name : {"zero", "agarose"}) {
      const std::string out = folder / (name + std::to_string(i) + ".ome.zarr");
      const auto made = run(kCases[i].step, {folder / (name + ".ome.zarr"), out}, kCases[i].options);
      if (!made) {
        EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument) << made.error().message();
        EXPECT_NE(made.error().message().find("every tile is empty"), std::string::npos) << made.error().message();
        EXPECT_FALSE(std::filesystem::exists(out + "/zarr.json")) << kCases[i].step;
        continue;
      }
      EXPECT_TRUE(all_finite(values_of(out))) << kCases[i].step << " " << name;
    }
  // Agarose only: one value, so no tissue is told from it.
  const auto normalized = run("normalize", {folder / "agarose.ome.zarr", folder / "n.ome.zarr"});
  ASSERT_TRUE(normalized);
  EXPECT_NE(normalized->metrics.find("no agarose was found"), std::string::npos) << normalized->metrics;
}

TEST(BadInput, InterfacesAtTheEndsAreSaid) {
  const Folder folder;
  write_volume(folder / "deep.ome.zarr", {30, 32, 32}, {30, 16, 16},
               [](std::uint64_t z, auto, auto) { return z == 29 ? 90.0 : 1.0; });
  write_volume(folder / "falling.ome.zarr", {30, 32, 32}, {30, 16, 16},
               [](std::uint64_t z, auto, auto) { return 90.0 - static_cast<double>(z); });
  for (const std::string tiles : {"true", "false"}) {
    const auto deep = run("crop-below-interface", {folder / "deep.ome.zarr", folder / ("d" + tiles + ".ome.zarr")},
                          {{"depth_um", "100"}, {"tiles", tiles}});
    ASSERT_TRUE(deep) << deep.error().message();
    EXPECT_NE(deep->metrics.find("planes lie below the interface, 10 are wanted"), std::string::npos) << deep->metrics;
    EXPECT_LE(open_made(folder / ("d" + tiles + ".ome.zarr")).shape[0], 3U);
    const auto falling =
        run("crop-below-interface", {folder / "falling.ome.zarr", folder / ("h" + tiles + ".ome.zarr")},
            {{"depth_um", "100"}, {"tiles", tiles}});
    ASSERT_TRUE(falling) << falling.error().message();
    EXPECT_EQ(open_made(folder / ("h" + tiles + ".ome.zarr")).shape[0], 10U);  // the tissue begins above all planes
  }
}

TEST(BadInput, ThinnerThanAFilterAndOneRow) {
  const Folder folder;
  write_volume(folder / "thin.ome.zarr", {2, 48, 48}, {2, 16, 16},
               [](std::uint64_t z, std::uint64_t r, std::uint64_t c) { return scene(z + 7, r, c); });
  write_volume(folder / "row.ome.zarr", {30, 16, 48}, {30, 16, 16}, scene);
  for (std::size_t i = 0; i < kCases.size(); ++i)
    for (const std::string name : {"thin", "row"}) {
      const std::string out = folder / (name + std::to_string(i) + ".ome.zarr");
      const auto made = run(kCases[i].step, {folder / (name + ".ome.zarr"), out}, kCases[i].options);
      ASSERT_TRUE(made) << kCases[i].step << " " << name << ": " << made.error().message();
      EXPECT_TRUE(all_finite(values_of(out))) << kCases[i].step << " " << name;
    }
}

TEST(BadInput, AFullDiskLeavesNothingThatOpensAndTheNextRunGoesOn) {
  const Folder folder;
  write_volume(folder / "m.ome.zarr", {30, 48, 48}, {30, 16, 16},
               [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
                 return scene(z, r, c) +
                        0.01 * static_cast<double>((z * 31 + r * 17 + c * 7919) % 1009);  // that does not compress
               });
  folder.write("steps.toml",
               "input = \"" + (folder / "m.ome.zarr") + "\"\noutput = \"" + (folder / "steps.ome.zarr") +
                   "\"\n[[step]]\nname = \"fix-focal-curvature\"\n[[step]]\nname = \"fix-illumination\"\n");
  const auto all = [&](const std::string& name, auto&& check) {
    for (std::size_t i = 0; i < kCases.size(); ++i) {
      const std::string out = folder / (name + std::to_string(i) + ".ome.zarr");
      check(kCases[i].step, out, run(kCases[i].step, {folder / "m.ome.zarr", out}, kCases[i].options));
    }
    check("run", folder / "steps.ome.zarr", run("run", {folder / "steps.toml"}));
  };
  // No file may be larger than 512 bytes: what a disk without room does to a writer.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = 512;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  all("out", [](const std::string& step, const std::string& out, const Result<OctResult>& made) {
    EXPECT_FALSE(made) << step;
    EXPECT_FALSE(std::filesystem::exists(out + "/zarr.json")) << step;
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  all("out", [](const std::string& step, const std::string& out, const Result<OctResult>& made) {
    ASSERT_TRUE(made) << step << ": " << made.error().message();
    EXPECT_TRUE(std::filesystem::exists(out + "/zarr.json")) << step;
  });
}
