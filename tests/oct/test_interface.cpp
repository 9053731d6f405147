// Where tissue begins, beside the definition written out; masks, cutting errors, crops.
#include <cmath>

#include "core/json.hpp"
#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/file/npy.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;

namespace {

constexpr std::uint64_t kDepth = 30, kRows = 6, kCols = 8;
constexpr double kSigma = 2;

double image(std::uint64_t z, std::uint64_t r, std::uint64_t c) {
  const double grain = static_cast<double>((z * 7 + r * 5 + c * 3) % 11);
  return (z < 8 + r ? 3 : 60) + grain - (z == 2 && c == 4 ? 20 : 0);  // below 0: stays as it is
}
bool held(std::uint64_t z, std::uint64_t r, std::uint64_t c) { return c != 7 && (z + r) % 5 != 0 && z > c; }

/// Products of neighbours with a Gaussian (order 0) or its derivative (1), mirrored about the edges.
std::vector<double> smoothed(const std::vector<double>& line, int order) {
  const int radius = static_cast<int>(4 * kSigma + 0.5), n = static_cast<int>(line.size());
  double sum = 0;
  for (int k = -radius; k <= radius; ++k) sum += std::exp(-k * k / (2 * kSigma * kSigma));
  std::vector<double> made;
  for (int i = 0; i < n; ++i) {
    double v = 0;
    for (int k = -radius; k <= radius; ++k) {
      int at = (i + k) % (2 * n);
      at = at < 0 ? at + 2 * n : at;
      at = at >= n ? 2 * n - 1 - at : at;
      const double weight = std::exp(-k * k / (2 * kSigma * kSigma)) / sum * (order == 1 ? k / (kSigma * kSigma) : 1);
      v += weight * line[static_cast<std::size_t>(at)];
    }
    made.push_back(v);
  }
  return made;
}

std::size_t first_largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

/// By the definition, of one column: no box, the logarithm.
double interface_of(std::uint64_t r, std::uint64_t c, bool masked, bool cutting_errors) {
  std::vector<double> all, line;
  std::vector<std::size_t> planes;
  for (std::uint64_t z = 0; z < kDepth; ++z) {
    const double v = image(z, r, c);
    all.push_back(v > 0 ? std::log(v) : v);
    if (!masked || held(z, r, c)) line.push_back(all.back()), planes.push_back(z);
  }
  std::vector<double> rise(kDepth, 0);
  if (!line.empty()) {
    const std::vector<double> made = smoothed(line, 1);
    for (std::size_t i = 0; i < planes.size(); ++i) rise[planes[i]] = made[i];
  }
  double found = std::ceil(static_cast<double>(first_largest(rise)) + 0.5 * kSigma);
  if (cutting_errors) {
    std::vector<double> bright = smoothed(all, 0);
    for (double& v : bright) v = std::abs(v);
    found = std::min(found, static_cast<double>(first_largest(bright)));
  }
  return found;
}

}  // namespace

TEST(Interface, IsThatOfTheDefinitionWithAndWithoutMask) {
  const Folder folder;
  write_volume(folder / "s.ome.zarr", {kDepth, kRows, kCols}, {kDepth, 4, 4}, image);
  write_volume(folder / "mask.ome.zarr", {kDepth, kRows, kCols}, {kDepth, 5, 3},
               [](std::uint64_t z, std::uint64_t r, std::uint64_t c) { return held(z, r, c) ? 1.0 : 0.0; });
  for (const bool masked : {false, true})
    for (const bool cutting : {false, true}) {
      std::map<std::string, std::string> options = {{"sigma_xy", "1"}, {"compat", "true"}};
      if (masked) options["mask"] = folder / "mask.ome.zarr";
      if (cutting) options["detect_cutting_errors"] = "true";
      const auto made = run("tissue-interface", {folder / "s.ome.zarr", folder / "map.npy"}, options, true);
      ASSERT_TRUE(made) << made.error().message();
      const auto map = oct::read_npy(folder / "map.npy").value();
      for (std::uint64_t r = 0; r < kRows; ++r)
        for (std::uint64_t c = 0; c < kCols; ++c)
          EXPECT_EQ(map.values[r * kCols + c], interface_of(r, c, masked, cutting))
              << r << ' ' << c << " masked " << masked << " cutting " << cutting;
    }
  // Of no column that a mask holds nothing of there is a rise: the first plane.
  EXPECT_EQ(interface_of(0, 7, true, false), 1);
}

