// LZ4 frames, run on the host by every executor, against liblz4.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "codec/lz4_frame/device.hpp"
#include "device/lz4_data.hpp"
#include "device/lz4_frame_data.hpp"
#include "device/teams.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

struct Decoded {
  ChunkStatus status;
  Data out;
};

/// Exact allocations, so that a sanitizer sees one byte too many.
template <class Team>
Decoded decode(const Team& team, const Data& in, std::uint64_t wanted) {
  Decoded result{{}, Data(wanted, 0xEE)};
  using Shared = std::conditional_t<Team::lanes == 32, lz4_frame::SharedOfWarp, lz4_frame::SharedOfBlock>;
  const auto shared = std::make_unique<Shared>();
  result.status = lz4_frame::decode_chunk(team,
                                          {reinterpret_cast<const std::byte*>(in.data()), in.size(),
                                           reinterpret_cast<std::byte*>(result.out.data()), wanted},
                                          *shared);
  return result;
}

/// What the decoder refuses and liblz4 may take.
bool stricter_on_purpose(DecodeStatus status) {
  return status == DecodeStatus::needs_dictionary || status == DecodeStatus::bad_end ||
         status == DecodeStatus::bad_offset || status == DecodeStatus::bad_header;
}

void expect_as_liblz4(const Data& in, std::uint32_t wanted, std::uint32_t seed) {
  const Decoded host = decode(HostTeam<>(), in, wanted), perm = decode(PermTeam<256>(seed), in, wanted);
  ASSERT_EQ(host.status.status, perm.status.status);
  ASSERT_EQ(host.status.position, perm.status.position);
  ASSERT_EQ(host.status.output_bytes, perm.status.output_bytes);
  ASSERT_EQ(host.out, perm.out);
  ASSERT_LE(host.status.position, in.size());
  const auto reference = by_liblz4_frame(in, wanted);
  if (reference && stricter_on_purpose(host.status.status)) return;
  ASSERT_EQ(host.status.status == DecodeStatus::ok, reference.has_value())
      << decode_status_text(host.status.status) << " at " << host.status.position;
  if (reference) {
    ASSERT_EQ(host.out, *reference);
  }
}

FrameOptions options_of(unsigned bits) {
  return {bits & 16 ? LZ4F_max256KB : LZ4F_max64KB,
          (bits & 1) != 0,
          (bits & 2) != 0,
          (bits & 4) != 0,
          (bits & 8) != 0,
          bits & 1 ? 9 : 0};
}

Data joined(std::initializer_list<Data> parts) {
  Data out;
  for (const Data& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace

TEST(Lz4Frame, AllExecutorsGiveTheDataOfEveryKindOfFrame) {
  std::mt19937 random(3);
  FiberWarp<> warp;
  for (unsigned bits = 0; bits < 32; ++bits)
    for (const std::size_t n : {0u, 1u, 900u, 70000u, 300000u}) {
      if (n == 300000 && bits % 5 != 3) continue;  // the scattered executors are slow
      const Data data = make_data(static_cast<int>((bits + n) % kDataKinds), n, random);
      const Data packed = make_frame(data, options_of(bits));
      for (const Decoded& made : {decode(HostTeam<>(), packed, n), decode(PermTeam<>(bits), packed, n),
                                  decode(PermTeam<256>(bits + 1), packed, n)}) {
        ASSERT_EQ(made.status.status, DecodeStatus::ok) << bits << " " << n;
        ASSERT_EQ(made.status.position, packed.size());
        ASSERT_EQ(made.out, data);
      }
      if (n != 900) continue;  // fibres are slow
      Data out(n);
      DecodeStatus status = DecodeStatus::not_run;
      const auto shared = std::make_unique<lz4_frame::SharedOfWarp>();
      const DecodeTask task{reinterpret_cast<const std::byte*>(packed.data()), packed.size(),
                            reinterpret_cast<std::byte*>(out.data()), n};
      EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
        const ChunkStatus s = lz4_frame::decode_chunk(FiberTeam<>(w), task, *shared);
        if (w.lane() == 0) status = s.status;
      }),
                "");
      EXPECT_EQ(status, DecodeStatus::ok);
      EXPECT_EQ(out, data);
    }
}

