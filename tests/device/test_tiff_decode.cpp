// The decoders of TIFF files for devices, run on the host by every executor, against those of the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "codec/tiff_lzw/block.hpp"
#include "codec/tiff_lzw/device.hpp"
#include "codec/tiff_predictor/device.hpp"
#include "codec/tiff_predictor/kernel.hpp"
#include "device/warps.hpp"

using namespace penstock;
using namespace penstock::tiff;

namespace {

using Data = std::vector<std::byte>;

struct Decoded {
  ChunkStatus status;
  Data out;
};

/// Exact allocations, so that a sanitizer sees one byte too many.
template <class Team>
Decoded decode(const Team& team, const Data& in, std::size_t size, LzwVariant variant) {
  Decoded result{{}, Data(size, std::byte{0xEE})};
  const auto shared = std::make_unique<LzwShared<Team::lanes, Team::lanes == 1024 ? 4096 : 1024>>();
  result.status = decode_lzw_chunk(team, {in.data(), in.size(), result.out.data(), size}, variant, *shared);
  return result;
}

void expect_as_cpu(const Data& in, std::size_t size, LzwVariant variant, std::uint32_t seed) {
  const Decoded host = decode(HostTeam<128>(), in, size, variant);
  for (const Decoded& other :
       {decode(PermTeam<128>(seed), in, size, variant), decode(PermTeam<1024>(seed + 1), in, size, variant),
        decode(HostTeam<32>(), in, size, variant)}) {
    ASSERT_EQ(host.status.status, other.status.status);
    ASSERT_EQ(host.status.position, other.status.position);
    ASSERT_EQ(host.status.output_bytes, other.status.output_bytes);
    ASSERT_EQ(host.out, other.out);
  }
  Data out(size);
  const Status cpu = decode_lzw(in, out, variant);
  ASSERT_EQ(host.status.status == DecodeStatus::ok, cpu.has_value())
      << decode_status_text(host.status.status) << " / " << (cpu ? "" : cpu.error().message());
  if (cpu) {
    ASSERT_EQ(host.out, out);
    return;
  }
  // The byte is the one that the CPU names.
  const std::string byte = "at byte " + std::to_string(host.status.position);
  ASSERT_NE((cpu.error().message() + ",").find(byte), std::string::npos) << cpu.error().message() << " / " << byte;
}

Data encoded(const Data& data) {
  Bytes out;
  EXPECT_TRUE(encode_lzw(data, out));
  return {out.data(), out.data() + out.size()};
}

/// Codes that need not make sense, written in either variant.
class Writer {
 public:
  explicit Writer(LzwVariant variant) : variant_(variant) {}
  void put(std::uint32_t code) {
    const std::uint32_t late = variant_ == LzwVariant::old_style ? 1 : 0, width = lzw_width(n_, late);
    for (std::uint32_t b = 0; b < width; ++b, ++bit_) {
      if (bit_ % 8 == 0) bytes_.push_back(std::byte{0});
      const bool set = (code >> (late != 0 ? b : width - 1 - b) & 1) != 0;
      if (set) bytes_.back() |= late != 0 ? std::byte(1 << bit_ % 8) : std::byte(0x80 >> bit_ % 8);
    }
    n_ = code == kLzwClear ? 0 : n_ + 1;
  }
  [[nodiscard]] std::uint32_t codes() const { return n_; }
  [[nodiscard]] const Data& bytes() const { return bytes_; }

 private:
  LzwVariant variant_;
  Data bytes_;
  std::size_t bit_ = 0;
  std::uint32_t n_ = 0;
};

/// A stream whose codes are chosen by chance: `recent` of 10 are the newest entries, so that batches depend on
/// themselves.
Data random_codes(LzwVariant variant, std::mt19937& random, std::uint32_t count, std::uint32_t recent,
                  std::uint32_t clear_every) {
  Writer writer(variant);
  writer.put(kLzwClear);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t n = writer.codes(), entries = std::min(n, kLzwEntries);
    if (clear_every != 0 && i % clear_every == clear_every - 1)
      writer.put(kLzwClear);
    else if (entries == 0 || random() % 4 == 0)
      writer.put(static_cast<std::uint32_t>(random() % 256));
    else if (random() % 10 < recent)
      writer.put(kLzwFirst + entries - 1 - static_cast<std::uint32_t>(random() % std::min(entries, 3U)));
    else
      writer.put(kLzwFirst + static_cast<std::uint32_t>(random() % entries));
  }
  return writer.bytes();
}

std::vector<Data> samples() {
  std::mt19937 random(5);
  std::vector<Data> all = {{}, Data(1, std::byte{'a'}), Data(16, std::byte{'a'}), Data(300000, std::byte{0})};
  for (const unsigned values : {2U, 5U, 256U})
    for (const std::size_t size : {100U, 5000U, 100000U}) {
      Data bytes(size);
      for (std::byte& b : bytes) b = static_cast<std::byte>(random() % values);
      all.push_back(std::move(bytes));
    }
  return all;
}

}  // namespace

