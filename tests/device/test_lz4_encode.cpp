// The encoder for devices, run on the host by every executor; liblz4 reads what it makes.
#include <gtest/gtest.h>
#include <lz4.h>

#include <memory>
#include <random>

#include "codec/lz4/encode.hpp"
#include "device/encoding.hpp"
#include "device/teams.hpp"

using namespace penstock;
using namespace penstock::lz4;
using namespace penstock::test;

namespace {

template <class Team>
Made encode(const Team& team, const Data& data, std::uint64_t room, Framing framing = Framing::block) {
  const auto layout = EncodeLayout::make(1, data.size(), nullptr);
  return encode_one(data, room, layout.scratch_bytes(1), [&](const EncodeBatch& batch, std::byte* scratch) {
    encode_on_host(team, batch, framing, scratch);
  });
}

Data read_by_liblz4(const Data& packed, std::size_t n) {
  Data out(n + 1);
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(out.data()),
                          static_cast<int>(packed.size()), static_cast<int>(n));
  EXPECT_EQ(made, static_cast<int>(n));
  out.resize(made < 0 ? 0 : static_cast<std::size_t>(made));
  return out;
}

/// The same bytes from all executors, no more than the bound, and liblz4 gives the data back.
Data expect_round_trip(const Data& data, std::uint32_t seed) {
  const Made host = encode(HostTeam<>(), data, bound(data.size()));
  EXPECT_NE(host.bytes, kNotEncoded);
  EXPECT_EQ(encode(PermTeam<>(seed), data, bound(data.size())).data, host.data);
  EXPECT_EQ(read_by_liblz4(host.data, data.size()), data);
  return host.data;
}

/// Random bytes with copies of what came before, of lengths and distances around the format's limits.
Data copies(std::size_t n, std::mt19937& random) {
  constexpr std::size_t kSizes[] = {1,  3,  4,   5,   14,  15,  18,  19,  20,   31,
                                    32, 33, 255, 269, 270, 274, 275, 529, 3000, 70000};
  Data data;
  while (data.size() < n) {
    const std::size_t length = std::min(kSizes[random() % std::size(kSizes)], n - data.size());
    const std::size_t offset = random() % 3 == 0 ? 65535 + random() % 3 : 1 + random() % 40;
    const bool copy = random() % 2 != 0 && offset <= data.size();
    for (std::size_t i = 0; i < length; ++i)
      data.push_back(copy ? data[data.size() - offset] : static_cast<std::uint8_t>(random()));
  }
  return data;
}

}  // namespace

TEST(Lz4Encode, LibraryReadsItAndExecutorsAgree) {
  std::mt19937 random(3);
  for (int kind = 0; kind < kDataKinds; ++kind)
    for (const std::size_t n : {0u,   1u,    4u,     5u,     11u,    12u,    13u,    14u,    17u,     100u,
                                255u, 4096u, 65535u, 65536u, 65537u, 65540u, 65548u, 65549u, 131072u, 200001u})
      for (std::uint32_t seed = 0; seed < 2; ++seed) {
        SCOPED_TRACE(std::to_string(kind) + ", " + std::to_string(n) + " bytes");
        expect_round_trip(make_data(kind, n, random), seed);
      }
}

TEST(Lz4Encode, EveryShortLength) {
  std::mt19937 random(4);
  for (std::size_t n = 0; n < 300; ++n)
    for (const int kind : {1, 2, 4}) expect_round_trip(make_data(kind, n, random), static_cast<std::uint32_t>(n));
}

TEST(Lz4Encode, SegmentsAreJoined) {
  std::mt19937 random(5);
  constexpr std::size_t kSegment = lz::kSegmentBytes;
  // Segments without any match, and matches that stop at a border and go on behind it.
  for (int round = 0; round < 24; ++round) {
    Data data;
    for (int part = 0; part < 6; ++part) {
      const int kind = (round >> (part % 5)) % 2 != 0 ? 0 : static_cast<int>(random() % kDataKinds);
      const Data more = make_data(kind, kSegment - 3 + random() % 7, random);
      data.insert(data.end(), more.begin(), more.end());
    }
    expect_round_trip(data, static_cast<std::uint32_t>(round));
  }
  const Data zeros(5 * kSegment + 100, 0);
  EXPECT_LT(expect_round_trip(zeros, 7).size(), zeros.size() / 200);
}

TEST(Lz4Encode, LengthsAndDistancesAtTheFormatsLimits) {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round)
    expect_round_trip(copies(1000 + random() % 200000, random), static_cast<std::uint32_t>(round));
}

TEST(Lz4Encode, AsSmallAsLiblz4) {
  std::mt19937 random(7);
  for (int kind = 0; kind < kDataKinds; ++kind) {
    const Data data = make_data(kind, 1 << 20, random);
    const Made made = encode(HostTeam<>(), data, bound(data.size()));
    // The first 32 bytes of a segment find little.
    const double segments = static_cast<double>(data.size()) / lz::kSegmentBytes;
    EXPECT_LT(static_cast<double>(made.bytes), 1.02 * static_cast<double>(compress(data, false).size()) + 40 * segments)
        << kind;
  }
}

TEST(Lz4Encode, FibresStayTogether) {
  std::mt19937 random(8);
  for (const int kind : {2, 4, 6}) {
    const Data data = make_data(kind, 9000, random);
    const Data expected = encode(HostTeam<>(), data, bound(data.size())).data;
    FiberWarp<> warp;
    const auto shared = std::make_unique<lz::FinderShared>();
    const auto layout = EncodeLayout::make(1, data.size(), nullptr);
    const Made made = encode_one(data, bound(data.size()), layout.scratch_bytes(1),
                                 [&](const EncodeBatch& batch, std::byte* scratch) {
                                   const auto here = EncodeLayout::make(1, data.size(), scratch);
                                   EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
                                     const FiberTeam<> team(w);
                                     find_pass(team, batch, here, 0, *shared);
                                     team.each_lane([&](std::uint32_t lane) {
                                       if (lane == 0) join_pass(batch, here, Framing::block, 0);
                                     });
                                     write_pass(team, batch, here, 0);
                                   }),
                                             "");
                                 });
    EXPECT_EQ(made.data, expected);
  }
}

TEST(Lz4Encode, TooLittleRoomIsSaidAndNotPassed) {
  std::mt19937 random(9);
  const Data data = make_data(6, 150000, random);
  const Made whole = encode(HostTeam<>(), data, bound(data.size()), Framing::numcodecs);
  ASSERT_NE(whole.bytes, kNotEncoded);
  EXPECT_EQ(whole.data[0] | whole.data[1] << 8 | whole.data[2] << 16, 150000);
  EXPECT_EQ(encode(HostTeam<>(), data, whole.bytes, Framing::numcodecs).data, whole.data);
  for (const std::uint64_t room : {whole.bytes - 1, std::uint64_t{100}, std::uint64_t{3}, std::uint64_t{0}})
    EXPECT_EQ(encode(HostTeam<>(), data, room, Framing::numcodecs).bytes, kNotEncoded) << room;
}