TEST(Lz4Frame, LinkedBlocksReachBackAndNotBeyondTheFrame) {
  std::mt19937 random(4);
  const Data half = make_data(0, 60000, random), data = joined({half, half, half});
  const Data linked = make_frame(data, options_of(1)), alone = make_frame(data, options_of(0));
  ASSERT_LT(linked.size() + 50000, alone.size());  // so there are matches from block to block
  EXPECT_EQ(decode(HostTeam<>(), linked, data.size()).out, data);
  // The same blocks called independent: the first match that leaves its block is refused.
  Data bad = linked;
  bad[4] |= 32;
  bad[6] = static_cast<std::uint8_t>(lz4_frame::xxh32_finish(nullptr, bad.data() + 4, 2) >> 8);
  EXPECT_EQ(decode(HostTeam<>(), bad, data.size()).status.status, DecodeStatus::bad_offset);
  expect_as_liblz4(bad, static_cast<std::uint32_t>(data.size()), 1);
  // Behind another frame, whose output is not theirs.
  const Data two = joined({make_frame(half, {}), linked});
  EXPECT_EQ(decode(HostTeam<>(), two, half.size() + data.size()).out, joined({half, data}));
}

TEST(Lz4Frame, FramesOneAfterTheOtherAndSkippableOnes) {
  std::mt19937 random(5);
  const Data a = make_data(2, 500, random), b = make_data(3, 700, random);
  const Data skip = {0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'};
  const Data in = joined({make_frame(a, options_of(4)), skip, make_frame(b, options_of(10)), skip});
  EXPECT_EQ(decode(HostTeam<>(), in, 1200).out, joined({a, b}));
  for (std::size_t n = 0; n <= in.size(); ++n)
    expect_as_liblz4(Data(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n)), 1200,
                     static_cast<std::uint32_t>(n));
  EXPECT_EQ(decode(HostTeam<>(), skip, 0).status.status, DecodeStatus::ok);
  EXPECT_EQ(decode(HostTeam<>(), {}, 0).status.status, DecodeStatus::truncated_input);
}

TEST(Lz4Frame, EveryBitFlipAndSizeAsLiblz4) {
  std::mt19937 random(6);
  int refused = 0;
  for (const unsigned bits : {0u, 3u, 15u, 12u}) {
    const Data data = make_data(2, 400, random);
    const Data packed = make_frame(data, options_of(bits));
    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      Data bad = packed;
      bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1u << (bit % 8)));
      expect_as_liblz4(bad, 400, static_cast<std::uint32_t>(bit));
      const Decoded made = decode(HostTeam<>(), bad, 400);
      refused += made.status.status != DecodeStatus::ok;
      // With both checksums nothing but the data passes.
      if (bits == 15 && made.status.status == DecodeStatus::ok) {
        ASSERT_EQ(made.out, data) << bit;
      }
    }
    for (std::uint32_t wanted = 0; wanted < 500; ++wanted) expect_as_liblz4(packed, wanted, wanted);
  }
  EXPECT_GT(refused, 1000);
}

