#include "contract/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace penstock::contract {

void add_array_filters(std::vector<Case>& cases);  // cases_filters.cpp
void add_serializer_filters(std::vector<Case>& cases);
void add_byte_filters(std::vector<Case>& cases);

namespace {

/// The array->bytes codec that suits the elements.
CodecSpec serializer(const DType& dtype) {
  if (dtype.kind == Kind::vlen_utf8) return {"vlen-utf8", "{}"};
  if (dtype.kind == Kind::vlen_bytes) return {"vlen-bytes", "{}"};
  return {"bytes", R"({"endian":"little"})"};
}

/// A serializer and then one more.
Case after_bytes(std::string codec, std::string label, std::string configuration, bool checked = false) {
  CodecSpec spec{codec, std::move(configuration)};
  return {std::move(codec), std::move(label),
          [spec](const ChunkSpec& chunk) { return std::vector<CodecSpec>{serializer(chunk.dtype), spec}; }, checked};
}

CodecSpec reversed_axes(const ChunkSpec& chunk) {
  std::string order;
  for (std::size_t d = chunk.shape.size(); d-- > 0;) order += (order.empty() ? "" : ",") + std::to_string(d);
  return {"transpose", "{\"order\":[" + order + "]}"};
}

/// Inner chunks of one element in the first dimension, whole in the others.
CodecSpec shard(const ChunkSpec& chunk, const std::string& location, const std::string& codecs) {
  Shape inner = chunk.shape;
  if (!inner.empty()) inner[0] = 1;
  for (auto& extent : inner) extent = std::max<std::uint64_t>(extent, 1);
  return {"sharding_indexed",
          fmt::format(R"({{"chunk_shape":{},"codecs":{},"index_codecs":)"
                      R"([{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"crc32c"}}],)"
                      R"("index_location":"{}"}})",
                      to_string(inner), codecs, location)};
}

std::string inner_codecs(const ChunkSpec& chunk) {
  const CodecSpec first = serializer(chunk.dtype);
  return fmt::format(R"([{{"name":"{}","configuration":{}}},{{"name":"zstd","configuration":{{"level":1}}}},)"
                     R"({{"name":"crc32c"}}])",
                     first.name, first.configuration);
}

void add_compressors(std::vector<Case>& cases) {
  for (const int level : {-10, 0, 9})
    cases.push_back(after_bytes("zstd", fmt::format("zstd level {}", level), fmt::format(R"({{"level":{}}})", level)));
  cases.push_back(after_bytes("zstd", "zstd checksum", R"({"level":3,"checksum":true})", true));
  for (const int level : {0, 1, 9})
    cases.push_back(after_bytes("gzip", fmt::format("gzip level {}", level), fmt::format(R"({{"level":{}}})", level)));
  for (const char* cname : {"lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"}) {
    for (const char* shuffle : {"noshuffle", "shuffle", "bitshuffle"}) {
      const std::string label = fmt::format("blosc {} {}", cname, shuffle);
      cases.push_back({"blosc", label, [=](const ChunkSpec& chunk) {
                         return std::vector<CodecSpec>{
                             serializer(chunk.dtype),
                             {"blosc", fmt::format(R"({{"typesize":{},"cname":"{}","clevel":5,"shuffle":"{}"}})",
                                                   chunk.dtype.size_bytes, cname, shuffle)}};
                       }});
    }
  }
  cases.push_back(after_bytes("numcodecs.lz4", "lz4", "{}"));
  cases.push_back(after_bytes("numcodecs.lz4", "lz4 acceleration 50", R"({"acceleration":50})"));
  cases.push_back(after_bytes("numcodecs.zlib", "zlib", R"({"level":4})", true));
  cases.push_back(after_bytes("numcodecs.bz2", "bz2", R"({"level":1})", true));
  cases.push_back(after_bytes("numcodecs.lzma", "lzma xz", "{}", true));
  cases.push_back(after_bytes("numcodecs.lzma", "lzma alone", R"({"format":2,"preset":1})"));
  cases.push_back(after_bytes("numcodecs.lzma", "lzma raw", R"({"format":3,"filters":[{"id":3,"dist":2},{"id":33}]})"));
}

void add_checksums(std::vector<Case>& cases) {
  cases.push_back(after_bytes("crc32c", "crc32c", "{}", true));
  cases.push_back(after_bytes("numcodecs.crc32", "crc32", "{}", true));
  cases.push_back(after_bytes("numcodecs.crc32", "crc32 end", R"({"location":"end"})", true));
  cases.push_back(after_bytes("numcodecs.adler32", "adler32", "{}", true));
  cases.push_back(after_bytes("numcodecs.fletcher32", "fletcher32", "{}", true));
  cases.push_back(after_bytes("numcodecs.jenkins_lookup3", "jenkins_lookup3", R"({"initval":5})", true));
}

}  // namespace

