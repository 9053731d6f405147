// NIfTI in files of every make: gzip by ranges, pairs, both byte orders, every type, as arrays and as maps.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "penstock/array.hpp"
#include "tracto/run/volume.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

class Images : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("penstock_images_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
  }
  void put_gzip(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen(at(name).c_str(), "wb1");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
  fs::path folder_;
};

/// A header of version 1 for three extents.
std::string header(std::array<int, 3> dims, int type, int bits, bool swapped, float offset = 352,
                   const char* magic = "n+1") {
  std::string head(352, '\0');
  const auto field = [&](std::size_t to, auto value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    if (swapped) std::reverse(raw, raw + sizeof value);
    std::memcpy(head.data() + to, raw, sizeof value);
  };
  field(0, std::int32_t{348});
  field(40, std::int16_t{3});
  for (std::size_t d = 0; d < 3; ++d) field(42 + 2 * d, static_cast<std::int16_t>(dims[d]));
  field(70, static_cast<std::int16_t>(type));
  field(72, static_cast<std::int16_t>(bits));
  for (std::size_t d = 0; d < 4; ++d) field(76 + 4 * d, 2.0F);
  field(108, offset);
  field(112, 0.5F);
  field(116, 3.0F);
  std::memcpy(head.data() + 344, magic, 3);
  return head;
}

std::vector<std::uint16_t> elements(const std::string& path, const Region& region) {
  const Array array = std::get<Array>(open(path).value());
  std::vector<std::uint16_t> out(region[0].count * region[1].count * region[2].count);
  Target target;
  target.data = out.data();
  target.strides = {static_cast<std::int64_t>(2 * region[1].count * region[2].count),
                    static_cast<std::int64_t>(2 * region[2].count), 2};
  const auto report = array.read(region, target, {});
  EXPECT_TRUE(report) << report.error().message();
  return out;
}

TEST_F(Images, GzipIsReadByRangesInAnyOrder) {
  constexpr int kSide = 160;  // 8 MB: several places to go on from
  std::string bytes = header({kSide, kSide, kSide}, 512, 16, false);
  std::mt19937 random(1);
  const std::size_t n = std::size_t{kSide} * kSide * kSide;
  std::vector<std::uint16_t> data(n);
  for (auto& value : data) value = static_cast<std::uint16_t>(random() & 0x3ff);
  bytes.append(reinterpret_cast<const char*>(data.data()), 2 * n);
  put_gzip("a.nii.gz", bytes);
  put("a.nii", bytes);
  const Region all = {{0, kSide, 1}, {0, kSide, 1}, {0, kSide, 1}};
  EXPECT_EQ(elements(at("a.nii.gz"), all), elements(at("a.nii"), all));
  for (const std::uint64_t z : {150u, 3u, 90u, 91u, 0u}) {
    const Region slab = {{5, 100, 1}, {7, 2, 1}, {z, 2, 1}};
    EXPECT_EQ(elements(at("a.nii.gz"), slab), elements(at("a.nii"), slab)) << z;
  }
}

TEST_F(Images, CutAndSmallGzipFiles) {
  std::string bytes = header({3, 2, 2}, 512, 16, false);
  bytes += std::string("\1\0\2\0\3\0\4\0\5\0\6\0\7\0\x8\0\x9\0\xa\0\xb\0\xc\0", 24);
  put_gzip("a.nii.gz", bytes);
  const Region all = {{0, 3, 1}, {0, 2, 1}, {0, 2, 1}};
  EXPECT_EQ(elements(at("a.nii.gz"), all)[11], 12);
  put_gzip("b.nii.gz", bytes.substr(0, bytes.size() - 1));
  const auto opened = open(at("b.nii.gz"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::corrupt_data);
  const auto map = tracto::load_map(at("a.nii.gz"),
                                    [] {
                                      tracto::Volume v;
                                      v.dims = {3, 2, 2};
                                      for (std::size_t d = 0; d < 3; ++d) v.world_from_voxel.rows[5 * d] = 2;
                                      return v;
                                    }(),
                                    {});
  ASSERT_TRUE(map) << map.error().message();
  EXPECT_EQ((*map)[1], 0.5F * 2 + 3);  // slope and intercept; x fastest
}

TEST_F(Images, PairsAreOneImageByEitherNameInBothByteOrders) {
  for (const bool swapped : {true, false}) {
    const std::string head = header({3, 2, 2}, 512, 16, swapped, 0, "ni1");
    std::string data;
    for (char i = 1; i <= 12; ++i) data += swapped ? std::string{0, i} : std::string{i, 0};
    put("a.hdr", head);
    fs::remove(at("a.img"));
    const auto alone = open(at("a.hdr"));
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().code(), ErrorCode::not_found);
    put("a.img", data);
    const Region all = {{0, 3, 1}, {0, 2, 1}, {0, 2, 1}};
    for (const char* name : {"a.hdr", "a.img"}) {
      const auto got = elements(at(name), all);
      EXPECT_EQ(got[0], 1);
      EXPECT_EQ(got[11], 12);
      EXPECT_EQ(got[4], 2);  // x = 1, y = 0, z = 0
    }
    put("a.img", data.substr(1));
    EXPECT_FALSE(open(at("a.hdr")));
  }
}

}  // namespace
}  // namespace penstock
