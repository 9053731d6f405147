// The zstd encoder for devices, run on the host by every executor; libzstd reads what it makes.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <random>

#include "codec/zstd/encode/encode.hpp"
#include "device/encoding.hpp"
#include "device/teams.hpp"

using namespace penstock;
using namespace penstock::zstd;
using namespace penstock::test;

namespace {

template <class Team>
Made encode(const Team& team, const Data& data, std::uint64_t room, bool checksum) {
  const auto layout = EncodeLayout::make(1, data.size(), checksum, nullptr);
  return encode_one(data, room, layout.scratch_bytes(1), [&](const EncodeBatch& batch, std::byte* scratch) {
    encode_on_host(team, batch, checksum, scratch);
  });
}

Made encode(const Data& data, bool checksum = false) {
  return encode(HostTeam<>(), data, max_frame_bytes(data.size()), checksum);
}

/// The same bytes from all executors, no more than the bound; libzstd knows the size and gives the data back.
Data expect_round_trip(const Data& data, std::uint32_t seed) {
  const bool checksum = seed % 2 != 0;
  const std::uint64_t room = max_frame_bytes(data.size());
  const Made host = encode(HostTeam<>(), data, room, checksum);
  EXPECT_NE(host.bytes, kNotEncoded);
  EXPECT_EQ(encode(PermTeam<>(seed), data, room, checksum).data, host.data);
  EXPECT_EQ(ZSTD_getFrameContentSize(host.data.data(), host.data.size()), data.size());
  Data back(data.size() + 1);
  const std::size_t made = ZSTD_decompress(back.data(), data.size(), host.data.data(), host.data.size());
  EXPECT_FALSE(ZSTD_isError(made)) << ZSTD_getErrorName(made);
  back.resize(data.size());
  EXPECT_EQ(back, data);
  return host.data;
}

/// Bytes of which each is half as frequent as the one before, or as given by `share`.
Data skewed(std::size_t n, double share, std::mt19937& random) {
  Data data(n);
  std::geometric_distribution<int> symbol(share);
  for (auto& byte : data) byte = static_cast<std::uint8_t>(symbol(random) % 256);
  return data;
}

}  // namespace

TEST(ZstdEncode, LibraryReadsItAndExecutorsAgree) {
  std::mt19937 random(3);
  for (int kind = 0; kind < kDataKinds; ++kind)
    for (const std::size_t n :
         {0u,   1u,    2u,    5u,    11u,    12u,    13u,    31u,    32u,    63u,    64u,     100u,   255u,
          256u, 1023u, 1024u, 4096u, 16384u, 65535u, 65536u, 65537u, 65791u, 65792u, 131072u, 200001u})
      for (std::uint32_t seed = 0; seed < 2; ++seed) {
        SCOPED_TRACE(std::to_string(kind) + ", " + std::to_string(n) + " bytes");
        expect_round_trip(make_data(kind, n, random), seed);
      }
}

TEST(ZstdEncode, CodesOfAllShapes) {
  std::mt19937 random(4);
  // From one symbol to all 256, from flat to so steep that codes must be limited to 11 bits.
  for (const double share : {0.9, 0.7, 0.5, 0.3, 0.1, 0.05, 0.02, 0.01})
    for (const std::size_t n : {70u, 500u, 1023u, 5000u, 16384u, 60000u})
      expect_round_trip(skewed(n, share, random), static_cast<std::uint32_t>(n));
  for (int top = 2; top < 256; top += 23)
    for (const std::size_t n : {100u, 3000u, 50000u}) {
      Data data(n);
      for (auto& byte : data) byte = static_cast<std::uint8_t>(random() % 5 != 0 ? random() % 2 : random() % top);
      expect_round_trip(data, static_cast<std::uint32_t>(top));
    }
  Data steep;  // Fibonacci numbers make the longest codes
  for (std::uint32_t s = 0, a = 1, b = 1; s < 22; ++s, b += a, a = b - a)
    steep.insert(steep.end(), a, static_cast<std::uint8_t>(11 * s));
  std::shuffle(steep.begin(), steep.end(), random);
  EXPECT_LT(expect_round_trip(steep, 1).size(), steep.size() / 2);
}

