// BaSiC beside BaSiCPy's answer and the truth, alone and in a step.
#include <gtest/gtest.h>

#include <cmath>

#include "folder.hpp"
#include "oct/file/metrics.hpp"
#include "oct/file/npy.hpp"
#include "oct/illumination/basic.hpp"
#include "oct/work.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;

namespace {

// The images of golden/make_basicpy.py.
constexpr std::uint64_t kTiles = 24, kRows = 40, kCols = 48, kPixels = kRows * kCols;

/// Numbers of [0, 1) that look like chance: MurmurHash3's finaliser of an index.
double unit(std::uint64_t i) {
  auto x = static_cast<std::uint32_t>(i * 2654435761U);
  x ^= x >> 16, x *= 0x85ebca6bU, x ^= x >> 13, x *= 0xc2b2ae35U, x ^= x >> 16;
  return static_cast<double>(x) / 4294967296.0;
}
double field_at(std::uint64_t r, std::uint64_t c) {
  const double y = 2 * static_cast<double>(r) / (kRows - 1) - 1, x = 2 * static_cast<double>(c) / (kCols - 1) - 1;
  return 1 - 0.25 * (y * y + x * x) + 0.1 * x;
}
float image_at(std::uint64_t n, std::uint64_t r, std::uint64_t c) {
  const double noise = unit(n * kPixels + r * kCols + c);
  double v = field_at(r, c) * (60 + 5 * static_cast<double>(n)) * (0.9 + 0.2 * noise);
  const double dr = static_cast<double>(r) - unit(1000003 + 2 * n) * kRows;
  const double dc = static_cast<double>(c) - unit(1000004 + 2 * n) * kCols;
  if (dr * dr + dc * dc < 36) v += 200;
  return static_cast<float>(v);
}
std::vector<float> images(float brightness = 1) {
  std::vector<float> made;
  for (std::uint64_t n = 0; n < kTiles; ++n)
    for (std::uint64_t r = 0; r < kRows; ++r)
      for (std::uint64_t c = 0; c < kCols; ++c) made.push_back(brightness * image_at(n, r, c));
  return made;
}
std::vector<double> true_field() {
  std::vector<double> field;
  double mean = 0;
  for (std::uint64_t i = 0; i < kPixels; ++i)
    field.push_back(field_at(i / kCols, i % kCols)), mean += field.back() / kPixels;
  for (double& v : field) v /= mean;
  return field;
}

double rms_between(const float* a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    sum += std::pow(static_cast<double>(a[i]) - b[i], 2) / static_cast<double>(b.size());
  return std::sqrt(sum);
}

Result<oct::BasicFit> fit(std::vector<float>& images, std::uint64_t planes, const oct::BasicOptions& how = {},
                          const Options& options = {}) {
  Result<oct::BasicFit> made = Error(ErrorCode::internal, "not called");
  const Status status = oct::with_tools({}, "test", options, [&](const oct::Tools& tools) -> Status {
    PENSTOCK_ASSIGN(const TensorView view,
                    TensorView::packed(images.data(), DType::float32(), {planes, kTiles, kRows, kCols}));
    made = oct::fit_basic(view, how, tools.work);
    return {};
  });
  if (!status) return status.error();
  return made;
}

}  // namespace

TEST(Basic, IsThatOfBasicpyAndNearTheTruth) {
  std::vector<float> stack = images();
  const auto made = fit(stack, 1);
  ASSERT_TRUE(made) << made.error().message();
  const auto golden = oct::read_npy(PENSTOCK_GOLDEN "/basicpy_flatfield.npy");
  ASSERT_TRUE(golden) << golden.error().message();
  ASSERT_EQ(golden->shape, (Shape{kRows, kCols}));
  EXPECT_LT(rms_between(made->fields.data(), golden->values), 1e-3);
  EXPECT_LT(rms_between(made->fields.data(), true_field()), 0.02);
  EXPECT_EQ(made->unfinished, 0U);
  EXPECT_EQ(made->dark, 0U);
  EXPECT_GT(made->iterations[0], 10U);
}

