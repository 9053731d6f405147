// blosclz and Snappy, run on the host by every executor, against c-blosc and the libsnappy in it.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "codec/blosc/blosclz.hpp"
#include "codec/blosc/snappy.hpp"
#include "device/blosc_stream.hpp"
#include "device/lz4_data.hpp"
#include "device/teams.hpp"

using namespace penstock;
using namespace penstock::test;
using blosc::Inner;

namespace {

struct Decoded {
  ChunkStatus status;
  Data out;
};

/// Exact allocations, so that a sanitizer sees one byte too many.
template <class Format, class Team>
Decoded decode(const Team& team, const Data& in, std::uint32_t wanted) {
  Decoded result{{}, Data(wanted, 0xEE)};
  const auto shared = std::make_unique<std::conditional_t<Team::lanes == 32, lz::SharedOfWarp, lz::SharedOfBlock>>();
  const DecodeTask task{reinterpret_cast<const std::byte*>(in.data()), in.size(),
                        reinterpret_cast<std::byte*>(result.out.data()), wanted};
  result.status = lz::decode_chunk(team, Format{}, task, *shared);
  return result;
}

template <class Format>
constexpr Inner kInner = std::is_same_v<Format, blosc::Snappy> ? Inner::snappy : Inner::blosclz;

template <class Format>
void expect_as_c_blosc(const Data& in, std::uint32_t wanted, std::uint32_t seed) {
  const Decoded host = decode<Format>(HostTeam<>(), in, wanted);
  for (const Decoded& perm :
       {decode<Format>(PermTeam<>(seed), in, wanted), decode<Format>(PermTeam<256>(seed), in, wanted)}) {
    ASSERT_EQ(host.status.status, perm.status.status);
    ASSERT_EQ(host.status.position, perm.status.position);
    ASSERT_EQ(host.status.output_bytes, perm.status.output_bytes);
    ASSERT_EQ(host.out, perm.out);
  }
  ASSERT_LE(host.status.position, in.size());
  if (wanted == 0 || in.size() == wanted) return;  // the container has no such streams
  const auto reference = by_c_blosc(kInner<Format>, in, wanted);
  ASSERT_EQ(host.status.status == DecodeStatus::ok, reference.has_value())
      << decode_status_text(host.status.status) << " at " << host.status.position;
  if (reference) {
    ASSERT_EQ(host.out, *reference);
  }
}

template <class Format>
class BloscStreams : public testing::Test {};
using Formats = testing::Types<blosc::Blosclz, blosc::Snappy>;

/// A number as Snappy writes sizes.
void put_size(Data& out, std::uint32_t size) {
  for (; size >= 128; size >>= 7) out.push_back(static_cast<std::uint8_t>(size | 128));
  out.push_back(static_cast<std::uint8_t>(size));
}

}  // namespace

TYPED_TEST_SUITE(BloscStreams, Formats);

TYPED_TEST(BloscStreams, AllExecutorsGiveTheData) {
  std::mt19937 random(3);
  FiberWarp<> warp;
  int streams = 0;
  for (int kind = 1; kind < kDataKinds; ++kind)
    for (const std::size_t n : {200u, 257u, 4096u, 70000u, 200001u}) {
      const Data data = make_data(kind, n, random);
      const auto made = stream_of(kInner<TypeParam>, data);
      if (!made) continue;
      ++streams;
      const Data& packed = *made;
      const auto size = static_cast<std::uint32_t>(n);
      const Decoded host = decode<TypeParam>(HostTeam<>(), packed, size);
      EXPECT_EQ(host.status.status, DecodeStatus::ok);
      EXPECT_EQ(host.status.position, packed.size());
      EXPECT_EQ(host.out, data);
      for (std::uint32_t seed = 0; seed < 4; ++seed) {
        EXPECT_EQ(decode<TypeParam>(PermTeam<>(seed), packed, size).out, data);
        EXPECT_EQ(decode<TypeParam>(PermTeam<256>(seed), packed, size).out, data);
      }
      if (n > 5000) continue;  // fibres are slow
      Data out(n, 0xEE);
      DecodeStatus status = DecodeStatus::not_run;
      const auto shared = std::make_unique<lz::SharedOfWarp>();
      const DecodeTask task{reinterpret_cast<const std::byte*>(packed.data()), packed.size(),
                            reinterpret_cast<std::byte*>(out.data()), n};
      EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
        const ChunkStatus s = lz::decode_chunk(FiberTeam<>(w), TypeParam{}, task, *shared);
        if (w.lane() == 0) status = s.status;
      }),
                "");
      EXPECT_EQ(status, DecodeStatus::ok);
      EXPECT_EQ(out, data);
    }
  EXPECT_GT(streams, 20);
}

