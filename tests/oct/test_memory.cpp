// What steps take of the machine: their budget and little more, though what they work on is several times larger.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/memory.hpp"
#include "store/in_child.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;
using penstock::test::in_child;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kBudget = 64 * kMiB;
constexpr std::uint64_t kDepth = 64, kTile = 64, kTiles = 14;  // tiles along each side of a mosaic of 196 MiB

/// A line of /proc/self/status, in bytes.
std::uint64_t memory_line(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (words >> key >> kib && key == name + ":") return kib << 10;
  }
  return 0;
}

/// Tissue below a tilted surface; tiles overlap by a quarter.
float intensity(std::uint64_t z, std::uint64_t r, std::uint64_t c) {
  constexpr std::uint64_t step = kTile * 3 / 4;
  const std::uint64_t y = r / kTile * step + r % kTile, x = c / kTile * step + c % kTile;
  const std::uint64_t surface = 10 + y / 200 + x / 300;
  const std::uint64_t noise = (y * 7919 + x * 104729 + z * 31) % 17;
  return static_cast<float>(z < surface ? 5 + noise / 8 : 40 + (y / 9 * 13 + x / 7 * 29) % 50 + noise);
}

/// Written an object of the volume at a time.
std::string make_large(const std::string& path, const Shape& shape, const Shape& chunks) {
  oct::VolumeSpec spec;
  spec.shape = shape;
  spec.chunks = chunks;
  spec.spacing_mm = {0.01, 0.01, 0.01};
  auto made = oct::NewVolume::create(path, spec, false);
  if (!made) return made.error().message();
  std::vector<float> values;
  for (std::uint64_t r = 0; r < shape[1]; r += chunks[1])
    for (std::uint64_t c = 0; c < shape[2]; c += chunks[2]) {
      const std::uint64_t rows = std::min(chunks[1], shape[1] - r), cols = std::min(chunks[2], shape[2] - c);
      values.resize(shape[0] * rows * cols);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = intensity(i / cols / rows, r + i / cols % rows, c + i % cols);
      const auto written = oct::write_block(made->array(), {{0, shape[0], 1}, {r, rows, 1}, {c, cols, 1}}, values, {});
      if (!written) return written.error().message();
    }
  const auto finished = made->finish({}, {});
  return finished ? "" : finished.error().message();
}

/// Tiles as the microscope writes them, `kTiles` along each side.
void make_raw(const Folder& folder) {
  std::vector<float> samples(kDepth * (kTile + 8) * kTile);
  for (std::uint64_t i = 0; i < kTiles; ++i)
    for (std::uint64_t j = 0; j < kTiles; ++j) {
      const std::string tile = "raw/tile_x" + std::to_string(i) + "_y" + std::to_string(j) + "_z00";
      std::filesystem::create_directories(folder / tile);
      folder.write(tile + "/info.txt",
                   "nx: 64\nny: 64\nn_extra: 8\nwidth: 640\nheight: 640\ntop_z: 0\n"
                   "bottom_z: 63\n");
      for (std::size_t k = 0; k < samples.size(); ++k)
        samples[k] =
            intensity(k % kDepth, i * kTile + k / kDepth % (kTile + 8) % kTile, j * kTile + k / kDepth / (kTile + 8));
      std::string bytes(samples.size() * sizeof(float), '\0');
      std::memcpy(bytes.data(), samples.data(), bytes.size());
      folder.write(tile + "/image_00000.bin", bytes);
    }
}

struct Case {
  std::string step;
  std::vector<std::string> paths;
  std::map<std::string, std::string> options = {};
  std::uint64_t budget_bytes = kBudget;
};

/// "" where the step took no more of the machine than its budget and 64 MiB; else what it took.  For a child process.
std::string run_within_budget(const Case& wanted) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const std::uint64_t before = memory_line("VmRSS");
  Options options;
  options.budget_bytes = wanted.budget_bytes;
  options.threads = 4;
  const auto done = run(wanted.step, wanted.paths, wanted.options, false, options);
  const std::uint64_t took = memory_line("VmHWM") - before;
  if (!done) return done.error().message();
  const auto given = oct::metric(done->metrics, "peak_memory_bytes").value().get<std::uint64_t>();
  if (std::getenv("PENSTOCK_TEST_TELL") != nullptr)
    std::fprintf(stderr, "%-22s %4llu MiB, %4llu of them blocks\n", wanted.step.c_str(),
                 static_cast<unsigned long long>(took / kMiB), static_cast<unsigned long long>(given / kMiB));
  if (given > wanted.budget_bytes) return std::to_string(given) + " bytes were given";
  return took <= wanted.budget_bytes + 64 * kMiB ? "" : std::to_string(took / kMiB) + " MiB were taken";
}

}  // namespace

