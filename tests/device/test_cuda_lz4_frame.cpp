// LZ4 frames on a GPU: what the host makes of them, damaged ones in the same batch.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "codec/lz4_frame/device.hpp"
#include "device/gpu.hpp"
#include "device/lz4_data.hpp"
#include "device/lz4_frame_data.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

struct GpuLz4Frame : OnGpu {};

}  // namespace

TEST_F(GpuLz4Frame, EqualsTheHostAlsoBesideDamagedChunks) {
  std::mt19937 random(22);
  std::vector<Data> inputs;
  std::vector<std::size_t> sizes;
  for (unsigned i = 0; i < 300; ++i) {
    const std::size_t n = i % 30 == 0 ? 500001 : random() % 90000;
    const FrameOptions options{i % 2 ? LZ4F_max64KB : LZ4F_max256KB, i % 3 == 0, i % 5 == 0, i % 4 != 0, i % 7 == 0, 0};
    Data packed = make_frame(make_data(static_cast<int>(i) % kDataKinds, n, random), options);
    if (i % 3 == 1) packed[random() % packed.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
    if (i % 11 == 2) packed.resize(random() % (packed.size() + 1));
    inputs.push_back(std::move(packed));
    sizes.push_back(n);
  }
  Data all;
  std::vector<std::size_t> in_at, out_at;
  std::size_t out_bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in_at.push_back(all.size());
    all.insert(all.end(), inputs[i].begin(), inputs[i].end());
    out_at.push_back(out_bytes);
    out_bytes += sizes[i] + i % 5;  // odd addresses
  }
  const Buffer in = upload(all), out = upload(Data(out_bytes + 1, 0xA5));
  Data host_out(out_bytes + 1, 0xA5);
  std::vector<DecodeTask> tasks, host_tasks;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tasks.push_back({in.data() + in_at[i], inputs[i].size(), out.data() + out_at[i], sizes[i]});
    host_tasks.push_back({reinterpret_cast<const std::byte*>(inputs[i].data()), inputs[i].size(),
                          reinterpret_cast<std::byte*>(host_out.data()) + out_at[i], sizes[i]});
  }
  const auto count = static_cast<std::uint32_t>(tasks.size());
  std::vector<ChunkStatus> expected(count);
  const auto decoder = lz4_frame::make_device_decoder();
  ASSERT_TRUE(decoder->decode({host_tasks.data(), expected.data(), {count, out_bytes, 500001}}, {}, {}));
  const Buffer device_tasks = upload(tasks), results = upload(std::vector<ChunkStatus>(count));
  ASSERT_TRUE(decoder->decode({reinterpret_cast<const DecodeTask*>(device_tasks.data()),
                               reinterpret_cast<ChunkStatus*>(results.data()),
                               {count, out_bytes, 500001}},
                              {}, stream));
  const auto statuses = download<ChunkStatus>(results.data(), count);
  const Data made = download<std::uint8_t>(out.data(), out_bytes + 1);
  std::size_t good = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(statuses[i].status, expected[i].status) << i;
    ASSERT_EQ(statuses[i].position, expected[i].position) << i;
    ASSERT_EQ(statuses[i].output_bytes, expected[i].output_bytes) << i;
    ASSERT_EQ(std::memcmp(made.data() + out_at[i], host_out.data() + out_at[i], expected[i].output_bytes), 0) << i;
    good += expected[i].status == DecodeStatus::ok;
  }
  EXPECT_EQ(made.back(), 0xA5);
  EXPECT_GT(good, 100u);
  EXPECT_LT(good, 290u);
}