TEST(TiffLzwDecode, AllExecutorsGiveTheData) {
  FiberWarp<> warp;
  for (const Data& data : samples()) {
    const Data packed = encoded(data);
    for (std::uint32_t seed = 0; seed < 3; ++seed) {
      const Decoded got = decode(PermTeam<128>(seed), packed, data.size(), LzwVariant::standard);
      ASSERT_EQ(got.status.status, DecodeStatus::ok) << decode_status_text(got.status.status);
      ASSERT_EQ(got.out, data);
    }
    ASSERT_EQ(decode(HostTeam<512>(), packed, data.size(), LzwVariant::standard).out, data);
    if (data.size() > 5000) continue;  // fibres are slow
    const auto shared = std::make_unique<LzwShared<32>>();
    Data out(data.size(), std::byte{0xEE});
    ChunkStatus status;
    EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
      const ChunkStatus s = decode_lzw_chunk(FiberTeam<>(w), {packed.data(), packed.size(), out.data(), out.size()},
                                             LzwVariant::standard, *shared);
      if (w.lane() == 0) status = s;
    }),
              "");
    EXPECT_EQ(status.status, DecodeStatus::ok);
    EXPECT_EQ(out, data);
  }
}

/// Fibres show a lane that leaves the others, whatever the codes say.
TEST(TiffLzwDecode, LanesStayTogetherOnAnyCodes) {
  std::mt19937 random(13);
  FiberWarp<> warp;
  const auto shared = std::make_unique<LzwShared<32>>();
  for (const LzwVariant variant : {LzwVariant::standard, LzwVariant::old_style})
    for (const std::uint32_t clear : {0U, 1U, 33U, 700U}) {
      Data in = random_codes(variant, random, 4000, 5, clear);
      for (int damage = 0; damage < 2; ++damage) {
        if (damage > 0) in[random() % in.size()] ^= static_cast<std::byte>(1U << random() % 8);
        const Decoded want = decode(HostTeam<128>(), in, 20000, variant);
        Data out(20000, std::byte{0xEE});
        ChunkStatus status;
        EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
          const ChunkStatus s =
              decode_lzw_chunk(FiberTeam<>(w), {in.data(), in.size(), out.data(), out.size()}, variant, *shared);
          if (w.lane() == 0) status = s;
        }),
                  "");
        EXPECT_EQ(status.status, want.status.status);
        EXPECT_EQ(status.position, want.status.position);
        EXPECT_EQ(out, want.out);
      }
    }
}

/// Counts what its lanes do.
struct CountingTeam : HostTeam<128> {
  std::uint64_t* calls;
  explicit CountingTeam(std::uint64_t& count) : calls(&count) {}
  template <class F>
  void for_each(std::uint32_t n, F f) const {
    *calls += n;
    HostTeam::for_each(n, f);
  }
  template <int U, class Load, class Store>
  void for_each_batched(std::uint32_t n, Load load, Store store) const {
    *calls += n;
    HostTeam::for_each_batched<U>(n, load, store);
  }
};

/// Clears where they are not expected, and codes that look like one where one is: work grows with the bytes alone.
TEST(TiffLzwDecode, FalseAndEarlyClearsAreNoMoreWorkThanTheirBits) {
  const auto work = [](std::uint32_t segments, std::uint32_t clear_every) {
    std::mt19937 random(12);
    Data in = random_codes(LzwVariant::standard, random, 3836 * segments, 0, clear_every);
    for (std::uint32_t s = 0; s + 1 < segments; ++s) {
      const std::uint32_t bit =
          9 + s * (lzw_bits_before(kLzwFullSegment, 0) + 12) + lzw_bits_before(kLzwFullSegment, 0);
      for (std::uint32_t b = 0; b < 12 && (bit + b) / 8 < in.size(); ++b) {
        const std::byte mask{static_cast<std::uint8_t>(0x80 >> (bit + b) % 8)};
        std::byte& byte = in[(bit + b) / 8];
        byte = (byte & ~mask) | (b == 3 ? mask : std::byte{0});
      }
    }
    std::uint64_t calls = 0;
    decode(CountingTeam(calls), in, std::size_t{1} << 20, LzwVariant::standard);
    return calls;
  };
  for (const std::uint32_t clear_every : {2U, 3000U}) {
    const std::uint64_t few = work(8, clear_every), many = work(32, clear_every);
    EXPECT_LT(many, 5 * few) << few;
  }
}

TEST(TiffLzwDecode, AnyCodesAsTheCpu) {
  std::mt19937 random(6);
  const auto seed = [&] { return static_cast<std::uint32_t>(random()); };
  for (const LzwVariant variant : {LzwVariant::standard, LzwVariant::old_style})
    for (const std::uint32_t recent : {0U, 5U, 10U})
      for (const std::uint32_t clear : {0U, 1U, 7U, 31U, 32U, 33U, 700U, 3836U, 3840U, 5000U}) {
        const Data in = random_codes(variant, random, 9000, recent, clear);
        expect_as_cpu(in, 6000, variant, seed());   // ends before the codes do
        expect_as_cpu(in, 40000, variant, seed());  // perhaps
        expect_as_cpu(in, std::size_t{1} << 22, variant, seed());
      }
}

