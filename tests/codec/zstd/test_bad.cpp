// The zstd decoder for devices, on the host, on frames that are wrong, against libzstd.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "codec/zstd/decoding.hpp"
#include "codec/zstd/frame_maker.hpp"

using namespace penstock;
using namespace penstock::zstd;
using namespace penstock::zstd::test;

namespace {

/// Small frames of all kinds.
std::vector<std::pair<Data, std::uint64_t>> seeds() {
  std::vector<std::pair<Data, std::uint64_t>> all;
  std::mt19937 random(7);
  for (const Kind kind : {Kind::text, Kind::u16, Kind::labels, Kind::runs, Kind::skewed})
    for (const int level : {1, 19}) {
      const Data content = make(kind, 700, random);
      all.emplace_back(compress(content, {.level = level, .checksum = level == 1}), content.size());
    }
  for (std::uint32_t seed = 0; all.size() < 28; ++seed) {
    const FrameMaker maker = make_frames(seed);
    if (maker.frame.size() < 700) all.emplace_back(maker.frame, maker.content.size());
  }
  return all;
}

struct Tally {
  int same_bytes = 0, both_refuse = 0, stricter = 0;
  void add(Verdict verdict) {
    same_bytes += verdict == Verdict::same_bytes;
    both_refuse += verdict == Verdict::both_refuse;
    stricter += verdict == Verdict::stricter;
  }
};

Data changed(const Data& from, std::size_t at, std::uint8_t bits) {
  Data data = from;
  data[at] ^= bits;
  return data;
}

DecodeStatus status_of(const Data& in, std::uint64_t out_bytes) { return decode_one(in, out_bytes).status.status; }

/// A frame with a window of 128 KiB and these bytes behind its header.
Data frame_of(const Data& blocks) {
  Data frame = {0x28, 0xB5, 0x2F, 0xFD, 0, 7 << 3};
  frame.insert(frame.end(), blocks.begin(), blocks.end());
  return frame;
}

}  // namespace

TEST(ZstdBad, EveryTruncation) {
  std::uint32_t seed = 0;
  for (const auto& [frame, size] : seeds())
    for (std::size_t n = 0; n < frame.size(); ++n) {
      const Data cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(n));
      const Verdict verdict = compare(cut, size, ++seed);
      ASSERT_TRUE(verdict == Verdict::both_refuse || verdict == Verdict::same_bytes) << n << " of " << frame.size();
    }
}

TEST(ZstdBad, EveryFlippedBit) {
  Tally tally;
  std::uint32_t seed = 0;
  for (const auto& [frame, size] : seeds())
    for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
      const Verdict verdict = compare(changed(frame, bit / 8, static_cast<std::uint8_t>(1 << bit % 8)), size, ++seed);
      ASSERT_NE(verdict, Verdict::wrong) << "bit " << bit << " of a frame of " << frame.size();
      tally.add(verdict);
    }
  EXPECT_GT(tally.same_bytes, 1000);
  EXPECT_GT(tally.both_refuse, 10000);
  EXPECT_LT(tally.stricter, (tally.same_bytes + tally.both_refuse) / 20);
}

TEST(ZstdBad, OtherSizes) {
  for (const auto& [frame, size] : seeds())
    for (const std::uint64_t wanted : {std::uint64_t{0}, size / 2, size - 1, size + 1, size + 5000}) {
      if (wanted == size) continue;
      const Outcome outcome = decode_one(frame, wanted);
      EXPECT_EQ(outcome.status.status, wanted < size ? DecodeStatus::output_too_small : DecodeStatus::short_output);
    }
}

TEST(ZstdBad, NeighboursAreUnharmed) {
  std::mt19937 random(9);
  std::vector<Item> items;
  std::vector<Outcome> alone;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const FrameMaker maker = make_frames(seed);
    Item item{maker.frame, maker.content.size(), seed % 16, seed % 7};
    if (seed % 2 == 1 && !item.in.empty())
      item.in[random() % item.in.size()] ^= static_cast<std::uint8_t>(1 << random() % 8);
    alone.push_back(decode_batch({item}, 0, in_order())[0]);
    items.push_back(std::move(item));
  }
  for (std::uint32_t order = 1; order < 4; ++order) {
    const auto together = decode_batch(items, 0, scattered(order));
    for (std::size_t k = 0; k < items.size(); ++k) EXPECT_TRUE(same(together[k], alone[k])) << k;
  }
  const auto bad = std::count_if(alone.begin(), alone.end(), [](const Outcome& o) { return !o.ok(); });
  EXPECT_GT(bad, 60);
  EXPECT_LT(bad, 101);
}

