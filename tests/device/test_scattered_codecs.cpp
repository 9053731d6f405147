// Device algorithms whose lanes run in a scattered order: checksums, blosc, delta of integers and floats.  The contract
// harness runs the same source in order.
#include <blosc.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "codec/astype/filter.hpp"
#include "codec/blosc/decode.hpp"
#include "codec/checksum/sums.hpp"
#include "codec/crc32c/crc32c.hpp"
#include "codec/delta/delta.hpp"
#include "codec/delta/float_sums.hpp"
#include "codec/delta/sums.hpp"
#include "codec/lz4/decode.hpp"
#include "device/lz4_data.hpp"
#include "device/teams.hpp"

using namespace penstock;
using penstock::test::Data;
using penstock::test::kDataKinds;
using penstock::test::make_data;

namespace {

const std::byte* bytes_of(const Data& data) { return reinterpret_cast<const std::byte*>(data.data()); }

/// The plainest form of HDF5's sum.
std::uint32_t fletcher32(const Data& data) {
  std::uint64_t first = 0, second = 0;
  for (std::size_t i = 0; i < data.size(); i += 2) {
    first += static_cast<std::uint32_t>(data[i]) << 8 | (i + 1 < data.size() ? data[i + 1] : 0u);
    second += first;
  }
  const auto fold = [](std::uint64_t sum) { return sum == 0 ? 0 : static_cast<std::uint32_t>((sum - 1) % 65535 + 1); };
  return fold(second) << 16 | fold(first);
}

template <class Team>
void expect_sums(const Team& team, const Data& data) {
  const auto shared = std::make_unique<checksum::Shared>();
  const auto size = static_cast<uInt>(data.size());
  const checksum::Kind crc32(checksum::Sum::crc32), crc32c_kind(checksum::Sum::crc32c);
  EXPECT_EQ(checksum::crc(team, crc32.crc, data.data(), data.size(), *shared), ::crc32(0, data.data(), size));
  EXPECT_EQ(checksum::crc(team, crc32c_kind.crc, data.data(), data.size(), *shared),
            crc32c({bytes_of(data), data.size()}, 0));
  EXPECT_EQ(checksum::adler32(team, data.data(), data.size(), *shared), ::adler32(1, data.data(), size));
  if constexpr (Team::lanes >= 128) {
    EXPECT_EQ(checksum::fletcher32(team, data.data(), data.size(), *shared), fletcher32(data));
  }
}

}  // namespace

TEST(ScatteredCodecs, ChecksumsOfAllLengths) {
  std::mt19937 random(1);
  for (const std::size_t n : {1u, 2u, 3u, 15u, 16u, 17u, 255u, 4096u, 4097u, 70001u})
    for (const int kind : {0, 1, 3}) {
      const Data data = make_data(kind, n, random);
      const auto seed = static_cast<std::uint32_t>(random());
      expect_sums(HostTeam<256>(), data);
      expect_sums(PermTeam<256>(seed), data);
      expect_sums(PermTeam<32>(seed + 1), data);
    }
}

TEST(ScatteredCodecs, BloscOfAllShuffles) {
  std::mt19937 random(2);
  for (int kind = 0; kind < kDataKinds; ++kind)
    for (const int shuffle : {BLOSC_NOSHUFFLE, BLOSC_SHUFFLE, BLOSC_BITSHUFFLE})
      for (const std::size_t item : {1u, 2u, 4u, 7u, 16u, 20u})
        for (const std::size_t n : {500u, 40000u, 40003u}) {
          const Data data = make_data(kind, n, random);
          Data packed(n + BLOSC_MAX_OVERHEAD);
          const int made =
              blosc_compress_ctx(5, shuffle, item, n, data.data(), packed.data(), packed.size(), "lz4", 8192, 1);
          ASSERT_GT(made, 0);
          packed.resize(static_cast<std::size_t>(made));
          Data out(n), streams(n);
          const DecodeTask task{bytes_of(packed), packed.size(), reinterpret_cast<std::byte*>(out.data()), n};
          const auto seed = static_cast<std::uint32_t>(random());
          const blosc::Chunk chunk = blosc::read_header(task, blosc::Inner::lz4);
          ASSERT_EQ(chunk.status, DecodeStatus::ok);
          std::vector<blosc::Opened> opened(chunk.streams);
          std::vector<ChunkStatus> decoded(chunk.streams);
          auto* const to = chunk.shuffled() ? streams.data() : out.data();
          lz4::SharedOfBlock memory;
          for (std::uint32_t s = 0; s < chunk.streams; ++s) {
            opened[s] = blosc::open_stream(PermTeam<>(seed), task, chunk, s, to);
            if (opened[s].status.status == DecodeStatus::not_run)
              decoded[s] = lz4::decode_chunk(PermTeam<256>(seed), opened[s].task, lz4::Framing::block, memory);
          }
          blosc::Shared shared;
          for (std::uint32_t part = 0; part < 3; ++part)
            EXPECT_EQ(blosc::finish_chunk(PermTeam<256>(seed), task, chunk, opened.data(), decoded.data(),
                                          chunk.streams, to, part, 3, shared)
                          .status,
                      DecodeStatus::ok);
          ASSERT_EQ(out, data) << "kind " << kind << " shuffle " << shuffle << " item " << item << " n " << n;
        }
}

