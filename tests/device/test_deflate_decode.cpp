// The DEFLATE decoder for devices, run on the host by every executor, against zlib.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <random>

#include "codec/deflate/decode.hpp"
#include "codec/zlib_streams.hpp"
#include "device/lz4_data.hpp"
#include "device/teams.hpp"

using namespace penstock;
using penstock::deflate::Container;
using penstock::test::Data;
using penstock::test::kDataKinds;
using penstock::test::make_data;
using penstock::test::pack;
using penstock::test::window_bits;

namespace {

constexpr checksum::Kind kCrc32(checksum::Sum::crc32);

/// One member that fills `out` and uses all of `in`.
bool reference(Data in, Data& out, Container container) {
  z_stream z{};
  inflateInit2(&z, window_bits(container));
  Data room(out.size() + 1);
  const auto size = static_cast<uInt>(in.size());
  in.push_back(0);
  z.next_in = in.data();
  z.avail_in = size;
  z.next_out = room.data();
  z.avail_out = static_cast<uInt>(room.size());
  const bool ended = inflate(&z, Z_FINISH) == Z_STREAM_END;
  const bool ok = ended && z.total_out == out.size() && z.avail_in == 0;
  inflateEnd(&z);
  std::copy_n(room.begin(), out.size(), out.begin());
  return ok;
}

template <class Team>
ChunkStatus decode(const Team& team, const Data& in, Data& out, Container container) {
  const auto shared = std::make_unique<deflate::Shared>();
  return decode_chunk(
      team,
      {reinterpret_cast<const std::byte*>(in.data()), in.size(), reinterpret_cast<std::byte*>(out.data()), out.size()},
      container, kCrc32.crc, *shared);
}

/// The same from zlib, from lanes in order and from lanes scattered.
bool expect_as_zlib(const Data& in, std::size_t wanted, Container container, std::uint32_t seed) {
  Data expected(wanted), ordered(wanted), scattered(wanted);
  const bool ok = reference(in, expected, container);
  const ChunkStatus a = decode(HostTeam<>(), in, ordered, container);
  const ChunkStatus b = decode(PermTeam<>(seed), in, scattered, container);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.position, b.position);
  EXPECT_EQ(a.output_bytes, b.output_bytes);
  EXPECT_EQ(ordered, scattered);
  EXPECT_EQ(a.status == DecodeStatus::ok, ok) << decode_status_text(a.status) << " at " << a.position;
  if (ok) {
    EXPECT_EQ(ordered, expected);
    EXPECT_EQ(a.output_bytes, wanted);
  }
  return ok;
}

}  // namespace

TEST(DeflateDecode, AllKindsOfStreams) {
  std::mt19937 random(3);
  for (int kind = 0; kind < kDataKinds; ++kind)
    for (const std::size_t n : {0u, 1u, 100u, 4096u, 100000u})
      for (const int level : {0, 1, 6, 9})
        for (const int strategy : {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED})
          for (const Container container : {Container::headerless, Container::zlib, Container::gzip}) {
            if (n == 100000 && (level == 0 || container == Container::headerless)) continue;
            const Data data = make_data(kind, n, random);
            const Data packed = pack(data, container, level, strategy);
            ASSERT_TRUE(expect_as_zlib(packed, n, container, static_cast<std::uint32_t>(random())));
          }
}

TEST(DeflateDecode, FibresStayTogether) {
  std::mt19937 random(4);
  FiberWarp<> warp;
  for (int kind = 0; kind < kDataKinds; ++kind)
    for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED}) {
      const Data data = make_data(kind, 5000, random);
      const Data packed = pack(data, Container::gzip, 6, strategy);
      Data out(data.size());
      const auto shared = std::make_unique<deflate::Shared>();
      ChunkStatus result;
      EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
        const ChunkStatus r = decode_chunk(FiberTeam<>(w),
                                           {reinterpret_cast<const std::byte*>(packed.data()), packed.size(),
                                            reinterpret_cast<std::byte*>(out.data()), out.size()},
                                           Container::gzip, kCrc32.crc, *shared);
        if (w.lane() == 0) result = r;
      }),
                "");
      EXPECT_EQ(result.status, DecodeStatus::ok);
      EXPECT_EQ(out, data);
    }
}

TEST(DeflateDecode, EveryTruncationAndBitFlipAsZlib) {
  std::mt19937 random(5);
  int refused = 0;
  for (int kind = 0; kind < kDataKinds; ++kind)
    for (const Container container : {Container::headerless, Container::zlib, Container::gzip}) {
      const Data data = make_data(kind, 300, random);
      const Data packed = pack(data, container, 6, kind % 2 == 0 ? Z_DEFAULT_STRATEGY : Z_FIXED);
      for (std::size_t n = 0; n < packed.size(); ++n)
        refused += !expect_as_zlib(Data(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(n)), 300,
                                   container, static_cast<std::uint32_t>(n));
      for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
        Data bad = packed;
        bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1u << (bit % 8)));
        refused += !expect_as_zlib(bad, 300, container, static_cast<std::uint32_t>(bit));
      }
      for (const std::size_t wanted : {0u, 299u, 301u}) expect_as_zlib(packed, wanted, container, 1);
    }
  EXPECT_GT(refused, 10000);
}

TEST(DeflateDecode, MembersPaddingAndHeaderFields) {
  std::mt19937 random(6);
  const Data a = make_data(2, 3000, random), b = make_data(3, 500, random);
  Data both = a;
  both.insert(both.end(), b.begin(), b.end());
  const auto decodes = [&](const Data& in, Container container) {
    Data out(both.size());
    const ChunkStatus result = decode(HostTeam<>(), in, out, container);
    return result.status == DecodeStatus::ok ? out == both ? DecodeStatus::ok : DecodeStatus::not_run : result.status;
  };
  Data in = pack(a, Container::gzip, 6, 0);
  // Name, comment, extra field and header checksum.
  Data fields = {0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0, 0, 0, 0, 0, 3, 3, 0, 'x', 'y', 'z', 'n', 0, 'c', 0, 1, 2};
  Data second = pack(b, Container::gzip, 6, 0);
  fields.insert(fields.end(), second.begin() + 10, second.end());
  in.insert(in.end(), fields.begin(), fields.end());
  EXPECT_EQ(decodes(in, Container::gzip), DecodeStatus::ok);
  in.insert(in.end(), 1000, 0);
  EXPECT_EQ(decodes(in, Container::gzip), DecodeStatus::ok);
  in.push_back(7);
  EXPECT_EQ(decodes(in, Container::gzip), DecodeStatus::bad_end);
  Data zlib = pack(both, Container::zlib, 6, 0);
  zlib[1] = static_cast<std::uint8_t>((zlib[1] & ~31) | 32);
  zlib[1] = static_cast<std::uint8_t>(zlib[1] + 31 - (zlib[0] * 256 + zlib[1]) % 31);
  EXPECT_EQ(decodes(zlib, Container::zlib), DecodeStatus::needs_dictionary);
}
