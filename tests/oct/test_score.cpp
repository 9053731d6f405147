// How far a result lies from the truth is measured from where its metadata say that it lies, however far that is.
#include <gtest/gtest.h>

#include <cmath>

#include "folder.hpp"
#include "oct/list.hpp"
#include "oct/score/measure.hpp"
#include "oct/simulate/noise.hpp"
#include "oct/step.hpp"
#include "volumes.hpp"

namespace penstock::oct_test {
namespace {

constexpr std::uint64_t kPlanes = 16, kRows = 60, kCols = 70;

/// Tissue at a place of the world.
double tissue(double z, double row, double col) { return 1 + oct::smooth_noise(4, z / 3, row / 5, col / 5); }

void write_world(const std::string& path) {
  write_volume(path, {kPlanes, kRows, kCols}, {kPlanes, kRows, kCols}, [](auto z, auto r, auto c) {
    return tissue(static_cast<double>(z), static_cast<double>(r), static_cast<double>(c));
  });
}

/// A volume whose metadata say that it begins at (row, col) of the world, and that shows what lies (down, right) of it.
void write_made(const std::string& path, double row, double col, double down, double right) {
  const auto there = [=](auto z, auto r, auto c) {
    return tissue(static_cast<double>(z), row + down + static_cast<double>(r), col + right + static_cast<double>(c));
  };
  write_volume(path, {kPlanes, kRows, kCols}, {kPlanes, kRows, kCols}, there, 1, {0, row * 0.01, col * 0.01});
}

/// Memory of a GPU that is not there: what asks it for any works on elements of the host, and must not.
class NoMemory final : public Memory {
 public:
  [[nodiscard]] Device device() const override { return {Device::Type::cuda, 0}; }
  [[nodiscard]] std::uint64_t in_use_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return 0; }

 protected:
  Result<void*> do_allocate(std::uint64_t, std::size_t, const Stream&) override {
    return Error(ErrorCode::out_of_memory, "the memory of a GPU was asked for");
  }
  void do_free(void*, std::uint64_t, const Stream&) noexcept override {}
};

/// Does a step as `--device cuda` has it: its memory is of a GPU, though it works on the host.
std::string complaint(const std::string& name, std::vector<std::string> paths,
                      std::map<std::string, std::string> options) {
  const oct::Step* step = oct::find_step(name);
  auto call = oct::StepCall::make(step->what, {name, std::move(paths), std::move(options), {}, true}, {});
  if (!call) return call.error().message();
  call->options.memory = std::make_shared<NoMemory>();
  const auto done = step->run(*call);
  return done ? "" : done.error().message();
}

}  // namespace

TEST(Score, IsMeasuredOnTheHostWhateverTheDevice) {
  const Folder folder;
  EXPECT_EQ(complaint("simulate", {folder / "subject"}, {{"seed", "2"}}), "");
  const auto made = run("reconstruct", {folder / "subject/raw", folder / "out"}, settings(folder));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(complaint("score", {folder / "out"}, {{"truth", folder / "subject/truth.json"}}), "");
}

// Images of many tiles begin where tiles of skewed steps reach: 2 pixels a tile are 14 over 8 tiles.
TEST(Score, MeasuresFromWhereAnImageBegins) {
  const Folder folder;
  write_world(folder / "world.ome.zarr");
  const oct::Volume world = open_made(folder / "world.ome.zarr");
  const double cases[][4] = {
      {0, 0, 0, 0}, {-14.4, 9.6, 0, 0}, {11, -17.25, 0, 0}, {-14.4, 9.6, 2, -1.5}, {0, -8.6, -3, 0.75}};
  int number = 0;
  for (const auto& [row, col, down, right] : cases) {
    const std::string path = folder / ("made" + std::to_string(number++) + ".ome.zarr");
    write_made(path, row, col, down, right);
    const auto found = oct::displacement(open_made(path), 4, world, 4, 8, {});
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_TRUE(*found);
    EXPECT_NEAR((*found)->row, down, 0.2) << number;
    EXPECT_NEAR((*found)->col, right, 0.2) << number;
    EXPECT_NEAR((*found)->plane, 0, 0.2) << number;
    EXPECT_GT((*found)->correlation, 0.95) << number;
  }
}

}  // namespace penstock::oct_test
