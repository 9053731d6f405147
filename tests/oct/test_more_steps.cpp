// Steps that a reconstruction does not need: pictures, resampling, normalising, overlaps along depth.
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "core/json.hpp"
#include "folder.hpp"
#include "oct/align/z_overlap.hpp"
#include "oct/file/metrics.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/png.hpp"
#include "oct/mosaic/resample.hpp"
#include "oct/simulate/noise.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;

namespace {

double noise(double z, double r, double c) { return 10 + 20 * oct::smooth_noise(4, z / 3, r / 4, c / 4); }

/// Normalised, multiplied, averaged.
double correlation(std::span<const double> p, std::span<const double> q) {
  const auto n = static_cast<double>(p.size());
  double mp = 0, mq = 0, vp = 0, vq = 0, pq = 0;
  for (std::size_t i = 0; i < p.size(); ++i) mp += p[i] / n, mq += q[i] / n;
  for (std::size_t i = 0; i < p.size(); ++i)
    vp += (p[i] - mp) * (p[i] - mp) / n, vq += (q[i] - mq) * (q[i] - mq) / n, pq += (p[i] - mp) * (q[i] - mq) / n;
  return pq / std::sqrt(vp * vq);
}

}  // namespace

TEST(Resample, KeepsTilesApartAndSaysTheTrueSpacing) {
  const Folder folder;
  // Tiles of one value each: nothing of a neighbour may leak in.
  write_volume(folder / "m.ome.zarr", {20, 66, 44}, {20, 22, 22}, [](std::uint64_t, std::uint64_t r, std::uint64_t c) {
    return static_cast<double>(1 + r / 22 * 2 + c / 22);
  });
  for (const std::string align : {"half_pixel", "corners"}) {
    const std::string out = folder / (align + ".ome.zarr");
    const auto made = run("resample-mosaic", {folder / "m.ome.zarr", out}, {{"resolution_um", "11"}, {"align", align}});
    ASSERT_TRUE(made) << made.error().message();
    const oct::Volume v = open_made(out);
    EXPECT_EQ(v.chunks, (Shape{18, 20, 20}));  // 22 to 20: where SciPy's zoom loses the last plane
    EXPECT_EQ(v.shape, (Shape{18, 60, 40}));
    EXPECT_NEAR(v.spacing_mm[1], 0.011, 1e-12);
    EXPECT_NEAR(v.spacing_mm[0], 0.2 / 18, 1e-12);
    const auto values = values_of(out);
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      const std::uint64_t r = i / 40 % 60, c = i % 40;
      ASSERT_FLOAT_EQ(values[i], static_cast<float>(1 + r / 20 * 2 + c / 20)) << i;
    }
  }
  EXPECT_EQ(oct::resampled_extent(400, 0.001875, 0.01), 75u);
  EXPECT_EQ(oct::resampled_extent(5, 0.01, 0.02), 2u);  // half to even
  EXPECT_EQ(oct::resampled_extent(3, 0.001, 0.1), 1u);
  EXPECT_FALSE(run("resample-mosaic", {folder / "m.ome.zarr", folder / "x.ome.zarr"}, {{"resolution_um", "0"}}));
  EXPECT_FALSE(run("resample-mosaic", {folder / "m.ome.zarr", folder / "x.ome.zarr"}, {{"resolution_um", "0.1"}}));
}