// Words are read around bytes that are wanted, of a tile that is not written yet too; what stood there may not show.
TEST(ZstdBad, WhatMemoryHeldBeforeDoesNotShow) {
  const auto over = [](int before, auto run) {
    return [=](const Batch& batch, std::span<std::byte> scratch) {
      std::memset(scratch.data(), before, scratch.size());
      for (std::uint32_t i = 0; i < batch.count; ++i) std::memset(batch.tasks[i].out, before, batch.tasks[i].out_bytes);
      return run(batch, scratch);
    };
  };
  // As on a GPU.
  const auto run = [](const Batch& batch, std::span<std::byte> scratch) {
    return decode_on_host(HostShape<1, 1, 2048>(), PermTeam<32>(3), PermTeam<256>(3), batch, scratch);
  };
  std::vector<Item> items;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    const FrameMaker maker = make_frames(seed, 5000);
    const std::size_t size = maker.frame.size();
    items.push_back({maker.frame, maker.content.size(), seed % 16, seed / 16 % 16});
    if (seed % 2 != 0 && size > 0) items.back().in[seed * 7919 % size] ^= static_cast<std::uint8_t>(1 + seed % 255);
  }
  const auto a = decode_batch(items, 0, over(0x00, run)), b = decode_batch(items, 0, over(0xFF, run));
  int good = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_TRUE(same(a[i], b[i])) << i;
    good += a[i].ok();
  }
  EXPECT_GT(good, 300);
  EXPECT_LT(good, 550);
}

TEST(ZstdBad, Headers) {
  const Data content(500, 7);
  const Data frame = compress(content, {.checksum = true});
  EXPECT_EQ(status_of(frame, 500), DecodeStatus::ok);
  EXPECT_EQ(status_of({}, 0), DecodeStatus::truncated_input);
  EXPECT_EQ(status_of({1, 2, 3, 4, 5}, 500), DecodeStatus::bad_magic);
  EXPECT_EQ(status_of({0x28, 0xB5}, 500), DecodeStatus::truncated_input);
  EXPECT_EQ(status_of(changed(frame, 4, 8), 500), DecodeStatus::unsupported_feature);
  EXPECT_EQ(status_of(changed(frame, 4, 1), 500), DecodeStatus::needs_dictionary);
  EXPECT_EQ(status_of(changed(frame, frame.size() - 2, 16), 500), DecodeStatus::bad_checksum);
  Data trailing = frame;
  trailing.push_back(0x28);
  EXPECT_EQ(status_of(trailing, 500), DecodeStatus::truncated_input);
  EXPECT_EQ(decode_one(trailing, 500).status.position, frame.size());
  Data garbage = frame;
  garbage.insert(garbage.end(), 8, 0x11);
  EXPECT_EQ(status_of(garbage, 500), DecodeStatus::bad_magic);
  EXPECT_EQ(status_of({0x28, 0xB5, 0x2F, 0xFD, 0, 0xF8, 1, 0, 0}, 0), DecodeStatus::unsupported_feature);  // window
  EXPECT_EQ(status_of(frame_of({7, 0, 0}), 0), DecodeStatus::bad_block);                                   // type 3
  EXPECT_EQ(status_of(frame_of({1, 0, 0x20}), 200000), DecodeStatus::bad_block);  // over the window
  EXPECT_EQ(decode_one(Data(10), std::uint64_t{1} << 20).status.status, DecodeStatus::bad_magic);
}

TEST(ZstdBad, ChecksumsCanBeIgnored) {
  const Data content(500, 7);
  Data frame = compress(content, {.checksum = true});
  frame.back() ^= 1;
  for (const Checksums checksums : {Checksums::verify, Checksums::ignore}) {
    const auto outcome = decode_batch({{frame, 500}}, 0, [&](Batch batch, std::span<std::byte> scratch) {
      batch.checksums = checksums;
      return in_order()(batch, scratch);
    })[0];
    EXPECT_EQ(outcome.ok(), checksums == Checksums::ignore);
  }
}

