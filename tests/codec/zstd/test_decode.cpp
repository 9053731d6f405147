// The zstd decoder for devices, on the host, on frames that are right.
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/zstd/decoding.hpp"
#include "codec/zstd/device.hpp"
#include "codec/zstd/frame_maker.hpp"
#include "device/backend.hpp"

using namespace penstock;
using namespace penstock::zstd;
using namespace penstock::zstd::test;

namespace {

void append(Data& to, const Data& more) { to.insert(to.end(), more.begin(), more.end()); }

void expect_content(const Outcome& outcome, const Item& item, const Data& content) {
  ASSERT_EQ(outcome.status.status, DecodeStatus::ok)
      << decode_status_text(outcome.status.status) << " at " << outcome.status.position << " of " << item.in.size();
  ASSERT_EQ(outcome.status.position, item.in.size());
  ASSERT_EQ(outcome.status.output_bytes, content.size());
  ASSERT_TRUE(outcome.out == content);
}

/// Frames of libzstd by chance, with what they hold.
std::pair<Item, Data> random_item(std::mt19937& random, std::size_t most) {
  Item item;
  Data content;
  for (std::size_t frames = random() % 5 == 0 ? 1 + random() % 3 : 1; frames > 0; --frames) {
    const auto n = static_cast<std::size_t>(
        std::exp2(static_cast<double>(random() % 1000) / 1000 * std::log2(static_cast<double>(most))));
    FrameOptions options = random_options(random);
    if (options.level == 19 && n > 200000) options.level = 9;
    const Data part = make(kKinds[random() % std::size(kKinds)], n - 1, random);
    append(content, part);
    append(item.in, compress(part, options));
    if (random() % 8 == 0) append(item.in, {0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3});
  }
  item.out_bytes = content.size();
  item.in_shift = random() % 16;
  item.out_shift = random() % 16;
  return {std::move(item), std::move(content)};
}

}  // namespace

TEST(ZstdDecode, FramesOfLibzstd) {
  std::mt19937 random(1);
  for (std::uint32_t round = 0; round < 60; ++round) {
    std::vector<Item> items;
    std::vector<Data> contents;
    for (std::size_t k = 0; k < 1 + round % 4; ++k) {
      auto [item, content] = random_item(random, round % 20 == 0 ? 4 << 20 : 400000);
      items.push_back(std::move(item));
      contents.push_back(std::move(content));
    }
    const auto outcomes =
        round % 2 == 0 ? decode_batch(items, 0, in_order()) : decode_batch(items, 0, scattered(round));
    for (std::size_t k = 0; k < items.size(); ++k) expect_content(outcomes[k], items[k], contents[k]);
  }
}

TEST(ZstdDecode, EveryKindOfDataAtEveryLevel) {
  std::mt19937 random(2);
  for (const Kind kind : kKinds)
    for (const int level : {-5, 1, 3, 6, 12, 19})
      for (const std::size_t n : {0u, 1u, 2u, 17u, 1000u, 66000u}) {
        const Data content = make(kind, n, random);
        const Item item{compress(content, {.level = level, .checksum = n % 2 == 0}), n};
        expect_content(decode_batch({item}, 0, in_order())[0], item, content);
        expect_content(decode_batch({item}, 0, scattered(static_cast<std::uint32_t>(n) + 1))[0], item, content);
      }
}

TEST(ZstdDecode, FramesThatNoEncoderMakes) {
  Met met;
  int for_the_cpu = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const FrameMaker maker = make_frames(seed);
    const Item item{maker.frame, maker.content.size(), seed % 16, seed / 16 % 16};
    const Reference reference = libzstd(item.in, item.out_bytes);
    ASSERT_TRUE(reference.ok && reference.out == maker.content) << "seed " << seed << ": the frame is wrong";
    const Outcome ordered = decode_batch({item}, 0, in_order())[0];
    if (needs_cpu(ordered.status.status)) {  // some happen to be cut into very many blocks
      ++for_the_cpu;
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(expect_content(ordered, item, maker.content)) << "seed " << seed;
    ASSERT_TRUE(same(ordered, decode_batch({item}, 0, scattered(seed))[0])) << "seed " << seed;
    for (std::size_t k = 0; k < 4; ++k) {
      met.literals[k] += maker.met.literals[k];
      met.modes[k] += maker.met.modes[k];
      if (k < 3) met.blocks[k] += maker.met.blocks[k];
    }
    met.one_stream += maker.met.one_stream;
    met.checksums += maker.met.checksums;
    met.windows += maker.met.windows;
    met.skippable += maker.met.skippable;
  }
  EXPECT_LT(for_the_cpu, 15);
  for (const int n : met.blocks) EXPECT_GT(n, 300);
  for (const int n : met.literals) EXPECT_GT(n, 100);
  for (const int n : met.modes) EXPECT_GT(n, 300);
  for (const int n : {met.one_stream, met.checksums, met.windows, met.skippable}) EXPECT_GT(n, 100);
}