TEST(Normalize, BringsPlanesBetweenAgaroseAndTheirBrightest) {
  const Folder folder;
  // Left half agarose of 10 + z, right half tissue; the plane's brightest is 100 + z, but for one that is far above.
  write_volume(folder / "s.ome.zarr", {5, 40, 40}, {3, 20, 20}, [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
    if (r == 0 && c == 39 && z == 2) return 500.0;
    const auto plane = static_cast<double>(z);
    return c < 20 ? 10 + plane : 50 + plane + 50 * static_cast<double>(r) / 39;
  });
  const auto made = run("normalize", {folder / "s.ome.zarr", folder / "n.ome.zarr"}, {{"percentile_max", "99.5"}});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_NEAR(oct::metric(made->metrics, "agarose_coverage").value().get<double>(), 0.5, 0.03);
  const auto values = values_of(folder / "n.ome.zarr");
  for (std::uint64_t z = 0; z < 5; ++z) {
    const float* const plane = values.data() + z * 1600;
    EXPECT_EQ(plane[20 * 40 + 5], 0) << z;                  // agarose
    EXPECT_NEAR(plane[39 * 40 + 30], 1, 0.02) << z;         // the brightest
    EXPECT_NEAR(plane[0 * 40 + 30], 40.0 / 90, 0.02) << z;  // the darkest tissue
    for (int i = 0; i < 1600; ++i) ASSERT_TRUE(plane[i] >= 0 && plane[i] <= 1) << i;
  }
  // The same with a budget of a few planes.
  Options small;
  small.budget_bytes = std::uint64_t{16} << 20;
  const auto tight =
      run("normalize", {folder / "s.ome.zarr", folder / "t.ome.zarr"}, {{"percentile_max", "99.5"}}, false, small);
  ASSERT_TRUE(tight) << tight.error().message();
  EXPECT_EQ(values_of(folder / "t.ome.zarr"), values);
  write_volume(folder / "zero.ome.zarr", {2, 9, 9}, {2, 9, 9}, [](auto, auto, auto) { return 0.0; });
  const auto empty = run("normalize", {folder / "zero.ome.zarr", folder / "z.ome.zarr"});
  ASSERT_TRUE(empty) << empty.error().message();
  EXPECT_NE(empty->metrics.find("no agarose"), std::string::npos);
  EXPECT_EQ(values_of(folder / "z.ome.zarr"), std::vector<float>(162, 0));
}

// Both grow dark with depth, as slices do: the mean of all planes pulls, that of each plane does not.
TEST(ZOverlap, IsNotPulledByWhatGrowsDark) {
  const Folder folder;
  constexpr std::uint64_t depth = 24, shared = 12;
  // Grains of their own make the best overlap less than perfect.
  const auto dim = [](std::uint64_t first) {
    return [first](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
      const double there = noise(static_cast<double>(z + first), static_cast<double>(r), static_cast<double>(c));
      const double grain = 0.5 + oct::unit(oct::mixed(first + 1, z, r, c));
      return (3 + there) * std::exp(-0.08 * static_cast<double>(z)) * grain;
    };
  };
  write_volume(folder / "a.ome.zarr", {depth, 80, 80}, {24, 40, 40}, dim(0));
  write_volume(folder / "b.ome.zarr", {depth, 80, 80}, {24, 40, 40}, dim(depth - shared));
  std::map<std::string, std::string> how = {{"slicing_interval_mm", "0.12"}, {"search_range_mm", "0.06"}};
  const auto found = run("find-z-overlap", {folder / "a.ome.zarr", folder / "b.ome.zarr"}, how);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(oct::metric(found->metrics, "overlap").value(), shared);
  how["compat"] = "true";
  const auto pulled = run("find-z-overlap", {folder / "a.ome.zarr", folder / "b.ome.zarr"}, how);
  ASSERT_TRUE(pulled) << pulled.error().message();
  EXPECT_NE(oct::metric(pulled->metrics, "overlap").value(), shared);
}

// Water without noise varies by what rounding leaves of it.
TEST(ZOverlap, IsNotMovedByPlanesThatDoNotVary) {
  const Folder folder;
  constexpr std::uint64_t depth = 20, shared = 9, water = 3;
  const auto upper = [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
    return noise(static_cast<double>(z), static_cast<double>(r), static_cast<double>(c));
  };
  const auto lower = [&](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
    return z < water ? 0.02 : upper(z + depth - shared, r, c);
  };
  write_volume(folder / "a.ome.zarr", {depth, 130, 120}, {20, 50, 50}, upper);
  write_volume(folder / "b.ome.zarr", {depth, 130, 120}, {20, 50, 50}, lower);
  const auto flat = [](std::uint64_t, std::uint64_t, std::uint64_t) { return 0.02; };
  write_volume(folder / "flat.ome.zarr", {depth, 130, 120}, {20, 50, 50}, flat);
  const std::map<std::string, std::string> how = {{"slicing_interval_mm", "0.12"}, {"search_range_mm", "0.04"}};
  const auto found = run("find-z-overlap", {folder / "a.ome.zarr", folder / "b.ome.zarr"}, how);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(oct::metric(found->metrics, "overlap").value(), shared);
  const auto none = run("find-z-overlap", {folder / "a.ome.zarr", folder / "flat.ome.zarr"}, how);
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_EQ(oct::metric(none->metrics, "overlap").value(), 8);  // of 20 planes, 12 apart
  EXPECT_NE(none->metrics.find("nothing varies"), std::string::npos) << none->metrics;
}

