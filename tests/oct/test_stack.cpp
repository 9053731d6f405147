// Slices that grow dark with depth make a volume that does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/stack/falloff.hpp"
#include "volumes.hpp"

namespace penstock::oct_test {
namespace {

constexpr double kFalloff = 0.03;  // 1/plane
constexpr std::uint64_t kPlanes = 20, kApart = 12, kSide = 24;

double tissue(std::uint64_t z, std::uint64_t r, std::uint64_t c) {
  return 100 + 20 * std::sin(0.3 * static_cast<double>(z)) + static_cast<double>((3 * r + 5 * c) % 17);
}

/// Three slices of the same tissue, each dark with depth.
void write_slices(const Folder& folder) {
  for (std::uint64_t k = 0; k < 3; ++k) {
    write_volume(folder / ("s/slice_z0" + std::to_string(k) + "_common.ome.zarr"), {kPlanes, kSide, kSide},
                 {kPlanes, kSide, kSide}, [&](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
                   if (r == 0) return 0.0;  // a slice does not cover the image
                   if (r == 1 && k == 1) return std::nan("");
                   return tissue(kApart * k + z, r, c) * std::exp(-kFalloff * static_cast<double>(z));
                 });
  }
}

Result<OctResult> stack(const Folder& folder, const std::string& out, std::map<std::string, std::string> more = {},
                        const Options& how = {}) {
  more["slicing_interval_mm"] = "0.12";
  return run("stack", {folder / "s", folder / out}, more, false, how);
}

/// The worst departure from the tissue, relative.
double worst(const std::vector<float>& values) {
  double worst = 0;
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    const std::uint64_t z = i / (kSide * kSide), r = i / kSide % kSide, c = i % kSide;
    if (r > 1) worst = std::max(worst, std::abs(values[i] / tissue(z, r, c) - 1));
  }
  return worst;
}

TEST(Stack, EvensOutWhatIsLostWithDepth) {
  const Folder folder;
  write_slices(folder);
  const auto made = stack(folder, "even.ome.zarr");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(made->metrics.find("0.03"), std::string::npos) << made->metrics;
  EXPECT_LT(worst(values_of(folder / "even.ome.zarr")), 1e-5);
  const auto left = stack(folder, "kept.ome.zarr", {{"keep_falloff", "true"}});
  ASSERT_TRUE(left) << left.error().message();
  // All slices are read once for the falloff and once for the volume.
  constexpr std::uint64_t bytes = 3 * kPlanes * kSide * kSide * 4;
  EXPECT_EQ(oct::metric(made->metrics, "read_bytes").value(), 2 * bytes);
  EXPECT_EQ(oct::metric(left->metrics, "read_bytes").value(), bytes);
  EXPECT_EQ(oct::metric(left->metrics, "written_bytes").value(), (2 * kApart + kPlanes) * kSide * kSide * 4);
  const auto kept = values_of(folder / "kept.ome.zarr");
  EXPECT_NEAR(worst(kept), 1 - std::exp(-kFalloff * (kPlanes - 1)), 1e-3);
  EXPECT_FLOAT_EQ(kept[kSide * 5], static_cast<float>(tissue(0, 5, 0)));
}

TEST(Stack, GivesTheSameBytesWithinASmallBudget) {
  const Folder folder;
  for (std::uint64_t k = 0; k < 2; ++k)
    write_volume(folder / ("s/slice_z0" + std::to_string(k) + "_common.ome.zarr"), {20, 450, 350}, {20, 100, 100},
                 [&](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
                   return tissue(12 * k + z, r, c) * std::exp(-0.02 * static_cast<double>(z));
                 });
  ASSERT_TRUE(stack(folder, "large.ome.zarr", {{"n_levels", "1"}}));
  Options small;
  small.budget_bytes = std::uint64_t{16} << 20;
  small.threads = 1;
  const auto tight = stack(folder, "small.ome.zarr", {{"n_levels", "1"}}, small);
  ASSERT_TRUE(tight) << tight.error().message();
  EXPECT_EQ(values_of(folder / "small.ome.zarr"), values_of(folder / "large.ome.zarr"));
}

TEST(Stack, SaysWhenNothingIsShared) {
  const Folder folder;
  for (const char* k : {"0", "1"})
    write_volume(folder / (std::string("s/slice_z0") + k + "_common.ome.zarr"), {8, 8, 8}, {8, 8, 8},
                 [](std::uint64_t, std::uint64_t, std::uint64_t) { return 1; });
  const auto made = stack(folder, "v.ome.zarr");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NE(made->metrics.find("share"), std::string::npos) << made->metrics;
}

TEST(Falloff, IsThatOfMostPlanes) {
  const std::vector<oct::stack::SliceInStack> slices = {{0, 20, 0, 0, 0}, {12, 20, 20, 8, 0}, {24, 5, 40, 5, 8}};
  const auto shared = oct::shared_planes(slices);
  ASSERT_EQ(shared.size(), 8u + 5);
  EXPECT_EQ(shared[0].upper, 12u);
  EXPECT_EQ(shared[0].lower, 20u);
  EXPECT_EQ(shared[12].upper, 20u + 16);
  EXPECT_EQ(shared[12].lower, 40u + 4);
  std::vector<double> sums;
  for (std::size_t p = 0; p < shared.size(); ++p) {
    sums.push_back(p < 3 ? 0 : 50);  // nothing is seen there
    sums.push_back(p < 3 ? 0 : (p > 10 ? 4 : 1) * 50 * std::exp(0.03 * 12));
  }
  EXPECT_NEAR(oct::falloff_of(shared, sums).value(), 0.03, 1e-9);
  std::ranges::fill(sums, 0);
  EXPECT_FALSE(oct::falloff_of(shared, sums));
  for (std::size_t p = 0; p < shared.size(); ++p) sums[2 * p] = 2, sums[2 * p + 1] = 1;
  EXPECT_EQ(oct::falloff_of(shared, sums), 0);  // brighter with depth: that is no falloff
  std::ranges::fill(sums, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(oct::falloff_of(shared, sums));
  EXPECT_EQ(oct::depth_gains(1000, 3), (std::vector<float>{1, 100, 100}));
}

}  // namespace
}  // namespace penstock::oct_test
