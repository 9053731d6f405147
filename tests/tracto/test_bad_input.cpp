// Tracking what is wrong: errors that name the file and leave nothing; and what is odd but right: no signal, thin
// volumes, seeds on the border.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "penstock/tracto.hpp"
#include "tracto/phantom.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

class BadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    testing::crossing_phantom().write(folder_ / "dwi");
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string bytes(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(at(name), std::ios::binary).rdbuf();
    return text.str();
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
  }
  /// The volume with `value` at byte `where` of its head.
  template <class T>
  void with(std::size_t where, T value) const {
    std::string text = good_;
    std::memcpy(text.data() + where, &value, sizeof value);
    put("dwi.nii", text);
  }
  void expect_refused(const std::string& says, const TrackOptions& how = quick()) const {
    const auto result = track(at("dwi.nii"), at("a.trx"), how, {}, {});
    ASSERT_FALSE(result) << says;
    EXPECT_NE(result.error().message().find(says), std::string::npos) << result.error().message();
    EXPECT_NE(result.error().message().find(folder_.string()), std::string::npos) << result.error().message();
    EXPECT_FALSE(fs::exists(at("a.trx")));
    EXPECT_FALSE(fs::exists(at(".a.trx.penstock.tmp")));
  }
  static TrackOptions quick() {
    TrackOptions how;
    how.seeds = 60;
    how.sphere = 100;
    how.min_length_mm = 0;
    how.substeps = 4;
    how.force = true;
    return how;
  }
  fs::path folder_ = fs::temp_directory_path() / ("penstock_bad_input_" + std::to_string(::getpid()));
  std::string good_;
};

TEST_F(BadInput, HeadsThatLieAreRefused) {
  good_ = bytes("dwi.nii");
  for (const float lie : {0.0F, std::nanf(""), INFINITY}) {  // the first row of the transformation
    with(280, lie);
    expect_refused("transformation to the world");
  }
  with(42, std::int16_t{-3});
  expect_refused("dwi.nii");
  with(42, std::int16_t{32767});
  expect_refused("dwi.nii");
  with(40, std::int16_t{9});
  expect_refused("dwi.nii");
  with(70, std::int16_t{77});
  expect_refused("dwi.nii");
  with(108, 1e30F);
  expect_refused("dwi.nii");
  with(108, 100000.0F);
  expect_refused("dwi.nii");
  put("dwi.nii", good_.substr(0, good_.size() - 1));
  expect_refused("dwi.nii");
  put("dwi.nii", good_.substr(0, 200));
  expect_refused("dwi.nii");
}

TEST_F(BadInput, NumbersOfVolumesVectorsAndValuesAreAllSaid) {
  const std::string bval = bytes("dwi.bval");
  put("dwi.bval", bval.substr(0, bval.size() - 6) + "\n");
  expect_refused("65 volumes, 64 b values, 65 vectors");
  put("dwi.bval", bval);
  const std::string bvec = bytes("dwi.bvec");
  put("dwi.bvec", "nan nan nan\n" + bvec.substr(bvec.find('\n') + 1));
  EXPECT_TRUE(track(at("dwi.nii"), at("b.trx"), quick(), {}, {}));  // of the unweighted volume
}

TEST_F(BadInput, OptionsThatCannotBeAreRefused) {
  for (const std::uint32_t order : {0u, 3u, 14u}) {
    TrackOptions how = quick();
    how.sh_order = order;
    const auto result = track(at("dwi.nii"), at("a.trx"), how, {}, {});
    ASSERT_FALSE(result) << order;
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
  }
}

/// A volume of float32 as the phantom's, with signals that are changed.
template <class Change>
void write_floats(const fs::path& name, const Change& change) {
  testing::Phantom phantom = testing::crossing_phantom();
  phantom.write(name);
  std::ostringstream read;
  read << std::ifstream(name.string() + ".nii", std::ios::binary).rdbuf();
  const std::string ints = read.str();
  std::string out = ints.substr(0, 352);
  const std::int16_t type = 16, bits = 32;
  std::memcpy(out.data() + 70, &type, 2);
  std::memcpy(out.data() + 72, &bits, 2);
  const std::size_t voxels = 12 * 12 * 6;
  for (std::size_t i = 0; i < (ints.size() - 352) / 2; ++i) {
    std::int16_t s = 0;
    std::memcpy(&s, ints.data() + 352 + 2 * i, 2);
    const float value = change(i % voxels, i / voxels, static_cast<float>(s));
    out.append(reinterpret_cast<const char*>(&value), 4);
  }
  std::ofstream(name.string() + ".nii", std::ios::binary) << out;
}

