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
    const auto result = track((folder / "dwi.nii").string(), out, how, {device}, {});
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

TEST_F(GpuTrack, EveryMethodGivesTheBytesOfTheCpu) {
  for (const TrackMethod method : {TrackMethod::det, TrackMethod::closest, TrackMethod::boot, TrackMethod::ptt})
    for (const bool other : {false, true}) {
      TrackOptions how;
      how.method = method;
      how.seeds = method == TrackMethod::ptt ? 100 : 500;
      how.substeps = 5;
      how.min_length_mm = 3;
      how.boot_retry = other;
      if (other) how.model = method == TrackMethod::boot ? DwiModel::csa : DwiModel::opdt;
      how.probe_count = other ? 3 : 1;
      how.sphere = other ? 724 : 362;
      how.force = true;
      TrackSummary summary;
      const std::string cpu = run("cpu.trx", how, {}, &summary), gpu = run("gpu.trx", how, kGpu);
      EXPECT_GT(summary.streamlines, 20u);
      EXPECT_TRUE(cpu == gpu) << track_method_name(method) << ": " << cpu.size() << " and " << gpu.size() << " bytes";
    }
}

TEST_F(GpuTrack, TwoContextsGiveWhatOneGives) {
  TrackOptions how;
  how.seeds = 2000;
  how.chunk_seeds = 150;
  how.min_length_mm = 3;
  how.force = true;
  const std::string one = run("a.trx", how, kGpu);
  const auto two = track((folder / "dwi.nii").string(), (folder / "b.trx").string(), how, {kGpu, kGpu}, {});
  ASSERT_TRUE(two) << two.error().message();
  std::ostringstream text;
  text << std::ifstream(folder / "b.trx", std::ios::binary).rdbuf();
  EXPECT_TRUE(text.str() == one);
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

TEST_F(GpuTrack, EveryMapHasTheBytesOfTheCpu) {
  for (const DwiModel model : {DwiModel::dti, DwiModel::csd, DwiModel::csa, DwiModel::opdt})
    for (const bool other : {false, true}) {
      TrackOptions how;
      how.sh_order = other ? 6 : model == DwiModel::csd ? 8 : 4;
      how.fit = other ? TensorMethod::ols : TensorMethod::wls;
      how.sphere = other ? 724 : 362;
      how.force = true;
      const auto cpu = fit_dwi((folder / "dwi.nii").string(), (folder / "cpu").string(), model, how, {}, {});
      const auto gpu = fit_dwi((folder / "dwi.nii").string(), (folder / "gpu").string(), model, how, {kGpu}, {});
      ASSERT_TRUE(cpu) << cpu.error().message();
      ASSERT_TRUE(gpu) << gpu.error().message();
      EXPECT_EQ(cpu->fitted_voxels, gpu->fitted_voxels);
      for (const auto& entry : fs::directory_iterator(folder / "cpu")) {
        const auto read = [](const fs::path& path) {
          std::ostringstream text;
          text << std::ifstream(path, std::ios::binary).rdbuf();
          return text.str();
        };
        EXPECT_TRUE(read(entry.path()) == read(folder / "gpu" / entry.path().filename()))
            << dwi_model_name(model) << (other ? ", other: " : ": ") << entry.path().filename();
      }
    }
}

TEST_F(GpuTrack, HighOrdersOfCoefficientsAreFittedTheSame) {
  penstock::testing::Phantom many = penstock::testing::crossing_phantom();
  many.directions = 120;
  many.noise = 20;
  many.write(folder / "many");
  for (const std::uint32_t order : {10u, 12u}) {
    TrackOptions how;
    how.sh_order = order;
    how.seeds = 200;
    how.force = true;
    std::string files[2];
    for (const bool gpu : {false, true}) {
      const std::string out = (folder / "many.trx").string();
      const auto made = track((folder / "many.nii").string(), out, how, {gpu ? kGpu : Device()}, {});
      ASSERT_TRUE(made) << made.error().message();
      std::ostringstream text;
      text << std::ifstream(out, std::ios::binary).rdbuf();
      files[gpu ? 1 : 0] = text.str();
    }
    EXPECT_TRUE(files[0] == files[1]) << order;
  }
}
