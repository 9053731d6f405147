// Tiles of TIFF files through waves of chunks, with the CPU as the device: what is wrong with one tile is said in the
// words of a read into host memory, and its neighbours are as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "array/device/read.hpp"
#include "penstock/cog.hpp"
#include "penstock/store.hpp"

using namespace penstock;

namespace {

constexpr std::uint64_t kSide = 192, kBlock = 64;  // three tiles a side
constexpr std::uint16_t kNodata = 7;

struct Made {
  std::shared_ptr<Store> store = open_store("memory://", StoreMode::create).value();
  std::vector<std::uint16_t> values = std::vector<std::uint16_t>(kSide * kSide);

  explicit Made(CogCodec codec) {
    std::mt19937 random(4);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::uint16_t>(1000 + i % kSide + random() % 9);
    CogInput input{*TensorView::packed(values.data(), DType::uint16(), {kSide, kSide})};
    input.nodata = {std::byte{kNodata}, std::byte{0}};
    CogOptions cog;
    cog.codec = codec;
    cog.block = kBlock;
    cog.overviews = 0;
    const auto done = write_cog(input, store, "x.tif", cog, Array::IfExists::fail, {});
    EXPECT_TRUE(done) << done.error().message();
  }
  [[nodiscard]] Array open() const { return Array::open(store, "x.tif").value(); }
  [[nodiscard]] std::vector<std::byte> file() const {
    Bytes bytes;
    EXPECT_TRUE(store->get("x.tif", bytes).value());
    return {bytes.data(), bytes.data() + bytes.size()};
  }
};

Options how(OnError on_error) {
  Options options;
  options.decode = CodecPlace::device;
  options.on_error = on_error;
  options.threads = 2;
  return options;
}

struct Read {
  Status status;
  std::vector<std::uint16_t> values = std::vector<std::uint16_t>(kSide * kSide, 0xEEEE);
  Report report;
};
Read read(const Array& array, bool in_waves, OnError on_error) {
  Read out;
  const ReadItem item{&array, whole(array.dataset().shape), Target{out.values.data(), {}, {}, {}}};
  auto report = in_waves ? read_device({&item, 1}, how(on_error)) : read_many({&item, 1}, how(on_error));
  if (report)
    out.report = *std::move(report);
  else
    out.status = report.error();
  return out;
}

/// Where the data of the tile in the middle lie: its bytes stand behind their number.
std::pair<std::size_t, std::size_t> middle_tile(const std::vector<std::byte>& file) {
  std::size_t at = file.size();
  std::vector<std::pair<std::size_t, std::size_t>> tiles;  // from the last on: its trailer ends the file
  const auto ghost = std::string_view(reinterpret_cast<const char*>(file.data()), file.size());
  EXPECT_NE(ghost.find("BLOCK_LEADER=SIZE_AS_UINT4"), std::string_view::npos);
  for (int i = 0; i < 9; ++i) {
    for (std::size_t size = 1;; ++size) {
      std::uint32_t said = 0;
      if (size + 8 > at) return {0, 0};
      std::memcpy(&said, file.data() + at - 8 - size, 4);
      if (said != size) continue;
      tiles.emplace_back(at - 4 - size, size);
      at -= size + 8;
      break;
    }
  }
  return tiles[4];
}

bool in_middle(std::size_t i) {
  const std::size_t y = i / kSide / kBlock, x = i % kSide / kBlock;
  return y == 1 && x == 1;
}

}  // namespace

class TiffWaves : public testing::TestWithParam<CogCodec> {};

TEST_P(TiffWaves, ABadTileIsNamedAndItsNeighboursStay) {
  const Made made(GetParam());
  const std::vector<std::byte> good = made.file();
  const auto [begin, size] = middle_tile(good);
  ASSERT_GT(size, 100U);
  int refused = 0;
  for (std::size_t k = 0; k < 120; ++k) {
    std::vector<std::byte> bad = good;
    bad[begin + k * size / 120] ^= static_cast<std::byte>(1U << k % 8);
    ASSERT_TRUE(made.store->set("x.tif", bad));
    const Array array = made.open();
    const Read host = read(array, false, OnError::fail), waves = read(array, true, OnError::fail);
    ASSERT_EQ(host.status.has_value(), waves.status.has_value());
    if (host.status) {
      ASSERT_EQ(host.values, waves.values);
      continue;
    }
    ++refused;
    ASSERT_EQ(host.status.error().message(), waves.status.error().message());
    const std::string message = host.status.error().message();
    EXPECT_NE(message.find("x.tif"), std::string::npos) << message;
    EXPECT_NE(message.find("chunk 4"), std::string::npos) << message;
    for (const bool in_waves : {false, true}) {
      const Read filled = read(array, in_waves, OnError::fill);
      ASSERT_TRUE(filled.status);
      ASSERT_EQ(filled.report.problems.size(), 1U);
      for (std::size_t i = 0; i < filled.values.size(); ++i)
        ASSERT_EQ(filled.values[i], in_middle(i) ? kNodata : made.values[i]) << i;
    }
  }
  EXPECT_GT(refused, 10);
}

INSTANTIATE_TEST_SUITE_P(Codecs, TiffWaves, testing::Values(CogCodec::lzw, CogCodec::deflate, CogCodec::zstd));