TEST(Interface, MaskOfAnotherShapeIsRefused) {
  const Folder folder;
  write_volume(folder / "s.ome.zarr", {kDepth, kRows, kCols}, {kDepth, 4, 4}, image);
  write_volume(folder / "mask.ome.zarr", {kDepth, kRows, kCols - 1}, {kDepth, 4, 4}, image);
  const auto made =
      run("tissue-interface", {folder / "s.ome.zarr", folder / "map.npy"}, {{"mask", folder / "mask.ome.zarr"}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::invalid_metadata);
  EXPECT_NE(made.error().message().find("mask.ome.zarr"), std::string::npos) << made.error().message();
}

TEST(Interface, CropKeepsWhatItIsToldTo) {
  const Folder folder;
  write_volume(folder / "s.ome.zarr", {40, 30, 30}, {40, 16, 16},
               [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
                 return (z < 12 ? 2.0 : 80.0) + static_cast<double>((z + r + c) % 5);
               });
  const auto crop = [&](std::map<std::string, std::string> options) {
    options["depth_um"] = "150";
    const auto made = run("crop-below-interface", {folder / "s.ome.zarr", folder / "c.ome.zarr"}, options, true);
    EXPECT_TRUE(made) << made.error().message();
    return std::pair(oct::metric(made->metrics, "interface_plane").value().get<int>(),
                     open_made(folder / "c.ome.zarr"));
  };
  for (const char* option : {"compat", "use_log", "pad_after"}) {
    const auto [plane, kept] = crop({{option, "true"}});
    EXPECT_TRUE(plane == 11 || plane == 12) << option << ' ' << plane;
    EXPECT_EQ(kept.shape, (Shape{15, 30, 30})) << option;
    EXPECT_EQ(kept.offset_mm[0], 0) << option;
  }
  const auto [plane, whole] = crop({{"keep_above_interface", "true"}, {"n_levels", "2"}});
  EXPECT_EQ(whole.shape, (Shape{static_cast<std::uint64_t>(plane) + 15, 30, 30}));
  EXPECT_NEAR(whole.offset_mm[0], -0.01 * plane, 1e-12);
  const auto all = values_of(folder / "c.ome.zarr"), from = values_of(folder / "s.ome.zarr");
  EXPECT_TRUE(std::equal(all.begin(), all.end(), from.begin()));
  EXPECT_TRUE(std::filesystem::exists(folder / "c.ome.zarr/1/zarr.json"));
}

TEST(Interface, IntensitiesThatAreNoNumbersAreLeftOut) {
  const Folder folder;
  write_volume(folder / "s.ome.zarr", {40, 30, 30}, {40, 16, 16},
               [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
                 if (r < 3 && c < 3) return std::nan("");
                 return z < 12 ? 2.0 : 80.0;
               });
  const auto made = run("crop-below-interface", {folder / "s.ome.zarr", folder / "c.ome.zarr"},
                        {{"depth_um", "150"}, {"sigma_xy", "1"}});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(oct::metric(made->metrics, "interface_plane").value(), 12);
  const auto refused =
      run("crop-below-interface", {folder / "s.ome.zarr", folder / "d.ome.zarr"}, {{"percentile_max", "99"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("no numbers"), std::string::npos) << refused.error().message();
  EXPECT_FALSE(std::filesystem::exists(folder / "d.ome.zarr/zarr.json"));
  const auto map = run("tissue-interface", {folder / "s.ome.zarr", folder / "map.npy"}, {{"sigma_xy", "1"}});
  ASSERT_TRUE(map) << map.error().message();
  const auto values = oct::read_npy(folder / "map.npy")->values;
  EXPECT_EQ(values[0], 0);
  EXPECT_NEAR(values[20 * 30 + 20], 11.5, 0.01);
}

TEST(Interface, TissueFromTheFirstPlaneOnIsKept) {
  const Folder folder;
  // No water above: intensity only falls, and the steepest rise is that of the mirrored end.
  write_volume(folder / "s.ome.zarr", {40, 30, 30}, {40, 16, 16}, [](std::uint64_t z, std::uint64_t, std::uint64_t) {
    return 90 * std::exp(-static_cast<double>(z) / 20);
  });
  const auto made = run("crop-below-interface", {folder / "s.ome.zarr", folder / "c.ome.zarr"}, {{"depth_um", "300"}});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(oct::metric(made->metrics, "interface_plane").value(), 0);
  EXPECT_NE(made->metrics.find("found at the first plane"), std::string::npos) << made->metrics;
  EXPECT_EQ(open_made(folder / "c.ome.zarr").shape, (Shape{30, 30, 30}));
}