TEST(ZstdBad, WhatTheFormatForbidsAndLibzstdMayAccept) {
  // The list in docs/concepts/decoding.md.  What libzstd does depends on its version.
  const auto refused = [](const Data& frame, std::uint64_t size, DecodeStatus status) {
    EXPECT_EQ(status_of(frame, size), status) << decode_status_text(status);
    EXPECT_NE(compare(frame, size, 3), Verdict::wrong);
  };
  // An RLE block of 3,000 bytes in a window of 1 KiB.
  refused({0x28, 0xB5, 0x2F, 0xFD, 0, 0, 0xC3, 0x5D, 0, 9}, 3000, DecodeStatus::bad_block);
  // Four raw bytes, then one sequence from tables of one symbol each: no literals, an offset value of `code` 0 or 1, a
  // match of three bytes.
  const auto sequence = [](std::uint8_t modes, std::uint8_t code, std::uint8_t stream) {
    return frame_of({4 << 3, 0, 0, 1, 2, 3, 4, 7 << 3 | 5, 0, 0, 0, 1, modes, 0, code, 0, stream});
  };
  EXPECT_EQ(decode_one(sequence(0x54, 0, 1), 7).out, (Data{1, 2, 3, 4, 1, 2, 3}));  // repeated offset 2, which is 4
  refused(sequence(0x55, 0, 1), 7, DecodeStatus::bad_block);                        // a reserved bit
  refused(sequence(0x54, 0, 2), 7, DecodeStatus::bad_stream);                       // a bit too many
  refused(sequence(0x54, 1, 3), 7, DecodeStatus::bad_offset);                       // repeated offset 1, minus 1: 0
  // No sequences, said in two bytes.
  refused(frame_of({4 << 3 | 5, 0, 0, 1 << 3, 7, 0x80, 0}), 1, DecodeStatus::bad_block);
}

TEST(ZstdBad, HuffmanCodesOfTwelveBits) {
  for (const std::uint32_t longest : {11u, 12u}) {
    HuffmanCode code;
    code.longest = longest;
    code.last = longest;
    for (std::uint32_t s = longest + 1; s-- > 0;) {  // lengths 1, 2, ... longest, longest
      code.length[s] = std::min(s + 1, longest);
      code.value[s] = s == longest - 1 ? 0 : 1;
    }
    const Data literals = {0, 1, 2, 3, 3, 2, 1, 0, 5, 5};
    Data packed = code.plain_description();
    const Data stream = code.stream(literals.data(), literals.size());
    packed.insert(packed.end(), stream.begin(), stream.end());
    const std::uint64_t header = 2 | literals.size() << 4 | packed.size() << 14;
    Data content;
    for (int k = 0; k < 3; ++k) content.push_back(static_cast<std::uint8_t>(header >> (8 * k)));
    content.insert(content.end(), packed.begin(), packed.end());
    content.push_back(0);
    Data block = {static_cast<std::uint8_t>(content.size() << 3 | 5), 0, 0};
    block.insert(block.end(), content.begin(), content.end());
    const Outcome outcome = decode_one(frame_of(block), literals.size());
    EXPECT_EQ(outcome.status.status, longest == 11 ? DecodeStatus::ok : DecodeStatus::bad_table);
    EXPECT_NE(compare(frame_of(block), literals.size(), 1), Verdict::wrong);
  }
}

TEST(ZstdBad, PromisesAreBoundedByTheChunk) {
  // Many small blocks of 128 KiB of literals each: refused from their headers, before they take scratch.
  const std::uint64_t head = 2 | 3 << 2 | std::uint64_t{131072} << 4 | std::uint64_t{14} << 22;
  Data block = {20 << 3 | 2 << 1, 0, 0};
  for (int k = 0; k < 5; ++k) block.push_back(static_cast<std::uint8_t>(head >> (8 * k)));
  block.resize(3 + 20, 1);
  block.back() = 0;
  Data blocks;
  for (int k = 0; k < 100000; ++k) blocks.insert(blocks.end(), block.begin(), block.end());
  EXPECT_EQ(status_of(frame_of(blocks), 1000), DecodeStatus::output_too_small);
  // A chunk in blocks of one byte: for the CPU.
  Data bytes;
  for (int k = 0; k < 20000; ++k) bytes.insert(bytes.end(), {8, 0, 0, 42});
  bytes[bytes.size() - 4] |= 1;
  EXPECT_EQ(status_of(frame_of(bytes), 20000), DecodeStatus::scratch_too_small);
  EXPECT_TRUE(needs_cpu(DecodeStatus::scratch_too_small));
  EXPECT_TRUE(libzstd(frame_of(bytes), 20000).ok);
}

TEST(ZstdBad, LargerThanSaid) {
  // A batch that is larger than its description: nothing is written outside the scratch.
  const FrameMaker maker = make_frames(3);
  const std::vector<Item> items(30, Item{maker.frame, maker.content.size()});
  const auto outcomes = decode_batch(items, 0, [](Batch batch, std::span<std::byte>) {
    batch.decoded_bytes = 10;
    batch.largest_bytes = 10;
    batch.count = 30;
    const std::span<std::byte> scratch = penstock::test::scratch_of(min_scratch_bytes(30, 10, 10));
    return in_order()(batch, scratch);
  });
  for (const Outcome& o : outcomes)
    EXPECT_TRUE(o.ok() || o.status.status == DecodeStatus::scratch_too_small) << decode_status_text(o.status.status);
}