TEST(ZstdEncode, LengthsAtTheBordersOfCodes) {
  std::mt19937 random(5);
  for (std::uint32_t length = 6; length < 300; ++length) {
    Data data = make_data(0, 1000 + length, random);
    // `length` bytes again, after as many literals.
    data.insert(data.end(), data.begin() + 7, data.begin() + 7 + length);
    const Data more = make_data(0, length, random);
    data.insert(data.end(), more.begin(), more.end());
    data.insert(data.end(), data.begin() + 400, data.begin() + 500);
    data.push_back(1);
    expect_round_trip(data, length);
  }
  for (const std::size_t n : {1000u, 4000u, 20000u, 60000u}) {
    Data data = make_data(0, n, random);
    data.insert(data.end(), data.begin(), data.end());
    expect_round_trip(data, static_cast<std::uint32_t>(n));
    expect_round_trip(Data(n, 9), 1);
  }
}

TEST(ZstdEncode, SmallWhereLibzstdIs) {
  std::mt19937 random(6);
  Data planes(1 << 18);  // as of shuffled u16: noise of six bits, and a quiet plane
  std::normal_distribution<double> noise(60, 12);
  for (std::size_t i = 0; i < planes.size() / 2; ++i) planes[i] = static_cast<std::uint8_t>(noise(random));
  Data by_libzstd(ZSTD_compressBound(planes.size()));
  const std::size_t theirs = ZSTD_compress(by_libzstd.data(), by_libzstd.size(), planes.data(), planes.size(), 3);
  const Data ours = expect_round_trip(planes, 0);
  EXPECT_LT(static_cast<double>(ours.size()), 1.01 * static_cast<double>(theirs));
}

TEST(ZstdEncode, FibresStayTogether) {
  std::mt19937 random(7);
  for (const int kind : {0, 2, 3}) {
    const Data data = make_data(kind, 5000, random);
    const Data expected = encode(data).data;
    FiberWarp<> warp;
    const auto finder = std::make_unique<lz::FinderShared>();
    const auto shared = std::make_unique<BlockShared>();
    const PredefinedCoders coders = PredefinedCoders::make();
    const auto layout = EncodeLayout::make(1, data.size(), false, nullptr);
    const Made made = encode_one(data, max_frame_bytes(data.size()), layout.scratch_bytes(1),
                                 [&](const EncodeBatch& batch, std::byte* scratch) {
                                   const auto here = EncodeLayout::make(1, data.size(), false, scratch);
                                   EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
                                     const FiberTeam<> team(w);
                                     find_pass(team, batch, here, 0, *finder);
                                     code_pass(team, batch, here, 0, coders, *shared);
                                     team.each_lane([&](std::uint32_t lane) {
                                       if (lane == 0) join_pass(batch, here, 0);
                                     });
                                     write_pass(team, batch, here, 0);
                                   }),
                                             "");
                                 });
    EXPECT_EQ(made.data, expected);
  }
}

TEST(ZstdEncode, TooLittleRoomIsSaidAndNotPassed) {
  std::mt19937 random(8);
  const Data data = make_data(6, 150000, random);
  const Made whole = encode(data, true);
  ASSERT_NE(whole.bytes, kNotEncoded);
  EXPECT_EQ(encode(HostTeam<>(), data, whole.bytes, true).data, whole.data);
  for (const std::uint64_t room : {whole.bytes - 1, std::uint64_t{100}, std::uint64_t{3}, std::uint64_t{0}})
    EXPECT_EQ(encode(HostTeam<>(), data, room, true).bytes, kNotEncoded) << room;
  for (const std::size_t n : {0u, 1u, 300u}) {
    const Data small = make_data(0, n, random);
    const std::uint64_t needed = encode(small).bytes;
    EXPECT_EQ(encode(HostTeam<>(), small, needed, false).bytes, needed);
    EXPECT_EQ(encode(HostTeam<>(), small, needed - 1, false).bytes, kNotEncoded);
  }
}