TEST(Lz4Frame, EachWrongFieldHasItsStatusAndByte) {
  std::mt19937 random(7);
  const Data data = make_data(2, 400, random);
  const Data good = make_frame(data, options_of(15));  // sums, size: 4 + 2 + 8 + 1 bytes of header
  const auto expect = [&](Data in, DecodeStatus status, std::uint64_t position, std::uint64_t wanted = 400) {
    const ChunkStatus made = decode(HostTeam<>(), in, wanted).status;
    EXPECT_EQ(made.status, status) << decode_status_text(made.status);
    EXPECT_EQ(made.position, position) << decode_status_text(status);
  };
  const auto with = [&](std::size_t at, std::uint8_t value) {
    Data in = good;
    in[at] = value;
    // Right again, so that the field itself is looked at.
    if (at < 14) in[14] = static_cast<std::uint8_t>(lz4_frame::xxh32_finish(nullptr, in.data() + 4, 10) >> 8);
    return in;
  };
  expect(good, DecodeStatus::ok, good.size());
  expect(with(0, 0), DecodeStatus::bad_magic, 0);
  expect({0x02, 0x21, 0x4C, 0x18, 1, 0, 0, 0, 0}, DecodeStatus::legacy_frame, 0);
  expect(with(4, good[4] ^ 0xC0), DecodeStatus::unsupported_feature, 4);  // version
  expect(with(4, good[4] | 2), DecodeStatus::unsupported_feature, 4);
  expect(with(5, good[5] | 1), DecodeStatus::unsupported_feature, 5);
  expect(with(5, 3 << 4), DecodeStatus::bad_block, 5);
  expect(with(6, 0x91), DecodeStatus::output_too_small, 15);  // content of 401 bytes
  expect(with(6, 0x8F), DecodeStatus::bad_header, good.size() - 4);
  expect(with(14, good[14] ^ 1), DecodeStatus::bad_checksum, 14);
  expect(with(17, 0x7F), DecodeStatus::bad_block, 15);  // larger than any block
  expect(with(good.size() - 1, good.back() ^ 1), DecodeStatus::bad_checksum, good.size() - 4);
  expect(with(good.size() - 9, good[good.size() - 9] ^ 1), DecodeStatus::bad_checksum, good.size() - 12);
  expect(make_frame(data, {}), DecodeStatus::short_output, make_frame(data, {}).size(), 401);
  Data dictionary = {4, 0x22, 0x4D, 0x18, 0x61, 0x40, 1, 2, 3, 4, 0, 0, 0, 0, 0};
  dictionary[10] = static_cast<std::uint8_t>(lz4_frame::xxh32_finish(nullptr, dictionary.data() + 4, 6) >> 8);
  expect(dictionary, DecodeStatus::needs_dictionary, 6, 0);
  EXPECT_EQ(to_status(decode(HostTeam<>(), {0x02, 0x21, 0x4C, 0x18}, 1).status, "lz4").error().message(),
            "codec lz4: an LZ4 frame of the legacy format, which is not decoded at byte 0");
}

TEST(Lz4Frame, ABlockEndsWithLiteralsAlsoWhereTheChunkGoesOn) {
  const auto frame = [](std::uint32_t last_literals) {
    Data in = {4, 0x22, 0x4D, 0x18, 0x60, 0x40, 0};
    in[6] = static_cast<std::uint8_t>(lz4_frame::xxh32_finish(nullptr, in.data() + 4, 2) >> 8);
    Data block = {0xF0, 25};  // 40 literals, a match of 4 bytes at offset 3, the last literals
    block.insert(block.end(), 40, 'a');
    block.insert(block.end(), {3, 0, static_cast<std::uint8_t>(last_literals << 4)});
    block.insert(block.end(), last_literals, 'b');
    const auto bytes = static_cast<std::uint8_t>(block.size());
    const Data after = {33, 0, 0, 0x80}, end = {0, 0, 0, 0};
    return joined({in, {bytes, 0, 0, 0}, block, after, Data(33, 'c'), end});
  };
  for (std::uint32_t last = 0; last <= 8; ++last) {
    const Data in = frame(last);
    const Decoded made = decode(HostTeam<>(), in, 44 + last + 33);
    EXPECT_EQ(made.status.status, last < 5 ? DecodeStatus::bad_end : DecodeStatus::ok) << last;
    EXPECT_EQ(made.status.position, last < 5 ? in.size() - 4 - 37 : in.size()) << last;
    expect_as_liblz4(in, 44 + last + 33, last);
  }
  EXPECT_FALSE(by_liblz4_frame(frame(0), 77));
}

TEST(Lz4Frame, TheDecoderTakesABatch) {
  std::mt19937 random(8);
  const Data data = make_data(6, 100000, random), packed = make_frame(data, options_of(7)),
             cut(packed.begin(), packed.end() - 1);
  Data out(data.size()), other(data.size());
  const DecodeTask tasks[] = {{reinterpret_cast<const std::byte*>(packed.data()), packed.size(),
                               reinterpret_cast<std::byte*>(out.data()), out.size()},
                              {reinterpret_cast<const std::byte*>(cut.data()), cut.size(),
                               reinterpret_cast<std::byte*>(other.data()), other.size()}};
  ChunkStatus results[2];
  const DeviceBatch batch{tasks, results, {2, 2 * data.size(), data.size()}};
  ASSERT_TRUE(lz4_frame::make_device_decoder()->decode(batch, {}, {}));
  EXPECT_EQ(results[0].status, DecodeStatus::ok);
  EXPECT_EQ(out, data);
  EXPECT_EQ(results[1].status, DecodeStatus::truncated_input);
}
