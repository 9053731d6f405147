// The decoder for devices, run on the host by every executor, against liblz4.
#include <gtest/gtest.h>
#include <lz4.h>

#include <cstring>
#include <memory>
#include <random>

#include "codec/lz4/device.hpp"
#include "device/backend.hpp"
#include "device/lz4_data.hpp"
#include "device/teams.hpp"

using namespace penstock;
using namespace penstock::lz4;
using namespace penstock::test;

namespace {

struct Decoded {
  Cursor cursor;
  Data out;
};

/// Exact allocations, so that a sanitizer sees one byte too many.
template <class Team>
Decoded decode(const Team& team, const Data& in, std::uint32_t capacity) {
  Decoded result{{}, Data(capacity, 0xEE)};
  const auto shared = std::make_unique<std::conditional_t<Team::lanes == 32, SharedOfWarp, SharedOfBlock>>();
  result.cursor =
      decode_block(team, in.data(), static_cast<std::uint32_t>(in.size()), result.out.data(), capacity, *shared);
  return result;
}

/// liblz4 accepts match offset 0.
bool stricter_on_purpose(const Data& in, const Cursor& c) {
  return c.status == DecodeStatus::bad_offset && c.in >= 2 && in[c.in - 1] == 0 && in[c.in - 2] == 0;
}

void expect_as_liblz4(const Data& in, std::uint32_t capacity, std::uint32_t seed) {
  const Decoded host = decode(HostTeam<>(), in, capacity);
  const Decoded others[] = {decode(PermTeam<>(seed), in, capacity), decode(PermTeam<256>(seed), in, capacity)};
  for (const Decoded& perm : others) {
    ASSERT_EQ(host.cursor.status, perm.cursor.status);
    ASSERT_EQ(host.cursor.in, perm.cursor.in);
    ASSERT_EQ(host.cursor.out, perm.cursor.out);
    ASSERT_EQ(host.out, perm.out);
  }
  Data reference(capacity + 1);
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(reference.data()),
                          static_cast<int>(in.size()), static_cast<int>(capacity));
  if (stricter_on_purpose(in, host.cursor)) return;
  const bool ok = host.cursor.status == DecodeStatus::ok;
  // With room to spare liblz4 may refuse an end that is too short; then it is no whole chunk for us either.
  ASSERT_TRUE(ok || made < 0) << decode_status_text(host.cursor.status) << " at " << host.cursor.in;
  ASSERT_EQ(ok && host.cursor.out == capacity, made >= 0 && static_cast<std::uint32_t>(made) == capacity) << made;
  if (made < 0) return;
  ASSERT_EQ(host.cursor.out, static_cast<std::uint32_t>(made));
  ASSERT_EQ(std::memcmp(host.out.data(), reference.data(), host.cursor.out), 0);
}

}  // namespace

TEST(Lz4Decode, AllExecutorsGiveTheData) {
  std::mt19937 random(3);
  FiberWarp<> warp;
  for (int kind = 0; kind < kDataKinds; ++kind)
    for (const std::size_t n : {0u, 1u, 5u, 12u, 13u, 100u, 255u, 4096u, 70000u})
      for (const bool high : {false, true}) {
        const Data data = make_data(kind, n, random);
        const Data packed = compress(data, high);
        const auto size = static_cast<std::uint32_t>(n);
        EXPECT_EQ(decode(HostTeam<>(), packed, size).out, data);
        for (std::uint32_t seed = 0; seed < 4; ++seed) {
          EXPECT_EQ(decode(PermTeam<>(seed), packed, size).out, data);
          EXPECT_EQ(decode(PermTeam<256>(seed), packed, size).out, data);
        }
        if (n > 5000 && kind != 1) continue;  // fibres are slow
        Decoded fiber;
        const auto shared = std::make_unique<SharedOfWarp>();
        EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
          // Every lane decodes into the same memory, as in a warp.
          if (w.lane() == 0) fiber.out.assign(n, 0xEE);
          FiberTeam<> team(w);
          team.each_lane([](std::uint32_t) {});
          const Cursor c = decode_block(team, packed.data(), static_cast<std::uint32_t>(packed.size()),
                                        fiber.out.data(), size, *shared);
          if (w.lane() == 0) fiber.cursor = c;
        }),
                  "");
        EXPECT_EQ(fiber.out, data);
        EXPECT_EQ(fiber.cursor.status, DecodeStatus::ok);
        EXPECT_EQ(fiber.cursor.in, packed.size());
      }
}

TEST(Lz4Decode, EveryTruncationAsLiblz4) {
  std::mt19937 random(4);
  for (int kind = 0; kind < kDataKinds; ++kind) {
    const Data data = make_data(kind, 900, random);
    const Data packed = compress(data, kind % 2);
    for (std::size_t n = 0; n <= packed.size(); ++n) {
      const Data cut(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(n));
      expect_as_liblz4(cut, 900, static_cast<std::uint32_t>(n));
    }
    for (std::uint32_t capacity = 0; capacity <= 1000; ++capacity) expect_as_liblz4(packed, capacity, capacity);
  }
}