TEST(TiffLzwDecode, EveryTruncationAsTheCpu) {
  std::mt19937 random(7);
  for (const LzwVariant variant : {LzwVariant::standard, LzwVariant::old_style}) {
    const Data in = random_codes(variant, random, 300, 5, 90);
    Data out(100000);
    for (std::size_t n = 0; n <= in.size(); ++n)
      expect_as_cpu(Data(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n)), 700, variant,
                    static_cast<std::uint32_t>(n));
    for (std::size_t size = 0; size < 200; ++size) expect_as_cpu(in, size, variant, static_cast<std::uint32_t>(size));
  }
}

TEST(TiffLzwDecode, EveryBitFlipAsTheCpu) {
  std::mt19937 random(8);
  int refused = 0;
  for (const LzwVariant variant : {LzwVariant::standard, LzwVariant::old_style}) {
    Data in = random_codes(variant, random, 600, 6, 250);
    for (std::size_t bit = 0; bit < in.size() * 8; ++bit) {
      in[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      expect_as_cpu(in, 1500, variant, static_cast<std::uint32_t>(bit));
      refused += decode(HostTeam<128>(), in, 1500, variant).status.status != DecodeStatus::ok;
      in[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(TiffLzwDecode, TooLargeIsLeftToTheCpu) {
  const auto shared = std::make_unique<LzwShared<128>>();
  const Data in(4);
  const ChunkStatus status =
      decode_lzw_chunk(HostTeam<128>(), {in.data(), in.size(), nullptr, kLzwMaxOut}, LzwVariant::standard, *shared);
  EXPECT_TRUE(needs_cpu(status.status));
}

TEST(TiffPredictorDecode, AllExecutorsAsTheCpu) {
  std::mt19937 random(9);
  FiberWarp<> warp;
  for (const int predictor : {2, 3})
    for (const std::uint32_t bytes : {1U, 2U, 4U, 8U})
      for (const std::uint64_t samples : {1U, 3U, 5U})
        for (const std::uint64_t pixels : {1U, 31U, 32U, 33U, 100U, 264U, 520U}) {
          if (predictor == 3 && bytes == 1) continue;
          const PredictorKernel kernel{{3, pixels * samples, samples, bytes}, predictor, false};
          Data in(kernel.rows.rows * kernel.rows.row_items * bytes), want(in.size());
          for (std::byte& b : in) b = static_cast<std::byte>(random());
          Bytes row;
          ASSERT_TRUE(row.resize_discard(in.size()));
          want = in;
          if (predictor == 3)
            undo_float_bytes(kernel.rows, in.data(), want.data(), row);
          else
            undo_differences(kernel.rows, in.data(), want.data());
          const auto run = [&](const auto& team) {
            Data out(in.size(), std::byte{0xEE});
            const DecodeTask task{in.data(), in.size(), out.data(), out.size()};
            EXPECT_EQ(check_predictor(kernel, task).status, DecodeStatus::ok);
            for (std::uint64_t r = 0; r < kernel.rows.rows; ++r) undo_row_of_chunk(team, kernel, task, r);
            return out;
          };
          ASSERT_EQ(run(HostTeam<>()), want) << predictor << " " << bytes << " " << samples << " " << pixels;
          for (std::uint32_t seed = 0; seed < 3; ++seed) ASSERT_EQ(run(PermTeam<>(seed)), want);
          if (predictor == 2) {  // the same from items in the other byte order
            PredictorKernel other = kernel;
            other.swaps = true;
            Data swapped = in, out(in.size());
            for (std::size_t i = 0; i < in.size(); i += bytes)
              std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(i),
                           swapped.begin() + static_cast<std::ptrdiff_t>(i + bytes));
            for (std::uint64_t r = 0; r < kernel.rows.rows; ++r)
              undo_row_of_chunk(HostTeam<>(), other, {swapped.data(), in.size(), out.data(), out.size()}, r);
            ASSERT_EQ(out, want);
          }
          Data out(in.size());
          EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
            for (std::uint64_t r = 0; r < kernel.rows.rows; ++r)
              undo_row_of_chunk(FiberTeam<>(w), kernel, {in.data(), in.size(), out.data(), out.size()}, r);
          }),
                    "");
          ASSERT_EQ(out, want);
        }
}

TEST(TiffPredictorDecode, AnotherSizeIsRefused) {
  const PredictorKernel kernel{{2, 4, 1, 2}, 2, false};
  for (const std::uint64_t in : {0U, 15U, 17U})
    EXPECT_NE(check_predictor(kernel, {nullptr, in, nullptr, 16}).status, DecodeStatus::ok);
  for (const std::uint64_t out : {0U, 15U, 17U})
    EXPECT_NE(check_predictor(kernel, {nullptr, 16, nullptr, out}).status, DecodeStatus::ok);
  EXPECT_EQ(check_predictor(kernel, {nullptr, 16, nullptr, 16}).status, DecodeStatus::ok);
}