TYPED_TEST(BloscStreams, EveryTruncationAsCBlosc) {
  std::mt19937 random(4);
  for (int kind = 1; kind < kDataKinds; ++kind) {
    const Data data = make_data(kind, 900, random);
    const auto packed = stream_of(kInner<TypeParam>, data);
    if (!packed) continue;
    for (std::size_t n = 0; n <= packed->size(); ++n)
      expect_as_c_blosc<TypeParam>(Data(packed->begin(), packed->begin() + static_cast<std::ptrdiff_t>(n)), 900,
                                   static_cast<std::uint32_t>(n));
    for (std::uint32_t wanted = 0; wanted <= 1000; ++wanted) expect_as_c_blosc<TypeParam>(*packed, wanted, wanted);
  }
}

TYPED_TEST(BloscStreams, EveryBitFlipAsCBlosc) {
  std::mt19937 random(5);
  int refused = 0;
  for (int kind = 1; kind < kDataKinds; ++kind) {
    const Data data = make_data(kind, 700, random);
    const auto packed = stream_of(kInner<TypeParam>, data);
    if (!packed) continue;
    for (std::size_t bit = 0; bit < packed->size() * 8; ++bit) {
      Data bad = *packed;
      bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1u << (bit % 8)));
      expect_as_c_blosc<TypeParam>(bad, 700, static_cast<std::uint32_t>(bit));
      refused += decode<TypeParam>(HostTeam<>(), bad, 700).status.status != DecodeStatus::ok;
    }
  }
  EXPECT_GT(refused, 1000);
}

TYPED_TEST(BloscStreams, GarbageAsCBlosc) {
  std::mt19937 random(6);
  int ok = 0;
  for (int round = 0; round < 15000; ++round) {
    Data body(random() % 40);
    for (std::uint8_t& byte : body) byte = static_cast<std::uint8_t>(random() % 4 ? random() % 40 : random());
    // The size that the sequences make, if they are right otherwise; else any.
    for (std::uint32_t wanted = 1000, turn = 0; turn < 2; ++turn) {
      Data in;
      if (std::is_same_v<TypeParam, blosc::Snappy>) put_size(in, wanted);
      in.insert(in.end(), body.begin(), body.end());
      expect_as_c_blosc<TypeParam>(in, wanted, static_cast<std::uint32_t>(round));
      const ChunkStatus status = decode<TypeParam>(HostTeam<>(), in, wanted).status;
      ok += status.status == DecodeStatus::ok;
      wanted = status.status == DecodeStatus::short_output ? static_cast<std::uint32_t>(status.output_bytes)
                                                           : static_cast<std::uint32_t>(random() % 60 + 1);
    }
  }
  EXPECT_GT(ok, 50);
}

TEST(Blosclz, LongLengthsAndFarDistances) {
  // 2 literals, then a match whose length takes k bytes of 255, then a literal.
  for (const std::uint32_t k : {0u, 1u, 31u, 32u, 33u, 65u}) {
    Data in = {1, 7, 9, 7 << 5};
    in.insert(in.end(), k, 255);
    in.insert(in.end(), {3, 1, 0, 5});
    const std::uint32_t wanted = 2 + 9 + 255 * k + 3 + 1;
    const Decoded decoded = decode<blosc::Blosclz>(HostTeam<>(), in, wanted);
    EXPECT_EQ(decoded.status.status, DecodeStatus::ok) << k;
    EXPECT_EQ(decoded.out[wanted - 2], wanted % 2 == 0 ? 7 : 9);
    expect_as_c_blosc<blosc::Blosclz>(in, wanted, k);
  }
  // 8192 + 300 different enough bytes, then a match of 4 from their beginning: beyond the 13 bits.
  std::mt19937 random(9);
  const Data data = make_data(0, 8192 + 300, random);
  Data in;
  for (std::size_t i = 0; i < data.size(); i += 32) {
    const std::size_t n = std::min<std::size_t>(32, data.size() - i);
    in.push_back(static_cast<std::uint8_t>(n - 1));
    in.insert(in.end(), data.begin() + static_cast<std::ptrdiff_t>(i),
              data.begin() + static_cast<std::ptrdiff_t>(i + n));
  }
  for (const std::uint32_t more : {0u, 299u, 300u, 301u}) {  // 300 is one too many
    Data far = in;
    far.insert(far.end(), {2 << 5 | 31, 255, static_cast<std::uint8_t>(more >> 8), static_cast<std::uint8_t>(more)});
    far.insert(far.end(), {0, 77});
    const auto wanted = static_cast<std::uint32_t>(data.size() + 4 + 1);
    const Decoded decoded = decode<blosc::Blosclz>(HostTeam<>(), far, wanted);
    EXPECT_EQ(decoded.status.status, more < 301 ? DecodeStatus::ok : DecodeStatus::bad_offset) << more;
    if (decoded.status.status == DecodeStatus::ok) {
      EXPECT_EQ(decoded.out[data.size()], data[300 - more]);
    }
    expect_as_c_blosc<blosc::Blosclz>(far, wanted, more);
  }
  Data ends_with_match = {1, 7, 9, 1 << 5, 1};
  const ChunkStatus refused = decode<blosc::Blosclz>(HostTeam<>(), ends_with_match, 5).status;
  EXPECT_EQ(refused.status, DecodeStatus::bad_end);
  EXPECT_EQ(refused.position, 5u);
}