TEST(ZOverlap, IsThatOfThePlanesAndOfTheDefinition) {
  const Folder folder;
  constexpr std::uint64_t depth = 20, shared = 7;
  const auto world = [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
    return noise(static_cast<double>(z), static_cast<double>(r), static_cast<double>(c));
  };
  write_volume(folder / "a.ome.zarr", {depth, 130, 120}, {20, 50, 50}, world);
  write_volume(folder / "b.ome.zarr", {depth, 130, 120}, {20, 50, 50},
               [&](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
                 return 3 * world(z + depth - shared, r, c) + 5;  // brightness does not count
               });
  const auto found = run("find-z-overlap", {folder / "a.ome.zarr", folder / "b.ome.zarr"},
                         {{"slicing_interval_mm", "0.11"}, {"search_range_mm", "0.06"}});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(oct::metric(found->metrics, "overlap").value(), shared);
  EXPECT_NEAR(oct::metric(found->metrics, "score").value().get<double>(), 1, 1e-4);
  // One overlap by the definition: normalised, multiplied, averaged.
  const oct::Volume a = open_made(folder / "a.ome.zarr"), b = open_made(folder / "b.ome.zarr");
  const auto one = oct::best_z_overlap(a, b, "a", "b", 4, 4, {}, {}, oct::Normalised::together);
  ASSERT_TRUE(one);
  std::vector<double> p, q;
  for (std::uint64_t z = 0; z < 4; ++z)
    for (std::uint64_t r = 30; r < 100; ++r)
      for (std::uint64_t c = 30; c < 90; ++c) {
        p.push_back(world(depth - 4 + z, r, c));
        q.push_back(3 * world(z + depth - shared, r, c) + 5);
      }
  EXPECT_NEAR(one->score, correlation(p, q), 1e-4);
  const auto each = oct::best_z_overlap(a, b, "a", "b", 4, 4, {}, {});
  ASSERT_TRUE(each);
  double mean = 0;
  for (std::size_t z = 0; z < 4; ++z)
    mean += correlation(std::span(p).subspan(z * 4200, 4200), std::span(q).subspan(z * 4200, 4200)) / 4;
  EXPECT_NEAR(each->score, mean, 1e-4);
  const auto none =
      run("find-z-overlap", {folder / "a.ome.zarr", folder / "b.ome.zarr"}, {{"slicing_interval_mm", "0.5"}});
  ASSERT_TRUE(none);
  EXPECT_EQ(oct::metric(none->metrics, "overlap").value(), 0);
  write_volume(folder / "c.ome.zarr", {depth, 130, 119}, {20, 50, 50}, world);
  EXPECT_EQ(run("find-z-overlap", {folder / "a.ome.zarr", folder / "c.ome.zarr"}).error().code(),
            ErrorCode::invalid_metadata);
}

namespace {

/// What the made subject's focus is: planes below the mean, of a tile.
std::vector<double> true_focus(const Folder& folder) {
  const double focal = parse_json(folder.text("subject/truth.json")).value()["focal_planes"].get<double>();
  std::vector<double> map;
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < 64; ++c) {
      const double u = r / 63.0 - 0.5, v = c / 63.0 - 0.5;
      map.push_back(focal * (2 * (u * u + v * v) - 1.0 / 3));
    }
  return map;
}

double rms(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v / static_cast<double>(values.size());
  return std::sqrt(sum);
}

}  // namespace

TEST(Focal, MapIsTheSubjectsAndIsGoneAfterwards) {
  const Folder folder;
  simulate(folder, "8");
  const std::string mosaic = folder / "subject/truth/mosaic_grid_z01.ome.zarr";
  const auto made = run("fix-focal-curvature", {mosaic, folder / "fixed.ome.zarr"});
  ASSERT_TRUE(made) << made.error().message();
  const std::vector<double> truth = true_focus(folder), map = oct::read_npy(folder / "fixed_focal.npy").value().values;
  std::vector<double> error(truth.size());
  for (std::size_t i = 0; i < error.size(); ++i) error[i] = map[i] - truth[i];
  EXPECT_GT(rms(truth), 0.1);
  EXPECT_LT(rms(error), 0.5 * rms(truth));
  const auto again = run("fix-focal-curvature", {folder / "fixed.ome.zarr", folder / "twice.ome.zarr"});
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_LT(rms(oct::read_npy(folder / "twice_focal.npy").value().values), 0.5 * rms(map));
}