TEST(ScatteredCodecs, DeltaOfAllIntegers) {
  std::mt19937 random(3);
  const auto shared = std::make_unique<delta::Shared<256>>();
  for (const std::uint8_t from_bytes : {1, 2, 4, 8})
    for (const std::uint8_t to_bytes : {1, 2, 4, 8})
      for (const bool is_signed : {false, true})
        for (const std::size_t n : {0u, 1u, 255u, 256u, 5000u}) {
          const ScalarType from{from_bytes, is_signed, false}, to{to_bytes, false, false};
          const Data in = make_data(0, n * from_bytes, random);
          Data out(n * to_bytes), expected(n * to_bytes);
          std::uint64_t sum = 0;
          for (std::size_t i = 0; i < n; ++i) {
            sum += from.load_integer(in.data() + i * from_bytes);
            to.store_bits(expected.data() + i * to_bytes, sum);
          }
          const DecodeTask task{bytes_of(in), in.size(), reinterpret_cast<std::byte*>(out.data()), out.size()};
          EXPECT_EQ(delta::decode_chunk(PermTeam<256>(static_cast<std::uint32_t>(n)), task, from, to, *shared).status,
                    DecodeStatus::ok);
          EXPECT_EQ(out, expected);
        }
}

namespace {

/// Differences whose sums show every rounding, with NaN of several payloads, infinities and -0.0 among them.
template <class T>
Data float_differences(std::size_t n, int kind, std::mt19937& random) {
  std::vector<T> values(n);
  std::uniform_real_distribution<T> any(-1, 1);
  for (T& x : values) x = std::ldexp(any(random), static_cast<int>(random() % 40) - 20);
  using Limits = std::numeric_limits<T>;
  const T rare[] = {T{-0.0F}, Limits::infinity(), -Limits::infinity(), Limits::denorm_min(), Limits::max()};
  if (kind >= 1 && n > 3) values[random() % n] = rare[random() % std::size(rare)];
  if (kind >= 2 && n > 3) values[n / 2] = Limits::infinity(), values[n / 2 + 1] = -Limits::infinity();
  if (!values.empty()) values[0] = T{-0.0F};
  Data out(n * sizeof(T));
  if (n > 0) std::memcpy(out.data(), values.data(), out.size());
  if (kind == 3 && n > 3) out[n / 3 * sizeof(T) + sizeof(T) - 1] = 0x7F;  // exponent of a NaN
  if (kind == 3 && n > 3) out[n / 3 * sizeof(T) + sizeof(T) - 2] = sizeof(T) == 4 ? 0xA5 : 0xF4;
  return out;
}

template <class Team, class T>
void expect_float_sums(const Team& team, const Data& in, Number from, Number to, std::uint32_t parts) {
  const std::size_t n = in.size() / size_of(from);
  Data out(n * size_of(to), 0xEE), expected(out.size());
  DeltaNumbers{to, from, parts}.decode(bytes_of(in), reinterpret_cast<std::byte*>(expected.data()), n);
  const auto shared = std::make_unique<delta::FloatShared<T>>();
  const DecodeTask task{bytes_of(in), in.size(), reinterpret_cast<std::byte*>(out.data()), out.size()};
  const ChunkStatus status = delta::decode_floats(team, task, device_scalar(from), device_scalar(to), parts, *shared);
  ASSERT_EQ(status.status, DecodeStatus::ok);
  ASSERT_EQ(out, expected);
}

}  // namespace

TEST(ScatteredCodecs, DeltaOfFloatsHasTheBitsOfTheCpu) {
  std::mt19937 random(4);
  for (const std::size_t n : {0u, 2u, 510u, 512u, 514u, 1024u, 5000u})
    for (int kind = 0; kind < 4; ++kind)
      for (const std::uint32_t parts : {1u, 2u}) {
        const Data f4 = float_differences<float>(n, kind, random), f8 = float_differences<double>(n, kind, random);
        const PermTeam<> team(static_cast<std::uint32_t>(n) + static_cast<std::uint32_t>(kind));
        expect_float_sums<PermTeam<>, float>(team, f4, Number::f4, Number::f4, parts);
        expect_float_sums<PermTeam<>, double>(team, f8, Number::f8, Number::f8, parts);
        expect_float_sums<PermTeam<>, double>(team, f4, Number::f4, Number::f8, parts);
        expect_float_sums<PermTeam<>, double>(team, f8, Number::f8, Number::f4, parts);
        if (parts == 1) expect_float_sums<PermTeam<>, double>(team, f4, Number::i4, Number::f8, 1);
        if (parts == 1) expect_float_sums<PermTeam<>, float>(team, f4, Number::i2, Number::f4, 1);
      }
}