TEST(Basic, SolvesPlanesTogetherAsIfAlone) {
  // Of another brightness each, one with nothing, one with other content.
  std::vector<float> stack = images(), alone = stack;
  const std::vector<float> bright = images(7);
  stack.insert(stack.end(), bright.begin(), bright.end());
  stack.resize(3 * kTiles * kPixels);
  std::vector<float> other;
  for (std::uint64_t n = 0; n < kTiles; ++n)
    for (std::uint64_t i = 0; i < kPixels; ++i)
      other.push_back(static_cast<float>(50 + 10 * unit(77 * n + i) + static_cast<double>(i % kCols)));
  stack.insert(stack.end(), other.begin(), other.end());
  const auto all = fit(stack, 4), first = fit(alone, 1), last = fit(other, 1);
  ASSERT_TRUE(all && first && last);
  EXPECT_EQ(std::vector<float>(all->fields.begin(), all->fields.begin() + kPixels), first->fields);
  EXPECT_EQ(std::vector<float>(all->fields.begin() + 3 * kPixels, all->fields.end()), last->fields);
  EXPECT_LT(rms_between(all->fields.data() + kPixels, std::vector<double>(first->fields.begin(), first->fields.end())),
            1e-4);
  EXPECT_EQ(all->dark, 1U);
  EXPECT_EQ(all->fields[2 * kPixels + 5], 1);
}

TEST(Basic, SaysWhatItCannotDo) {
  std::vector<float> stack = images();
  oct::BasicOptions how;
  how.max_iterations = 1;
  how.max_rounds = 1;
  const auto early = fit(stack, 1, how);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->unfinished, 1U);
  how.tolerance = -1;
  EXPECT_EQ(fit(stack, 1, how).error().code(), ErrorCode::invalid_argument);
  stack.clear();
  EXPECT_EQ(fit(stack, 0).error().code(), ErrorCode::invalid_argument);
  Options cancelled;
  cancelled.deadline = std::chrono::steady_clock::now();
  std::vector<float> again = images();
  EXPECT_EQ(fit(again, 1, {}, cancelled).error().code(), ErrorCode::timed_out);
}

TEST(Basic, IsAMethodOfFixIllumination) {
  const Folder folder;
  // 4 x 6 tiles; the field is the same in each plane, and one tile is missing.
  const auto value = [](std::uint64_t z, std::uint64_t r, std::uint64_t c) {
    const std::uint64_t n = r / kRows * 6 + c / kCols;
    return n == 7 ? 0.0 : static_cast<double>(image_at(n, r % kRows, c % kCols)) * (1 + 0.1 * static_cast<double>(z));
  };
  write_volume(folder / "m.ome.zarr", {3, 4 * kRows, 6 * kCols}, {3, kRows, kCols}, value);
  const std::vector<double> truth = true_field();
  for (const std::string fitted : {"planes", "slice"}) {
    const auto made = run("fix-illumination", {folder / "m.ome.zarr", folder / (fitted + ".ome.zarr")},
                          {{"method", "basic"}, {"fit", fitted}});
    ASSERT_TRUE(made) << made.error().message();
    const auto flat = oct::read_npy(folder / (fitted + "_flatfield.npy"));
    ASSERT_TRUE(flat);
    std::vector<float> field(flat->values.begin(), flat->values.end());
    EXPECT_LT(rms_between(field.data(), truth), 0.02) << fitted;
    EXPECT_EQ(oct::metric(made->metrics, "tiles").value(), 23);
    const auto values = values_of(folder / (fitted + ".ome.zarr"));
    EXPECT_EQ(values[(kRows + 3) * 6 * kCols + kCols + 3], 0);  // the missing tile
    EXPECT_NEAR(values[20 * 6 * kCols + 20] * truth[20 * kCols + 20] / value(0, 20, 20), 1, 0.1);
  }
  EXPECT_EQ(oct::read_npy(folder / "planes_flatfields.npy")->shape, (Shape{3, kRows, kCols}));
  // Planes in batches, and tiles read again: the same.
  Options small;
  small.budget_bytes = std::uint64_t{6} << 20;
  small.threads = 1;
  const auto tight =
      run("fix-illumination", {folder / "m.ome.zarr", folder / "tight.ome.zarr"}, {{"method", "basic"}}, false, small);
  ASSERT_TRUE(tight) << tight.error().message();
  EXPECT_EQ(values_of(folder / "tight.ome.zarr"), values_of(folder / "planes.ome.zarr"));
  small.budget_bytes = 1 << 20;
  const auto none =
      run("fix-illumination", {folder / "m.ome.zarr", folder / "none.ome.zarr"}, {{"method", "basic"}}, false, small);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::budget_too_small);
  EXPECT_FALSE(std::filesystem::exists(folder / "none.ome.zarr/zarr.json"));
}
