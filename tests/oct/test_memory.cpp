// Steps on volumes several times larger than the budget: they take the budget and little more, and give what they give
// without one.
#include <cstring>
#include <fstream>
#include <sstream>

#include "../store/in_child.hpp"
#include "folder.hpp"
#include "oct/file/npy.hpp"
#include "oct/simulate/noise.hpp"
#include "volumes.hpp"

using namespace penstock;
using namespace penstock::oct_test;
using penstock::test::in_child;

namespace {

constexpr std::uint64_t kBudget = std::uint64_t{48} << 20;
constexpr std::uint64_t kSlack = std::uint64_t{64} << 20;
constexpr std::uint64_t kDepth = 64, kRows = 640, kCols = 896;  // 140 MiB

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

/// A surface that is bent in each tile, agarose on one side, some grain.
float value_at(std::uint64_t z, std::uint64_t r, std::uint64_t c) {
  const double u = static_cast<double>(r % 64) / 63 - 0.5, v = static_cast<double>(c % 64) / 63 - 0.5;
  const double top = 12 + 4 * (u * u + v * v);
  const double tissue = c < kCols / 4 ? 20 : 60;
  const double grain = static_cast<double>((z * 31 + r * 17 + c * 7) % 13);
  return static_cast<float>(static_cast<double>(z) < top ? 2 + grain / 20
                                                         : tissue - static_cast<double>(z) / 4 + grain);
}

/// Written a row of tiles at a time; the text of a child process.
std::string make(const std::string& path, const Shape& chunks) {
  oct::VolumeSpec spec;
  spec.shape = {kDepth, kRows, kCols};
  spec.chunks = chunks;
  spec.spacing_mm = {0.01, 0.01, 0.01};
  auto made = oct::NewVolume::create(path, spec, false);
  if (!made) return made.error().message();
  std::vector<float> band(kDepth * 64 * kCols);
  for (std::uint64_t first = 0; first < kRows; first += 64) {
    for (std::size_t i = 0; i < band.size(); ++i) band[i] = value_at(i / kCols / 64, first + i / kCols % 64, i % kCols);
    if (auto s = oct::write_block(made->array(), {{0, kDepth, 1}, {first, 64, 1}, {0, kCols, 1}}, band, {}); !s)
      return s.error().message();
  }
  const auto done = made->finish({}, {});
  return done ? "" : done.error().message();
}

/// The text of a child process: empty where the step stayed within the budget.
std::string within_budget(const OctCall& call) {
  Options options;
  options.budget_bytes = kBudget;
  options.threads = 2;
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const std::uint64_t before = memory_line("VmRSS");
  const auto done = run_oct(call, options);
  if (!done) return done.error().message();
  const std::uint64_t took = memory_line("VmHWM") - before;
  return took <= kBudget + kSlack ? "" : std::to_string(took >> 20) + " MiB were taken";
}

struct Case {
  std::string step;
  std::vector<std::string> inputs;
  std::map<std::string, std::string> options;
  std::string ending = ".ome.zarr";  ///< of the output; empty: there is none
};

/// Runs each within the budget in a child, then without one here: threads that run here would be missed in a child.
void expect_within_budget(const Folder& folder, const std::vector<Case>& cases) {
  const auto call_of = [&](const Case& c, const std::string& how) {
    OctCall call{c.step, c.inputs, c.options, {}, false};
    if (!c.ending.empty()) call.paths.push_back(folder / (c.step + how + c.ending));
    return call;
  };
  for (const Case& c : cases) ASSERT_EQ(in_child([&] { return within_budget(call_of(c, "_tight")); }), "") << c.step;
  for (const Case& c : cases) {
    const auto free = run_oct(call_of(c, "_free"), {});
    ASSERT_TRUE(free) << free.error().message();
    const std::string tight = folder / (c.step + "_tight" + c.ending), wide = folder / (c.step + "_free" + c.ending);
    if (c.ending.ends_with(".npy")) {
      EXPECT_EQ(oct::read_npy(tight)->values, oct::read_npy(wide)->values) << c.step;
    } else if (!c.ending.empty() && c.step != "aip") {
      EXPECT_TRUE(values_of(tight) == values_of(wide)) << c.step;
    }
  }
}

}  // namespace

// One test: no child may be made once threads run here.
TEST(Memory, OfStepsIsTheBudget) {
  const Folder folder;
  const std::string mosaic = folder / "m.ome.zarr", slices = folder / "slices";
  const std::string one = slices + "/slice_z00_crop.ome.zarr", two = slices + "/slice_z01_crop.ome.zarr";
  ASSERT_EQ(in_child([&] { return make(mosaic, {kDepth, 64, 64}); }), "");
  for (const std::string& slice : {one, two}) ASSERT_EQ(in_child([&] { return make(slice, {32, 100, 100}); }), "");
  folder.write("t.npy", oct::npy_text(Shape{2, 2}, std::vector<double>{51.2, 0, 0, 51.2}));
  expect_within_budget(
      folder, {
                  {"resample-mosaic", {mosaic}, {{"resolution_um", "15"}}},
                  {"fix-focal-curvature", {mosaic}, {}},
                  {"aip", {mosaic}, {}},
                  {"stitch", {mosaic}, {{"transform", folder / "t.npy"}}},
                  {"tissue-interface", {one}, {}, ".npy"},
                  {"tissue-interface", {one}, {{"mask", two}}, "_masked.npy"},
                  {"crop-below-interface", {one}, {{"depth_um", "400"}}},
                  {"normalize", {one}, {}},
                  {"find-z-overlap", {one, two}, {{"slicing_interval_mm", "0.4"}}, ""},
                  {"stack", {slices}, {{"slicing_interval_mm", "0.4"}, {"process", "crop"}, {"n_levels", "1"}}},
              });
}
