// Chains of device encoders, run on the host: every byte as the CPU's codecs make it where they do not compress, and
// readable by them where they do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "codec/encode_chain.hpp"
#include "device/encoding.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

const CodecSpec kLittle{"bytes", R"({"endian":"little"})"};
const CodecSpec kLz4{"numcodecs.lz4", "{}"};
const CodecSpec kCrc{"crc32c", "{}"};

CodecSpec shuffle(int size) { return {"numcodecs.shuffle", R"({"elementsize":)" + std::to_string(size) + "}"}; }

CodecChain chain_of(std::vector<CodecSpec> codecs, std::uint64_t elements) {
  codecs.insert(codecs.begin(), kLittle);
  return CodecChain::make(codecs, {{elements}, DType::uint16(), {}}).value();
}

/// All chunks through a chain; an empty one was left out.
std::vector<Data> encode(const EncodeChain& chain, const std::vector<Data>& chunks, std::uint32_t leave_out = ~0u) {
  EncodeRun run(chain, static_cast<std::uint32_t>(chunks.size()));
  const ExactBytes host = exact_bytes(run.host_bytes()), device = exact_bytes(run.device_bytes());
  const Stream stream;
  run.begin(host.get(), device.get(), chain.raw_bytes(), stream).value();
  for (std::uint32_t i = 0; i < chunks.size(); ++i)
    if (!chunks[i].empty()) std::memcpy(run.raw(i), chunks[i].data(), chunks[i].size());
  if (leave_out < chunks.size()) run.raw_sizes()[leave_out] = kNotEncoded;
  run.encode(stream).value();
  std::vector<Data> made;
  for (std::uint32_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(run.left_out(i), i == leave_out);
    if (run.left_out(i)) {
      made.emplace_back();
      continue;
    }
    const auto* begin = reinterpret_cast<const std::uint8_t*>(run.encoded(i));
    made.emplace_back(begin, begin + run.encoded_bytes(i).value());
  }
  return made;
}

}  // namespace

TEST(EncodeChain, WhatTheCpuEncodesOrDecodes) {
  struct Row {
    std::vector<CodecSpec> codecs;
    bool same;  // bytes as the CPU's
  };
  const std::vector<Row> rows = {
      {{kCrc}, true},
      {{{"numcodecs.crc32", "{}"}}, true},
      {{{"numcodecs.crc32", R"({"location":"end"})"}}, true},
      {{{"numcodecs.adler32", "{}"}}, true},
      {{{"numcodecs.fletcher32", "{}"}, {"numcodecs.crc32c", R"({"location":"start"})"}, kCrc}, true},
      {{shuffle(2)}, true},
      {{shuffle(4), kCrc}, true},
      {{shuffle(1)}, true},
      {{shuffle(8)}, true},
      {{kLz4}, false},
      {{shuffle(2), kLz4, kCrc}, false},
      {{kCrc, kLz4}, false},
      {{{"zstd", R"({"level":3})"}}, false},
      {{shuffle(2), {"zstd", R"({"level":19,"checksum":true})"}, kCrc}, false},
  };
  std::mt19937 random(2);
  ScratchBuffers scratch;
  for (const Row& row : rows)
    for (const std::uint64_t elements : {std::uint64_t{4}, std::uint64_t{1000}, std::uint64_t{100000}}) {
      const CodecChain cpu = chain_of(row.codecs, elements);
      const EncodeChain device = EncodeChain::make(cpu).value();
      SCOPED_TRACE(device.text() + ", " + std::to_string(elements));
      std::vector<Data> chunks;
      for (int kind = 0; kind < kDataKinds; ++kind) chunks.push_back(make_data(kind, 2 * elements, random));
      const std::vector<Data> made = encode(device, chunks, 3);
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        if (i == 3) continue;
        const ByteView raw = std::as_bytes(std::span(chunks[i])), encoded = std::as_bytes(std::span(made[i]));
        Data back(chunks[i].size());
        ASSERT_TRUE(cpu.decode(encoded, std::as_writable_bytes(std::span(back)), scratch, {}));
        EXPECT_EQ(back, chunks[i]);
        EXPECT_LE(made[i].size(), device.max_bytes());
        Bytes by_cpu;
        ASSERT_TRUE(cpu.encode(raw, by_cpu, scratch));
        EXPECT_TRUE(!row.same || std::ranges::equal(by_cpu.view(), encoded));
      }
      EXPECT_EQ(device.compresses(), !row.same);
    }
}

TEST(EncodeChain, SaysWhatHasNoEncoder) {
  const auto refusal = [](const CodecChain& chain) { return EncodeChain::make(chain).error().message(); };
  EXPECT_EQ(refusal(chain_of({{"gzip", "{}"}}, 10)), "gzip has no device encoder");
  const std::vector<CodecSpec> delta = {{"numcodecs.delta", R"({"dtype":"<u2"})"}, kLittle, kLz4};
  EXPECT_EQ(refusal(CodecChain::make(delta, {{10}, DType::uint16(), {}}).value()),
            "numcodecs.delta has no device encoder");
  const std::vector<CodecSpec> turned = {{"transpose", R"({"order":[1,0]})"}, {"bytes", R"({"endian":"big"})"}, kLz4};
  EXPECT_EQ(EncodeChain::make(CodecChain::make(turned, {{3, 4}, DType::uint16(), {}}).value()).value().text(), "lz4")
      << "axis and byte order are left to whoever gathers";
}

TEST(EncodeChain, ShuffleOfPartsOfElementsIsRefused) {
  const CodecChain cpu = chain_of({shuffle(4)}, 5);  // 10 bytes
  const EncodeChain device = EncodeChain::make(cpu).value();
  EncodeRun run(device, 1);
  const ExactBytes host = exact_bytes(run.host_bytes()), memory = exact_bytes(run.device_bytes());
  ASSERT_TRUE(run.begin(host.get(), memory.get(), device.raw_bytes(), Stream()));
  ASSERT_TRUE(run.encode(Stream()));
  const auto bytes = run.encoded_bytes(0);
  ASSERT_FALSE(bytes);
  EXPECT_NE(bytes.error().message().find("numcodecs.shuffle"), std::string::npos) << bytes.error().message();
}
