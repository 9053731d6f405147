// Tracking on a GPU writes the file that the CPU writes, to the byte.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "device/gpu.hpp"
#include "penstock/tracto.hpp"
#include "tracto/phantom.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

namespace fs = std::filesystem;

struct GpuTrack : ::testing::Test {
  fs::path folder = fs::temp_directory_path() / ("penstock_gpu_track_" + std::to_string(::getpid()));
  void SetUp() override {
    fs::create_directories(folder);
    penstock::testing::crossing_phantom().write(folder / "dwi");
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string run(const char* name, const TrackOptions& how, Device device, TrackSummary* summary = nullptr) const {
    const std::string out = (folder / name).string();
    const auto result = track((folder / "dwi.nii").string(), out, how, device, {});
    EXPECT_TRUE(result) << result.error().message();
    if (result && summary != nullptr) *summary = *result;
    std::ostringstream text;
    text << std::ifstream(out, std::ios::binary).rdbuf();
    return text.str();
  }
};

}  // namespace

TEST_F(GpuTrack, WritesTheBytesThatTheCpuWrites) {
  for (const std::uint32_t sphere : {181u, 362u, 724u}) {
    TrackOptions how;
    how.seeds = 4000;
    how.sphere = sphere;
    how.min_length_mm = 3;
    how.force = true;
    TrackSummary summary;
    const std::string cpu = run("cpu.trx", how, {}, &summary), gpu = run("gpu.trx", how, kGpu);
    EXPECT_GT(summary.streamlines, 1000u);
    EXPECT_TRUE(cpu == gpu) << sphere << " directions: " << cpu.size() << " and " << gpu.size() << " bytes";
  }
}

TEST_F(GpuTrack, ChunksChangeNothing) {
  TrackOptions how;
  how.seeds = 300;
  how.min_length_mm = 3;
  how.force = true;
  const std::string whole = run("a.trx", how, kGpu);
  for (const std::uint64_t chunk : {1u, 7u, 100u}) {
    how.chunk_seeds = chunk;
    EXPECT_TRUE(run("b.trx", how, kGpu) == whole) << chunk;
  }
}

TEST_F(GpuTrack, SmallStepsAndLongStreamlinesAreTheSame) {
  TrackOptions how;
  how.seeds = 200;
  how.step_mm = 0.05;
  how.max_angle_deg = 20;
  how.min_length_mm = 0;
  how.force = true;
  EXPECT_TRUE(run("a.trx", how, {}) == run("b.trx", how, kGpu));
}