TEST(Focal, CompatMovesByWholePlanesAroundTheEnd) {
  const Folder folder;
  // The surface lies 4 planes deeper in the middle column of each tile of 9.
  write_volume(folder / "m.ome.zarr", {30, 9, 18}, {30, 9, 9}, [](std::uint64_t z, std::uint64_t, std::uint64_t c) {
    const std::uint64_t top = c % 9 == 4 ? 14 : 10;
    return z < top ? 1.0 : 100.0 + static_cast<double>(z);
  });
  const auto made = run("fix-focal-curvature", {folder / "m.ome.zarr", folder / "f.ome.zarr"},
                        {{"sigma_xy", "1"}, {"smoothness", "0"}, {"compat", "true"}});
  ASSERT_TRUE(made) << made.error().message();
  const auto values = values_of(folder / "f.ome.zarr");
  const auto at = [&](std::uint64_t z, std::uint64_t c) { return values[(z * 9 + 4) * 18 + c]; };
  // Mean 0: the middle lies 4 * 8/9 deeper than the mean, the rest 4/9 higher; cut off to 3 and 0.
  EXPECT_EQ(at(10, 0), 110);
  EXPECT_EQ(at(11, 4), 114);
  EXPECT_EQ(at(10, 4), 1);
  EXPECT_EQ(at(29, 4), 1);  // from the top
}

TEST(InterfaceMap, IsFoundInEachColumnWhateverTheBands) {
  const Folder folder;
  write_volume(folder / "s.ome.zarr", {40, 60, 20}, {40, 20, 20},
               [](std::uint64_t z, std::uint64_t r, std::uint64_t) { return z < 8 + r / 4 ? 2.0 : 90.0; });
  const auto made = run("tissue-interface", {folder / "s.ome.zarr", folder / "map.npy"}, {{"sigma_xy", "1"}});
  ASSERT_TRUE(made) << made.error().message();
  const auto map = oct::read_npy(folder / "map.npy").value();
  EXPECT_EQ(map.shape, (Shape{60, 20}));
  for (std::uint64_t r = 0; r < 60; ++r)
    ASSERT_NEAR(map.values[r * 20 + 7], 7.5 + static_cast<double>(r / 4), 0.01) << r;
  const auto wide = run("tissue-interface", {folder / "s.ome.zarr", folder / "wide.npy"});
  Options small;
  small.budget_bytes = 1 << 20;
  const auto bands = run("tissue-interface", {folder / "s.ome.zarr", folder / "bands.npy"}, {}, false, small);
  ASSERT_TRUE(wide && bands);
  EXPECT_EQ(oct::read_npy(folder / "wide.npy")->values, oct::read_npy(folder / "bands.npy")->values);
  const auto compat =
      run("tissue-interface", {folder / "s.ome.zarr", folder / "compat.npy"}, {{"sigma_xy", "1"}, {"compat", "true"}});
  ASSERT_TRUE(compat);
  EXPECT_EQ(oct::read_npy(folder / "compat.npy")->values[0], 8);  // ceil(7 + 1)
}

TEST(Picture, HasTheMeanOverDepth) {
  const Folder folder;
  write_volume(folder / "v.ome.zarr", {4, 30, 50}, {4, 30, 50},
               [](std::uint64_t z, std::uint64_t r, std::uint64_t) { return static_cast<double>(10 * z + r); });
  const auto made =
      run("aip-png", {folder / "v.ome.zarr", folder / "v.png"}, {{"percentile_min", "0"}, {"percentile_max", "100"}});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(oct::metric(made->metrics, "black").value().get<double>(), 15);
  EXPECT_EQ(oct::metric(made->metrics, "white").value().get<double>(), 44);
  EXPECT_TRUE(std::filesystem::exists(folder / "v_aip_png_metrics.json"));
  const std::string png = folder.text("v.png");
  std::vector<std::uint16_t> expected;
  for (int r = 0; r < 30; ++r)
    for (int c = 0; c < 50; ++c) expected.push_back(static_cast<std::uint16_t>(65535.0 * (r / 29.0)));
  EXPECT_EQ(png, oct::png_text(50, 30, expected).value());
  EXPECT_EQ(png.substr(16, 9), std::string("\0\0\0\x32\0\0\0\x1e\x10", 9));
  EXPECT_EQ(run("aip-png", {folder / "v.ome.zarr", folder / "v.png"}).error().code(), ErrorCode::already_exists);
  EXPECT_EQ(run("aip-png", {folder / "v.ome.zarr", folder / "v.jpg"}).error().code(), ErrorCode::invalid_argument);
}
