// LZW on a GPU: many tiles, and few, which larger teams decode; good ones beside damaged ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "codec/tiff_lzw/device.hpp"
#include "device/gpu.hpp"

using namespace penstock;
using namespace penstock::tiff;

namespace {

using Data = std::vector<std::byte>;

struct Tile {
  Data in;
  std::size_t size = 0;
};

const std::vector<std::size_t> kAllSizes = {1, 33, 700, 9000, 70000, 140000};

/// Of all kinds: bytes that do not repeat, that do, runs; whole, cut off, with a bit turned over.
std::vector<Tile> tiles(const std::vector<std::size_t>& sizes) {
  std::mt19937 random(21);
  std::vector<Tile> all;
  for (const unsigned values : {1U, 2U, 5U, 40U, 256U})
    for (const std::size_t size : sizes) {
      Data raw(size);
      unsigned value = 0;
      for (std::byte& b : raw) {
        if (random() % 3 == 0 || values > 5) value = static_cast<unsigned>(random() % values);
        b = static_cast<std::byte>(value);
      }
      Bytes encoded;
      EXPECT_TRUE(encode_lzw(raw, encoded));
      const Data in(encoded.data(), encoded.data() + encoded.size());
      all.push_back({in, size});
      all.push_back({in, size + 1});  // more is wanted than there is
      for (int damage = 0; damage < 4; ++damage) {
        Tile tile{in, size};
        tile.in[random() % in.size()] ^= static_cast<std::byte>(1U << random() % 8);
        if (damage % 2 == 1) tile.in.resize(random() % in.size());
        all.push_back(std::move(tile));
      }
    }
  std::ranges::shuffle(all, random);  // so that the first ones are of all kinds
  return all;
}

constexpr std::size_t kGap = 5;  // bytes between tiles, which nobody may write
constexpr std::byte kUntouched{0xA7};

struct Laid {
  std::vector<std::size_t> in, out;  // of each tile
  std::size_t in_bytes = 0, out_bytes = kGap;
  BatchSize size;
};

Laid lay(const std::vector<Tile>& all, std::uint32_t count) {
  Laid laid;
  laid.size.count = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Tile& tile = all[i % all.size()];
    laid.in.push_back(laid.in_bytes);
    laid.out.push_back(laid.out_bytes);
    laid.in_bytes += tile.in.size() + i % 3;  // at any alignment
    laid.out_bytes += tile.size + kGap;
    laid.size.decoded_bytes += tile.size;
    laid.size.largest_bytes = std::max<std::uint64_t>(laid.size.largest_bytes, tile.size);
  }
  return laid;
}

class GpuLzw : public test::OnGpu {
 protected:
  void expect_as_cpu(std::uint32_t count, const std::vector<std::size_t>& sizes = kAllSizes) {
    const std::vector<Tile> all = tiles(sizes);
    const auto decoder = make_lzw_device_decoder(LzwVariant::standard);
    const Laid laid = lay(all, count);
    Data packed(laid.in_bytes + 1);
    for (std::uint32_t i = 0; i < count; ++i)
      std::ranges::copy(all[i % all.size()].in, packed.begin() + static_cast<std::ptrdiff_t>(laid.in[i]));
    const Buffer in = upload(packed), out = upload(Data(laid.out_bytes, kUntouched));
    const Buffer scratch =
        memory->allocate(std::max<std::uint64_t>(decoder->scratch_bytes(laid.size), 1), 256, stream).value();
    std::vector<DecodeTask> tasks;
    for (std::uint32_t i = 0; i < count; ++i)
      tasks.push_back(
          {in.data() + laid.in[i], all[i % all.size()].in.size(), out.data() + laid.out[i], all[i % all.size()].size});
    const Buffer device_tasks = upload(tasks), results = upload(std::vector<ChunkStatus>(count));
    const DeviceBatch batch{reinterpret_cast<const DecodeTask*>(device_tasks.data()),
                            reinterpret_cast<ChunkStatus*>(results.data()), laid.size};
    ASSERT_TRUE(decoder->decode(batch, ByteSpan(scratch.data(), scratch.size()), stream));
    stream.synchronize().value();
    compare(all, laid, download<ChunkStatus>(results.data(), count), download<std::byte>(out.data(), laid.out_bytes));
  }

  static void compare(const std::vector<Tile>& all, const Laid& laid, const std::vector<ChunkStatus>& got,
                      const Data& out) {
    std::vector<std::pair<ChunkStatus, Data>> wants;
    for (const Tile& tile : all) wants.push_back(on_cpu(tile));
    std::size_t refused = 0;
    for (std::uint32_t i = 0; i < got.size(); ++i) {
      const auto& [status, want] = wants[i % all.size()];
      ASSERT_EQ(got[i].status, status.status) << i;
      ASSERT_EQ(got[i].position, status.position) << i;
      ASSERT_EQ(got[i].output_bytes, status.output_bytes) << i;
      const std::byte* const at = out.data() + laid.out[i];
      ASSERT_TRUE(std::equal(at, at + status.output_bytes, want.data())) << i;
      for (std::size_t k = 0; k < kGap; ++k) ASSERT_EQ(at[want.size() + k], kUntouched) << i;
      refused += status.status != DecodeStatus::ok;
    }
    EXPECT_GT(refused, got.size() / 4);
    EXPECT_LT(refused, got.size());
  }
  static std::pair<ChunkStatus, Data> on_cpu(const Tile& tile) {
    const auto decoder = make_lzw_device_decoder(LzwVariant::standard);
    Data want(tile.size);
    const DecodeTask task{tile.in.data(), tile.in.size(), want.data(), want.size()};
    const BatchSize size{1, want.size(), want.size()};
    Data scratch(decoder->scratch_bytes(size));
    ChunkStatus status;
    EXPECT_TRUE(decoder->decode({&task, &status, size}, scratch, Stream()));
    return {status, want};
  }
};

}  // namespace

TEST_F(GpuLzw, ManyTiles) { expect_as_cpu(9000); }
TEST_F(GpuLzw, SomeTilesByLargerTeams) { expect_as_cpu(250); }
TEST_F(GpuLzw, FewTilesByTheLargestTeams) { expect_as_cpu(100); }
// So little that compute-sanitizer's racecheck ends within a minute; counts for each size of teams on 132
// multiprocessors.
TEST_F(GpuLzw, HandfulByTheLargestTeams) { expect_as_cpu(16, {33, 3000}); }
TEST_F(GpuLzw, SmallTilesByLargerTeams) { expect_as_cpu(140, {7, 90}); }
TEST_F(GpuLzw, SmallTilesByTheSmallestTeams) { expect_as_cpu(400, {7, 90}); }