TEST(ZstdDecode, AnySliceOfTheScratchWillDo) {
  std::mt19937 random(4);
  std::vector<Item> items;
  std::vector<Data> contents;
  std::uint64_t decoded = 0, largest = 0;
  for (int k = 0; k < 40; ++k) {
    auto [item, content] = random_item(random, 60000);
    decoded += item.out_bytes;
    largest = std::max(largest, item.out_bytes);
    items.push_back(std::move(item));
    contents.push_back(std::move(content));
  }
  const std::uint64_t least = min_scratch_bytes(40, decoded, largest), usual = scratch_bytes(40, decoded, largest);
  ASSERT_LT(least, usual);
  for (const std::uint64_t bytes : {least, least + 12345, (least + usual) / 2, usual, 4 * usual}) {
    const auto outcomes = decode_batch(items, bytes, scattered(static_cast<std::uint32_t>(bytes)));
    for (std::size_t k = 0; k < items.size(); ++k) expect_content(outcomes[k], items[k], contents[k]);
  }
  Batch batch;
  batch.count = 40;
  batch.decoded_bytes = decoded;
  batch.largest_bytes = largest;
  const std::span<std::byte> scratch = penstock::test::scratch_of(usual);
  EXPECT_EQ(in_order()(batch, scratch.first(least - 1)).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(in_order()(batch, scratch.subspan(16)).error().code(), ErrorCode::invalid_argument);
}

TEST(ZstdDecode, ScratchIsOneAndAHalfTimesTheBatch) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const struct {
    std::uint64_t bytes;
    std::uint32_t count;
  } batches[] = {{64 << 10, 8192}, {kMiB, 512}, {kMiB, 2048}, {4 * kMiB, 512}};
  for (const auto& [bytes, count] : batches)
    EXPECT_LT(scratch_bytes(count, bytes * count, bytes), bytes * count * 3 / 2 + 6 * bytes) << bytes;
}

TEST(ZstdDecode, SmallBatchesAreNotCut) {
  const struct {
    std::uint64_t bytes;
    std::uint32_t count;
  } batches[] = {{1 << 20, 1}, {64 << 10, 16}, {4 << 10, 180}};
  for (const auto& [bytes, count] : batches) {
    Batch batch;
    batch.count = count;
    batch.decoded_bytes = bytes * count;
    batch.largest_bytes = bytes;
    const std::span<std::byte> scratch = penstock::test::scratch_of(scratch_bytes(count, bytes * count, bytes));
    EXPECT_EQ(lay_out(batch, scratch).value().workspace.slices, 1U) << count << " chunks of " << bytes << " bytes";
    EXPECT_LT(scratch.size(), 2 * (8U << 20)) << bytes;
  }
}

TEST(ZstdDecode, LanesStayTogether) {
  // Fibres show lanes that part, and uniform values that are not.
  FiberWarp<> warp;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const FrameMaker maker = make_frames(seed);
    if (maker.content.size() > 20000) continue;
    Data out(maker.content.size(), 0xEE);
    const DecodeTask task{reinterpret_cast<const std::byte*>(maker.frame.data()), maker.frame.size(),
                          reinterpret_cast<std::byte*>(out.data()), out.size()};
    ChunkStatus result;
    Batch batch{&task, &result, 1, out.size(), out.size()};
    const std::span<std::byte> scratch = penstock::test::scratch_of(scratch_bytes(1, out.size(), out.size()));
    const Layout layout = lay_out(batch, scratch).value();
    const Workspace& ws = layout.workspace;
    std::memset(ws.pages_taken, 0, layout.counter_bytes);
    parse_chunk(ws, 0);
    list_blocks(ws, 0, 0);
    const auto literals = std::make_unique<LiteralShared<4>>();
    const auto sequences = std::make_unique<SequenceShared<4>>();
    const auto tile = std::make_unique<TileShared<32, 1024>>();
    const auto checksum = std::make_unique<ChecksumShared<32>>();
    const auto on_all = [&](auto pass) {
      ASSERT_EQ(warp.run([&](FiberWarp<>& w) { pass(FiberTeam<>(w)); }), "") << "seed " << seed;
    };
    on_all([&](const auto& team) { decode_literals<4>(team, ws, 0, *literals); });
    on_all([&](const auto& team) { decode_sequences<4>(team, ws, 0, *sequences); });
    on_all([&](const auto& team) { execute_chunk(team, ws, 0, 0, *tile); });
    on_all([&](const auto& team) { verify_chunk(team, ws, 0, 0, *checksum); });
    EXPECT_EQ(result.status, DecodeStatus::ok) << "seed " << seed;
    EXPECT_EQ(out, maker.content) << "seed " << seed;
  }
}

TEST(ZstdDecode, CudaWantsACudaStream) {
  EXPECT_EQ(decode_cuda({}, {}, Stream()).error().code(),
            find_backend(Device::Type::cuda) != nullptr ? ErrorCode::invalid_argument : ErrorCode::unsupported);
}
