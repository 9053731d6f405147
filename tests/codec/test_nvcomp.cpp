// What we do around nvCOMP: finding it, choosing it, looking at what goes into it and comes out.  nvCOMP itself is
// tested by tests/device/test_nvcomp.cpp, where there is a GPU.
#include <gtest/gtest.h>

#include <cstring>

#include "codec/chain.hpp"
#include "codec/cost/costs.hpp"
#include "codec/device_chain.hpp"
#include "codec/nvcomp/check.hpp"
#include "device/team.hpp"

using namespace penstock;
using namespace penstock::nvcomp;

namespace {

const std::string kFolder = PENSTOCK_FAKE_NVCOMP_DIR "/";
const CodecSpec kBytes{"bytes", R"({"endian":"little"})"};

CodecChain chain_of(std::vector<CodecSpec> specs, std::uint64_t elements) {
  specs.insert(specs.begin(), kBytes);
  return CodecChain::make(specs, {{elements}, DType::uint16(), {}}).value();
}

struct Chunk {
  alignas(256) std::byte encoded[512];
  std::vector<std::byte> raw = std::vector<std::byte>(200);
  DecodeTask task;
  std::vector<std::byte> out = std::vector<std::byte>(200);

  explicit Chunk(const CodecSpec& codec) {
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::byte>(i * i / 7);
    ScratchBuffers scratch;
    Bytes bytes;
    EXPECT_TRUE(chain_of({codec}, raw.size() / 2).encode(raw, bytes, scratch));
    EXPECT_LE(bytes.size(), sizeof encoded);
    std::memcpy(encoded, bytes.data(), bytes.size());
    task = {encoded, bytes.size(), out.data(), raw.size()};
  }
  [[nodiscard]] DecodeStatus seen(Format format) const { return look_at(task, format).status; }
};

const CodecSpec kCodecs[] = {{"zstd", "{}"}, {"numcodecs.lz4", "{}"}, {"gzip", "{}"}};  // by Format
constexpr Format kFormats[] = {Format::zstd, Format::lz4, Format::gzip};

}  // namespace

TEST(NvcompLibrary, WhatIsNotItIsRefusedInWords) {
  const auto absent = load("/nowhere/libnvcomp.so.6");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), ErrorCode::unsupported);
  EXPECT_NE(absent.error().message().find("/nowhere/libnvcomp.so.6"), std::string::npos) << absent.error().message();
  EXPECT_NE(absent.error().hint().find("nvidia-libnvcomp-cu13"), std::string::npos);
  const auto message = [](const std::string& name) {
    const auto library = load(kFolder + name);
    return library ? "it was loaded" : library.error().message();
  };
  EXPECT_NE(message("libfake_nvcomp_5.so").find("nvCOMP 5.1.0, but 6.x is needed"), std::string::npos);
  EXPECT_NE(message("libfake_nvcomp_empty.so").find("it has no nvcompBatchedZstdDecompressGetTempSize"),
            std::string::npos);
}

TEST(NvcompLibrary, IsKept) {
  const auto library = load(kFolder + "libfake_nvcomp_6.so").value();
  EXPECT_EQ(library->version, "6.2.3");
  EXPECT_EQ(library->name(), "nvCOMP 6.2");
  EXPECT_EQ(load(kFolder + "libfake_nvcomp_6.so").value(), library);
}

TEST(Nvcomp, TakesWhatItDoesAndOnlyWhereItIsQuicker) {
  const auto library = load(kFolder + "libfake_nvcomp_6.so").value();
  const auto handed = [&](std::vector<CodecSpec> codecs, const CodecCosts* costs) {
    auto chain = DeviceChain::make(chain_of(std::move(codecs), 1 << 19)).value();
    chain.hand_to_nvcomp(library, costs, 64);
    return chain.text();
  };
  EXPECT_EQ(handed({{"zstd", "{}"}}, nullptr), "zstd (nvCOMP 6.2)");
  EXPECT_EQ(handed({{"zstd", R"({"checksum":true})"}}, nullptr), "zstd (own)");
  EXPECT_EQ(handed({{"numcodecs.shuffle", R"({"elementsize":2})"}, {"numcodecs.lz4", "{}"}, {"crc32c", "{}"}}, nullptr),
            "crc32c (own) + lz4 (nvCOMP 6.2) + unshuffle (own)");
  EXPECT_EQ(handed({{"gzip", "{}"}, {"numcodecs.crc32", "{}"}}, nullptr), "crc32 + gzip (own)")
      << "4 bytes stand before the stream, which nvCOMP wants at a multiple of 8";
  EXPECT_EQ(handed({{"numcodecs.zlib", "{}"}}, nullptr), "zlib (own)");

  auto table = std::make_shared<CostTable>();
  const auto row = [](DecodedBy by, double seconds) { return CostRow{"zstd", by, "u16", {{1 << 20, 1, seconds}}}; };
  table->rows = {row(DecodedBy::device, 3), row(DecodedBy::nvcomp, 2)};
  CodecCosts costs{"a test", table};
  EXPECT_EQ(handed({{"zstd", "{}"}}, &costs), "zstd (nvCOMP 6.2)");
  table->rows[1].points[0].seconds = 4;
  EXPECT_EQ(handed({{"zstd", "{}"}}, &costs), "zstd (own)");
  auto chain = DeviceChain::make(chain_of({{"zstd", "{}"}}, 1 << 19)).value();
  EXPECT_NEAR(chain.device_seconds(costs, 1).value(), 3, 1e-9);
  chain.hand_to_nvcomp(library, nullptr, 1);
  EXPECT_NEAR(chain.device_seconds(costs, 1).value(), 4, 1e-9);
}