TEST(Lz4Decode, EveryBitFlipAsLiblz4) {
  std::mt19937 random(5);
  int refused = 0;
  for (int kind = 0; kind < kDataKinds; ++kind) {
    const Data data = make_data(kind, 700, random);
    const Data packed = compress(data, kind % 2);
    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      Data bad = packed;
      bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1u << (bit % 8)));
      expect_as_liblz4(bad, 700, static_cast<std::uint32_t>(bit));
      refused += decode(HostTeam<>(), bad, 700).cursor.status != DecodeStatus::ok;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Lz4Decode, GarbageAsLiblz4) {
  std::mt19937 random(6);
  for (int round = 0; round < 20000; ++round) {
    Data in(random() % 60);
    for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(random() % 4 ? random() % 24 : random());
    expect_as_liblz4(in, static_cast<std::uint32_t>(random() % 200), static_cast<std::uint32_t>(round));
  }
}

TEST(Lz4Decode, LongRunsOfLengthBytes) {
  // 15 + 255 * k + last literals, k around the number of lanes; and a length that would overflow 32 bits.
  for (const std::uint32_t k : {0u, 1u, 30u, 31u, 32u, 33u, 64u, 65u}) {
    Data in = {0xF0};
    in.insert(in.end(), k, 255);
    in.push_back(7);
    const std::uint32_t literals = 15 + 255 * k + 7;
    in.insert(in.end(), literals, 42);
    const Decoded decoded = decode(HostTeam<>(), in, literals);
    EXPECT_EQ(decoded.cursor.status, DecodeStatus::ok) << k;
    EXPECT_EQ(decoded.out, Data(literals, 42));
    expect_as_liblz4(in, literals, k);
  }
  Data huge = {0xF0};
  huge.insert(huge.end(), 17u << 20, 255);
  huge.push_back(1);
  EXPECT_EQ(decode(HostTeam<>(), huge, 100).cursor.status, DecodeStatus::truncated_input);
  Data match = {0x1F, 7, 1, 0};
  match.insert(match.end(), 17u << 20, 255);
  match.insert(match.end(), 20, 1);
  EXPECT_EQ(decode(HostTeam<>(), match, 1000).cursor.status, DecodeStatus::output_too_small);
}

TEST(Lz4Decode, ChunksWithAndWithoutHeader) {
  std::mt19937 random(8);
  const Data data = make_data(2, 5000, random);
  const Data packed = compress(data, false);
  Data framed = {0x88, 0x13, 0, 0};  // 5000
  framed.insert(framed.end(), packed.begin(), packed.end());
  Data out(5000);
  SharedOfWarp shared;
  const auto run = [&](const Data& in, std::uint64_t wanted, Framing framing) {
    return decode_chunk(
        HostTeam<>(),
        {reinterpret_cast<const std::byte*>(in.data()), in.size(), reinterpret_cast<std::byte*>(out.data()), wanted},
        framing, shared);
  };
  EXPECT_EQ(run(packed, 5000, Framing::block).status, DecodeStatus::ok);
  EXPECT_EQ(out, data);
  out.assign(5000, 0);
  const ChunkStatus good = run(framed, 5000, Framing::numcodecs);
  EXPECT_EQ(good.status, DecodeStatus::ok);
  EXPECT_EQ(good.position, framed.size());
  EXPECT_EQ(good.output_bytes, 5000u);
  EXPECT_EQ(out, data);
  EXPECT_EQ(run(framed, 4999, Framing::numcodecs).status, DecodeStatus::bad_header);
  EXPECT_EQ(run({1, 2, 3}, 5000, Framing::numcodecs).status, DecodeStatus::truncated_input);
  EXPECT_EQ(run({}, 0, Framing::block).status, DecodeStatus::truncated_input);
  EXPECT_EQ(run({0x10, 1}, 2, Framing::block).status, DecodeStatus::short_output);
  EXPECT_EQ(run(packed, std::uint64_t{1} << 40, Framing::block).status, DecodeStatus::too_large);
  const ChunkStatus cut = run(Data(framed.begin(), framed.end() - 3), 5000, Framing::numcodecs);
  const Error error = to_status(cut, "lz4").error();
  EXPECT_EQ(error.code(), ErrorCode::corrupt_data);
  EXPECT_NE(error.message().find("codec lz4: "), std::string::npos) << error.message();
  EXPECT_NE(error.message().find(" at byte "), std::string::npos) << error.message();
  EXPECT_TRUE(to_status(good, "lz4"));
}

TEST(Lz4Decode, CudaWantsACudaStream) {
  const Error error = lz::decode_cuda(Format{Framing::block}, DeviceBatch{}, Stream()).error();
  EXPECT_EQ(error.code(),
            find_backend(Device::Type::cuda) != nullptr ? ErrorCode::invalid_argument : ErrorCode::unsupported);
}