TEST(StepMemory, StaysInTheBudgetHoweverLargeTheSubject) {
  const Folder folder;
  const std::uint64_t side = kTiles * kTile;
  const std::string mosaic = folder / "mosaic_z00.ome.zarr", slice = folder / "slices/slice_z00_crop.ome.zarr";
  ASSERT_EQ(in_child([&]() -> std::string {
              make_raw(folder);
              std::string said = make_large(mosaic, {kDepth, side, side}, {kDepth, kTile, kTile});
              for (const std::string k : {"0", "1"})
                said += make_large(folder / ("slices/slice_z0" + k + "_crop.ome.zarr"), {kDepth, side, side},
                                   {kDepth, 100, 100});
              return said;
            }),
            "");
  folder.write("shifts.csv",
               "fixed_id,moving_id,x_shift,y_shift,x_shift_mm,y_shift_mm,reliable\n0,1,3,4,0.033,0.044,1\n");
  folder.write("steps.toml", "input = \"" + mosaic + "\"\noutput = \"" + (folder / "fused.ome.zarr") +
                                 "\"\n[[step]]\nname = \"fix-focal-curvature\"\n[[step]]\nname = \"fix-illumination\"\n"
                                 "[[step]]\nname = \"crop-below-interface\"\ntiles = true\n[[step]]\nname = "
                                 "\"normalize\"\ntiles = true\n");
  const std::map<std::string, std::string> tiles = {{"tiles", "true"}};
  const std::vector<Case> cases = {
      {"mosaic", {folder / "raw", folder / "raw_z00.ome.zarr"}, {{"axial_resolution_um", "10"}}},
      {"mosaic",
       {folder / "raw", folder / "coarse_z00.ome.zarr"},
       {{"axial_resolution_um", "10"}, {"resolution_um", "15"}, {"sharding_factor", "2"}}},
      {"resample-mosaic", {mosaic, folder / "resampled.ome.zarr"}, {{"resolution_um", "15"}}},
      {"fix-focal-curvature", {mosaic, folder / "focal.ome.zarr"}},
      {"fix-illumination", {mosaic, folder / "overlap.ome.zarr"}, {{"method", "overlap"}}},
      {"fix-illumination", {mosaic, folder / "mean.ome.zarr"}, {{"method", "mean"}}},
      {"fix-illumination",
       {mosaic, folder / "basic.ome.zarr"},
       {{"method", "basic"}, {"working_size", "32"}, {"max_iterations", "10"}}},
      {"aip", {mosaic, folder / "aip.ome.zarr"}},
      {"aip-png", {mosaic, folder / "aip.png"}},
      {"estimate-transform", {folder / "aip.ome.zarr", folder / "transform.npy"}, {{"initial_overlap", "0.25"}}},
      {"stitch", {mosaic, folder / "stitched.ome.zarr"}, {{"transform", folder / "transform.npy"}}, 96 * kMiB},
      {"tissue-interface", {slice, folder / "map.npy"}},
      {"crop-below-interface", {slice, folder / "cropped.ome.zarr"}, {{"percentile_max", "99.9"}}},
      {"crop-below-interface", {mosaic, folder / "cropped_tiles.ome.zarr"}, tiles},
      {"normalize", {slice, folder / "normal.ome.zarr"}, {{"n_levels", "3"}}},
      {"normalize", {mosaic, folder / "normal_tiles.ome.zarr"}, tiles},
      {"run", {folder / "steps.toml"}},
      {"common-space", {folder / "slices", folder / "moved"}, {{"shifts", folder / "shifts.csv"}}},
      {"find-z-overlap",
       {folder / "moved/slice_z00_common.ome.zarr", folder / "moved/slice_z01_common.ome.zarr"},
       {{"slicing_interval_mm", "0.4"}}},
      {"stack", {folder / "moved", folder / "volume.ome.zarr"}, {{"slicing_interval_mm", "0.4"}}, 96 * kMiB},
      {"pyramid", {slice, folder / "levels.ome.zarr"}, {{"n_levels", "4"}}},
      {"pyramid", {slice, folder / "finer.ome.zarr"}, {{"resolutions_um", "15,40"}}, 112 * kMiB}};
  for (const Case& each : cases)
    EXPECT_EQ(in_child([&] { return run_within_budget(each); }), "") << each.step << " " << each.paths.back();
}

TEST(StepMemory, GivesBlocksOrSaysHowMuchIsNeeded) {
  Options given;
  given.budget_bytes = 4 * kMiB;
  const Options owned = oct::StepMemory::options({}, given).value();
  EXPECT_EQ(owned.budget_bytes, 4 * kMiB);
  {
    const auto first = owned.memory->allocate(3 * kMiB, 256, {});
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_EQ(oct::what_is_left(owned).budget_bytes, kMiB);
    const auto second = owned.memory->allocate(2 * kMiB, 256, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::budget_too_small);
    EXPECT_NE(second.error().hint().find("5242880"), std::string::npos) << second.error().hint();
    // A step that this one runs takes from the same budget.
    const Options inner = oct::StepMemory::options({}, owned).value();
    EXPECT_EQ(inner.budget_bytes, kMiB);
    EXPECT_FALSE(inner.memory->allocate(2 * kMiB, 256, {}));
    EXPECT_TRUE(inner.memory->allocate(kMiB, 256, {}));
  }
  EXPECT_EQ(owned.memory->in_use_bytes(), 0U);
  EXPECT_EQ(owned.memory->peak_bytes(), 4 * kMiB);
  EXPECT_EQ(oct::what_is_left(owned).budget_bytes, 4 * kMiB);
}