std::vector<Case> codec_cases() {
  std::vector<Case> cases;
  cases.push_back({"transpose", "transpose", [](const ChunkSpec& chunk) {
                     return std::vector<CodecSpec>{reversed_axes(chunk), serializer(chunk.dtype)};
                   }});
  cases.push_back({"transpose", "transpose + zstd", [](const ChunkSpec& chunk) {
                     return std::vector<CodecSpec>{reversed_axes(chunk), serializer(chunk.dtype), {"zstd", "{}"}};
                   }});
  add_array_filters(cases);
  cases.push_back(
      {"bytes", "bytes", [](const ChunkSpec&) { return std::vector<CodecSpec>{{"bytes", R"({"endian":"little"})"}}; }});
  cases.push_back({"bytes", "bytes big-endian",
                   [](const ChunkSpec&) { return std::vector<CodecSpec>{{"bytes", R"({"endian":"big"})"}}; }});
  cases.push_back(
      {"sharding_indexed", "sharding_indexed",
       [](const ChunkSpec& chunk) { return std::vector<CodecSpec>{shard(chunk, "end", inner_codecs(chunk))}; }, true});
  cases.push_back({"sharding_indexed", "sharding_indexed nested",
                   [](const ChunkSpec& chunk) {
                     const CodecSpec inner = shard(chunk, "start", inner_codecs(chunk));
                     return std::vector<CodecSpec>{shard(
                         chunk, "end", R"([{"name":"sharding_indexed","configuration":)" + inner.configuration + "}]")};
                   },
                   true});
  add_serializer_filters(cases);
  add_compressors(cases);
  add_byte_filters(cases);
  add_checksums(cases);
  return cases;
}

std::vector<DType> codec_dtypes() {
  const std::uint32_t ref = sizeof(VlenRef);
  return {DType::boolean(),
          DType::uint8(),
          DType::int16(),
          DType::uint32(),
          DType::float32(),
          DType::float64(),
          DType::complex128(),
          {Kind::opaque, 3, {}, 1, {}},
          {Kind::datetime, 8, "ms", 1, {}},
          {Kind::utf32, 20, {}, 1, {}},
          {Kind::vlen_utf8, ref, {}, 1, {}},
          {Kind::vlen_bytes, ref, {}, 1, {}}};
}

std::vector<Shape> codec_shapes() { return {{0}, {1}, {}, {3, 5, 7}, {1, 4097}, {16, 9, 64}}; }

std::string type_name(const DType& dtype) { return dtype.name(); }

std::vector<std::byte> sample(const ChunkSpec& chunk) {
  const std::size_t item = chunk.dtype.size_bytes;
  const auto count = element_count(chunk.shape).value();
  std::vector<std::byte> out(count * item);
  std::mt19937 random(11);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* p = out.data() + i * item;
    const auto value = static_cast<std::uint32_t>(i / 8 + random() % 5);
    const auto real = [&](auto zero, std::byte* at) {
      zero = static_cast<decltype(zero)>(value) / 4;
      std::memcpy(at, &zero, sizeof zero);
    };
    switch (chunk.dtype.kind) {
      case Kind::boolean: *p = static_cast<std::byte>(value % 5 == 0); break;
      case Kind::floating:
        if (item >= 4) item == 4 ? real(0.0F, p) : real(0.0, p);
        if (item < 4) std::memcpy(p, &value, item);  // bits of a small number
        break;
      case Kind::complex:
        item == 8 ? real(0.0F, p) : real(0.0, p);
        item == 8 ? real(0.0F, p + 4) : real(0.0, p + item / 2);
        break;
      case Kind::vlen_utf8:
      case Kind::vlen_bytes: {
        static constexpr std::string_view kTexts[] = {"", "a", "Cortex", "\u00b5-scope", "0123456789"};
        const ByteView text = as_bytes(kTexts[value % std::size(kTexts)]);
        const VlenRef ref{text.data(), text.size()};
        std::memcpy(p, &ref, sizeof ref);
        break;
      }
      default: std::memcpy(p, &value, std::min<std::size_t>(item, 4));
    }
  }
  return out;
}

bool same_elements(const DType& dtype, ByteView a, ByteView b) {
  if (!dtype.is_vlen()) return std::ranges::equal(a, b);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); i += sizeof(VlenRef)) {
    VlenRef x;
    VlenRef y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    if (x.size != y.size || (x.size > 0 && std::memcmp(x.data, y.data, x.size) != 0)) return false;
  }
  return true;
}

}  // namespace penstock::contract