TEST(Snappy, EveryFormOfTagAndSize) {
  std::mt19937 random(10);
  const Data data = make_data(0, 100000, random);
  // Literals with lengths of 0 to 4 bytes, and one with more bytes than it needs.
  for (const std::uint32_t n : {1u, 60u, 61u, 256u, 257u, 65536u, 65537u, 100000u})
    for (std::uint32_t bytes = 0; bytes <= 4; ++bytes) {
      if (bytes < 4 && (bytes == 0 ? n > 60 : (n - 1) >> (8 * bytes) != 0)) continue;
      Data in;
      put_size(in, n + 5);
      in.push_back(static_cast<std::uint8_t>((bytes == 0 ? n - 1 : 59 + bytes) << 2));
      for (std::uint32_t k = 0; k < bytes; ++k) in.push_back(static_cast<std::uint8_t>((n - 1) >> (8 * k)));
      in.insert(in.end(), data.begin(), data.begin() + n);
      Data far = in, near = in, zero = in;
      far.insert(far.end(), {4 << 2 | 3, static_cast<std::uint8_t>(n), static_cast<std::uint8_t>(n >> 8),
                             static_cast<std::uint8_t>(n >> 16), 0});
      near.insert(near.end(), {1 << 2 | 1, 1});
      zero.insert(zero.end(), {1 << 2 | 1, 0});
      const Decoded a = decode<blosc::Snappy>(HostTeam<>(), far, n + 5),
                    b = decode<blosc::Snappy>(HostTeam<>(), near, n + 5);
      ASSERT_EQ(a.status.status, DecodeStatus::ok) << n << " " << bytes;
      ASSERT_EQ(b.status.status, DecodeStatus::ok);
      EXPECT_EQ(a.out[n], data[0]);
      EXPECT_EQ(b.out[n], data[n - 1]);
      EXPECT_EQ(decode<blosc::Snappy>(HostTeam<>(), zero, n + 5).status.status, DecodeStatus::bad_offset);
      for (const Data& stream : {far, near, zero}) expect_as_c_blosc<blosc::Snappy>(stream, n + 5, n);
    }
  // Sizes: not the chunk's, longer than needed, beyond 32 bits, without an end.
  const auto status_of = [](const Data& in) { return decode<blosc::Snappy>(HostTeam<>(), in, 1).status.status; };
  EXPECT_EQ(status_of({1, 0, 7}), DecodeStatus::ok);
  EXPECT_EQ(status_of({0x81, 0, 0, 7}), DecodeStatus::ok);
  EXPECT_EQ(status_of({2, 0, 7}), DecodeStatus::bad_header);
  EXPECT_EQ(status_of({0x81, 0x80, 0x80, 0x80, 0x10, 0, 7}), DecodeStatus::bad_header);
  EXPECT_EQ(status_of({0x81, 0x80, 0x80, 0x80, 0x80, 0, 7}), DecodeStatus::bad_header);
  EXPECT_EQ(status_of({0x81, 0x80}), DecodeStatus::truncated_input);
  EXPECT_EQ(status_of({1, 63 << 2, 255, 255, 255, 255}), DecodeStatus::truncated_input);
}