TEST_F(BadInput, SignalsOfZeroAndNaNAreTrackedAround) {
  for (const float bad : {0.0F, std::nanf(""), -1.0F, 3e38F, INFINITY}) {
    // Voxels of the first bundle between 6 and 7 along x.
    write_floats(folder_ / "dwi", [&](std::size_t voxel, std::size_t, float s) {
      const std::size_t x = voxel % 12;
      return x == 6 || x == 7 ? bad : s;
    });
    for (const TrackMethod method :
         {TrackMethod::prob, TrackMethod::det, TrackMethod::closest, TrackMethod::boot, TrackMethod::ptt}) {
      TrackOptions how = quick();
      how.method = method;
      how.response = {0.0017, 0.0003, 1000};
      const auto result = track(at("dwi.nii"), at("a.trx"), how, {}, {});
      ASSERT_TRUE(result) << track_method_name(method) << " " << bad << ": " << result.error().message();
      EXPECT_GT(result->streamlines, 10u) << track_method_name(method) << " " << bad;
      EXPECT_TRUE(std::isfinite(result->mean_length_mm));
    }
  }
}

TEST_F(BadInput, AVolumeWithoutAnySignalHasNothingToTrack) {
  write_floats(folder_ / "dwi", [](std::size_t, std::size_t, float) { return 0.0F; });
  TrackOptions how = quick();
  how.response = {0.0017, 0.0003, 1000};
  const auto result = track(at("dwi.nii"), at("a.trx"), how, {}, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("no voxel"), std::string::npos) << result.error().message();
}

TEST_F(BadInput, VolumesOneVoxelThickAreTracked) {
  for (const std::size_t axis : {0u, 1u, 2u}) {
    testing::Phantom thin;
    thin.dims = {12, 12, 12};
    thin.dims[axis] = 1;
    const std::size_t along = axis == 0 ? 1 : 0;
    thin.fibres = [&](int x, int y, int z) {
      const int at[3] = {x, y, z};
      const int across = at[3 - axis - along];
      std::vector<testing::Point3> out;
      if (across >= 4 && across <= 7) out.push_back({along == 0 ? 1.0 : 0, along == 1 ? 1.0 : 0, 0});
      return out;
    };
    thin.write(folder_ / "dwi");
    for (const TrackMethod method :
         {TrackMethod::prob, TrackMethod::det, TrackMethod::closest, TrackMethod::boot, TrackMethod::ptt}) {
      TrackOptions how = quick();
      how.method = method;
      how.stop_below = 0.3;
      how.max_angle_deg = 30;
      const auto result = track(at("dwi.nii"), at("a.trx"), how, {}, {});
      ASSERT_TRUE(result) << track_method_name(method) << " " << axis << ": " << result.error().message();
      EXPECT_EQ(result->seeds, 60u);
      EXPECT_GT(result->streamlines, 30u) << track_method_name(method) << " " << axis;
    }
  }
}

TEST_F(BadInput, SeedsOnTheBorderBelongToTheVolumeOnOneSide) {
  // Voxel x from -0.5 to before 11.5 is inside; the middle of the bundle along x.
  const std::pair<const char*, std::uint64_t> seeds[] = {
      {"-11 16 5\n", 1}, {"-11.001 16 5\n", 0}, {"12.999 16 5\n", 1}, {"13 16 5\n", 0}, {"1e30 16 5\n", 0}};
  for (const auto& [text, count] : seeds) {
    put("seeds.txt", text);
    TrackOptions how = quick();
    how.seeds = 0;
    how.seeds_file = at("seeds.txt");
    how.max_peaks = 1;
    const auto result = track(at("dwi.nii"), at("a.trx"), how, {}, {});
    ASSERT_TRUE(result) << text << result.error().message();
    EXPECT_EQ(result->streamlines, count) << text;
  }
}

}  // namespace
}  // namespace penstock
