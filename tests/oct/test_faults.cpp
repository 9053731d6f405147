// What single odd tiles and pixels must not decide: the galvo's shift of a slice, and where tiles lie.
#include <gtest/gtest.h>

#include <cstring>

#include "core/json.hpp"
#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/illumination/flat_field.hpp"
#include "oct/simulate/noise.hpp"
#include "oct/transform/pairs.hpp"

using namespace penstock;
using namespace penstock::oct_test;

TEST(Faults, OneTileDoesNotDecideTheGalvoShift) {
  const Folder folder;
  simulate(folder, "12");
  const Json truth = parse_json(folder.text("subject/truth.json")).value();
  const auto shift = truth["slices"][0]["galvo_shift"].get<std::uint64_t>();
  constexpr std::uint64_t nx = 64, extra = 12, lines = nx + extra, depth = 60;
  // One of the tiles that are looked at was written 20 lines later, and shows the way back most clearly.
  for (const char* name : {"image_00000.bin", "image_00001.bin"}) {
    const std::string path = std::string("subject/raw/z00/tile_x00_y02_z00/") + name, before = folder.text(path);
    ASSERT_EQ(before.size() % (4 * depth * lines), 0U);
    std::vector<float> from(before.size() / 4), to(from.size());
    std::memcpy(from.data(), before.data(), before.size());
    for (std::uint64_t i = 0; i < from.size(); ++i) {
      const std::uint64_t scan = i / depth / lines, line = i / depth % lines, source = (line + 20) % lines;
      const bool back = (source + shift) % lines >= nx;
      to[i] = from[(scan * lines + source) * depth + i % depth] * (back ? 0.05F : 1.0F);
    }
    std::string after(before.size(), '\0');
    std::memcpy(after.data(), to.data(), after.size());
    folder.write(path, after);
  }
  const auto made =
      run("mosaic", {folder / "subject/raw", folder / "mosaic_grid_z00.ome.zarr"}, {{"axial_resolution_um", "10"}});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(oct::metric(made->metrics, "galvo_shift").value(), shift);
  // One of five says something else: less sure, but sure.
  const double sure = oct::metric(made->metrics, "galvo_confidence").value().get<double>();
  EXPECT_GE(sure, 0.6);
  EXPECT_LE(sure, std::sqrt(0.8) + 1e-9);
}

TEST(Faults, SaturatedPixelsDoNotSayWhereTilesLie) {
  // Two tiles of 60 x 60, the second 49 columns further and 1 row down.
  constexpr std::uint64_t side = 60;
  oct::Image image{side, 2 * side, std::vector<float>(2 * side * side)};
  for (std::uint64_t r = 0; r < side; ++r)
    for (std::uint64_t c = 0; c < 2 * side; ++c) {
      const double row = static_cast<double>(r + (c < side ? 0 : 1)),
                   col = static_cast<double>(c < side ? c : c - side + 49);
      image.values[r * 2 * side + c] = static_cast<float>(10 + 20 * oct::smooth_noise(4, 0, row / 4, col / 4));
    }
  const oct::TileGrid grid{1, 2, side, side};
  const auto clean = oct::find_pairs(image, grid, {}, {});
  ASSERT_TRUE(clean && clean->found.size() == 1);
  EXPECT_NEAR(clean->found[0].offset.col, 49, 0.1);
  EXPECT_NEAR(clean->found[0].offset.row, 1, 0.1);
  image.values[30 * 2 * side + 52] = 5000;        // in the overlap of the first,
  image.values[20 * 2 * side + side + 6] = 4000;  // and elsewhere in that of the second
  const auto odd = oct::find_pairs(image, grid, {}, {});
  ASSERT_TRUE(odd);
  ASSERT_EQ(odd->found.size(), 1U);
  EXPECT_NEAR(odd->found[0].offset.col, 49, 0.1);
  EXPECT_NEAR(odd->found[0].offset.row, 1, 0.1);
  EXPECT_GT(odd->found[0].offset.score, 0.95);
  const auto field = oct::overlap_flat_field(image, grid, {});
  ASSERT_TRUE(field);
  for (const double v : field->values) ASSERT_NEAR(v, 1, 0.02);
}