TEST(Nvcomp, SpareStreamsAreGoodOnes) {
  for (const Format format : kFormats) {
    const Spare spare = spare_stream(format);
    std::vector<std::byte> encoded;
    if (format == Format::lz4) encoded = {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}};
    for (std::size_t i = 0; i < spare.size; ++i) encoded.push_back(static_cast<std::byte>(spare.bytes[i]));
    const auto chain =
        CodecChain::make(std::vector{kBytes, kCodecs[static_cast<std::size_t>(format)]}, {{1}, DType::uint8(), {}});
    std::byte out{};
    ScratchBuffers scratch;
    const Status done = chain.value().decode(encoded, {&out, 1}, scratch, {});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(out, std::byte{65});
  }
}

TEST(Nvcomp, SeesOnlyWhatLooksRight) {
  for (const Format format : kFormats) {
    const Chunk good(kCodecs[static_cast<std::size_t>(format)]);
    EXPECT_EQ(good.seen(format), DecodeStatus::ok);
    for (std::uint64_t bytes = 0; bytes < (format == Format::lz4 ? 5 : 9); ++bytes) {
      Chunk cut = good;
      cut.task.in_bytes = bytes;
      EXPECT_NE(cut.seen(format), DecodeStatus::ok) << bytes;
    }
    Chunk other = good;
    other.task.out_bytes -= 1;
    EXPECT_EQ(other.seen(format), DecodeStatus::unsupported_feature) << "another size";
    other = good;
    other.task.in += 1;
    EXPECT_NE(other.seen(format), DecodeStatus::ok) << "another beginning, and not aligned";
    other = good;
    other.task.out_bytes = kMaxBytes + 1;
    EXPECT_EQ(other.seen(format), DecodeStatus::too_large);
  }
  Chunk zstd(kCodecs[0]);
  zstd.encoded[4] |= std::byte{4};
  EXPECT_EQ(zstd.seen(Format::zstd), DecodeStatus::unsupported_feature) << "a checksum";
}

TEST(Nvcomp, OpensWithASpareStreamWhereItSeesNothing) {
  Chunk good(kCodecs[0]), bad(kCodecs[0]);
  bad.encoded[0] = std::byte{0};
  const void* in[2];
  std::size_t in_bytes[2], room[2], out_bytes[2];
  void* out[2];
  Outcome outcomes[2];
  std::uint8_t spare[kSpareBytes];
  const Arrays arrays{in, in_bytes, out, room, out_bytes, outcomes, spare};
  ChunkStatus results[2];
  open_chunk(good.task, Format::zstd, arrays, 0, results);
  open_chunk(bad.task, Format::zstd, arrays, 1, results);
  EXPECT_EQ(in[0], good.encoded);
  EXPECT_EQ(out[0], good.out.data());
  EXPECT_EQ(room[0], 200u);
  EXPECT_EQ(in[1], spare);
  EXPECT_EQ(out[1], spare + kSpareOut);
  EXPECT_EQ(room[1], 1u);
  const checksum::Crc crc32(0xEDB88320);
  checksum::Shared shared;
  out_bytes[0] = 200;
  out_bytes[1] = 1;
  for (const std::uint32_t i : {0u, 1u})
    finish_chunk(HostTeam<256>(), i == 0 ? good.task : bad.task, Format::zstd, arrays, i, crc32, results, shared);
  EXPECT_EQ(results[0].status, DecodeStatus::ok);
  EXPECT_EQ(results[1].status, DecodeStatus::unsupported_feature) << "whatever nvCOMP says of the spare stream";
}

TEST(Nvcomp, SizesAndChecksumsAreOurs) {
  EXPECT_EQ(status_of(kSuccess, 199, 200), DecodeStatus::short_output);
  EXPECT_EQ(status_of(static_cast<Outcome>(12), 200, 200), DecodeStatus::refused_by_nvcomp);
  EXPECT_EQ(status_of(kBadChecksum, 200, 200), DecodeStatus::bad_checksum);
  Chunk chunk(kCodecs[2]);
  std::size_t made = 200;
  Outcome outcome = kSuccess;
  Arrays arrays;
  arrays.out_bytes = &made;
  arrays.outcomes = &outcome;
  const checksum::Crc crc32(0xEDB88320);
  checksum::Shared shared;
  const auto finished = [&] {
    ChunkStatus result;
    result.status = DecodeStatus::ok;
    finish_chunk(HostTeam<256>(), chunk.task, Format::gzip, arrays, 0, crc32, &result, shared);
    return result.status;
  };
  chunk.out = chunk.raw;
  chunk.task.out = chunk.out.data();
  EXPECT_EQ(finished(), DecodeStatus::ok);
  chunk.out[77] ^= std::byte{1};
  EXPECT_EQ(finished(), DecodeStatus::bad_checksum);
}
