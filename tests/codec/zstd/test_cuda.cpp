// The zstd decoder on a GPU against the same decoder on the host: bytes and statuses, good chunks beside bad ones, in
// every shape.  Without a GPU, only that it says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "codec/zstd/decoding.hpp"
#include "codec/zstd/frame_maker.hpp"
#include "codec/zstd/passes.hpp"
#include "device/gpu.hpp"

using namespace penstock;
using namespace penstock::zstd;
using namespace penstock::zstd::test;

namespace {

constexpr std::size_t kGap = 64;  // bytes between chunks, which nobody may touch
constexpr std::uint8_t kSentinel = 0xA5;

/// Chunks of all kinds, every third damaged and every seventh cut.
std::vector<Item> some_items(std::uint32_t count, std::size_t most) {
  std::mt19937 random(count);
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < count; ++i) {
    Item item;
    if (i % 2 == 0) {
      FrameMaker maker = make_frames(i);
      item = {std::move(maker.frame), maker.content.size()};
    } else {
      FrameOptions options = random_options(random);
      if (options.level > 9) options.level = 9;
      const std::size_t n = i % 50 == 1 ? most : random() % (most / 10 + 1);
      item = {compress(make(kKinds[random() % std::size(kKinds)], n, random), options), n};
    }
    if (i % 3 == 1 && !item.in.empty())
      item.in[random() % item.in.size()] ^= static_cast<std::uint8_t>(1 << random() % 8);
    if (i % 7 == 2) item.in.resize(random() % (item.in.size() + 1));
    items.push_back(std::move(item));
  }
  return items;
}

struct Gpu : penstock::test::OnGpu {
  /// Decodes the items at odd addresses with `run(batch)` and compares.
  template <class Run>
  void expect_as_host(const std::vector<Item>& items, const std::vector<Outcome>& host, Run run) {
    Data input, output(kGap, kSentinel);
    std::vector<std::size_t> in_at, out_at;
    Batch batch;
    for (const Item& item : items) {
      in_at.push_back(input.size());
      input.insert(input.end(), item.in.begin(), item.in.end());
      input.resize(input.size() + item.in_shift % 5);
      out_at.push_back(output.size());
      output.resize(output.size() + item.out_bytes + kGap + out_at.size() % 5, kSentinel);
      batch.decoded_bytes += item.out_bytes;
      batch.largest_bytes = std::max(batch.largest_bytes, item.out_bytes);
    }
    const Buffer in = upload(input), out = upload(output);
    std::vector<DecodeTask> words;
    for (std::size_t i = 0; i < items.size(); ++i)
      words.push_back({in.data() + in_at[i], items[i].in.size(), out.data() + out_at[i], items[i].out_bytes});
    const Buffer tasks = upload(words), results = upload(std::vector<ChunkStatus>(items.size()));
    batch.tasks = reinterpret_cast<const DecodeTask*>(tasks.data());
    batch.results = reinterpret_cast<ChunkStatus*>(results.data());
    batch.count = static_cast<std::uint32_t>(items.size());
    run(batch);
    const auto statuses = download<ChunkStatus>(results.data(), items.size());
    const Data made = download<std::uint8_t>(out.data(), output.size());
    std::vector<bool> covered(made.size(), false);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const ChunkStatus &got = statuses[i], &wanted = host[i].status;
      ASSERT_EQ(got.status, wanted.status) << i << ": " << decode_status_text(got.status) << " at " << got.position
                                           << ", host: " << decode_status_text(wanted.status);
      ASSERT_EQ(got.position, wanted.position) << i;
      ASSERT_EQ(got.output_bytes, wanted.output_bytes) << i;
      const auto at = made.begin() + static_cast<std::ptrdiff_t>(out_at[i]);
      if (host[i].ok()) {
        ASSERT_TRUE(std::equal(host[i].out.begin(), host[i].out.end(), at)) << i;
      }
      std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(out_at[i]), items[i].out_bytes, true);
    }
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!covered[i]) {
        ASSERT_EQ(made[i], kSentinel) << "written outside a chunk at " << i;
      }
  }
  Buffer scratch(const Batch& batch, bool least) {
    const auto size = least ? min_scratch_bytes : scratch_bytes;
    return memory->allocate(size(batch.count, batch.decoded_bytes, batch.largest_bytes), 256, stream).value();
  }
  static std::span<std::byte> span_of(const Buffer& buffer) { return {buffer.data(), buffer.size()}; }
};

}  // namespace

TEST(NoDevice, SaysWhy) {
  const Error error = decode_cuda({}, {}, Stream()).error();
  EXPECT_NE(error.message().find("CUDA"), std::string::npos) << error.message();
}

TEST_F(Gpu, ZstdEqualsTheHostAlsoBesideDamagedChunks) {
  for (const std::uint32_t count : {1u, 40u, 600u}) {
    const auto items = some_items(count, 700001);
    const auto host = decode_batch(items, 0, in_order());
    if (count == 600) {
      const auto good = std::count_if(host.begin(), host.end(), [](const Outcome& o) { return o.ok(); });
      EXPECT_GT(good, 300);
      EXPECT_LT(good, 450);
    }
    for (const bool least : {false, true})
      expect_as_host(items, host, [&](const Batch& batch) {
        const Buffer memory_of_batch = scratch(batch, least);
        decode_cuda(batch, span_of(memory_of_batch), stream).value();
      });
  }
}

TEST_F(Gpu, ZstdInEveryShape) {
  const auto items = some_items(100, 300000);
  const auto host = decode_batch(items, 0, in_order());
  const LaunchShape shapes[] = {
      {1, 64, false, 100}, {2, 64, true, 37}, {2, 128, false, 37}, {4, 256, false, 1000}, {8, 1024, false, 1}};
  for (const LaunchShape& shape : shapes)
    expect_as_host(items, host, [&](const Batch& batch) {
      const Buffer memory_of_batch = scratch(batch, false);
      const Layout layout = lay_out(batch, span_of(memory_of_batch)).value();
      run_pass_cuda(Pass::parse, layout, 0, shape, stream).value();
      for (std::uint32_t slice = 0; slice < layout.workspace.slices; ++slice)
        for (const Pass pass : {Pass::list, Pass::literals, Pass::sequences, Pass::execute, Pass::verify})
          run_pass_cuda(pass, layout, slice, shape, stream).value();
    });
}

int main(int argc, char** argv) { return penstock::test::run_gpu_tests(argc, argv); }
