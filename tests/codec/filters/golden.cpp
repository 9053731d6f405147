#include "codec/filters/golden.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "core/json.hpp"
#include "core/numpy_dtype.hpp"

namespace penstock::test {
namespace {

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

GoldenCase read_case(const Json& json) {
  GoldenCase out;
  out.text = dump_json(json).substr(0, 300);
  const std::string dtype = json.at("dtype");
  out.chunk.dtype =
      dtype == "string" || dtype == "bytes" ? parse_dtype_name(dtype).value() : parse_numpy_dtype(dtype).value().dtype;
  for (const Json& extent : json.at("shape")) out.chunk.shape.push_back(extent.get<std::uint64_t>());
  if (json.contains("v2")) {
    out.v2 = json.at("v2");
    out.spec = codec_from_v2(out.v2, out.chunk.dtype).value();
  } else {
    out.spec = {json.at("v3").at("name"), dump_json(json.at("v3").at("configuration"))};
  }
  const Json& decoded = json.at("decoded");
  if (decoded.is_array()) {
    for (const Json& element : decoded) out.strings.push_back(from_hex(element));
  } else {
    out.decoded = from_hex(decoded);
  }
  out.encodable = json.value("encode", true);
  if (out.encodable) out.encoded = from_hex(json.at("encoded"));
  out.restored = json.contains("restored") ? from_hex(json.at("restored")) : out.decoded;
  return out;
}

}  // namespace

std::vector<GoldenCase> golden_cases() {
  std::ifstream file(PENSTOCK_GOLDEN_FILTERS);
  std::stringstream text;
  text << file.rdbuf();
  const auto json = parse_json(text.str());
  if (!json) {
    ADD_FAILURE() << PENSTOCK_GOLDEN_FILTERS << ": " << json.error().message();
    return {};
  }
  std::vector<GoldenCase> cases;
  for (const Json& one : json->at("cases")) {
    cases.push_back(read_case(one));
  }
  return cases;
}

std::string as_elements(const std::vector<std::string>& strings) {
  std::string out;
  for (const std::string& s : strings) {
    const VlenRef ref{reinterpret_cast<const std::byte*>(s.data()), s.size()};
    out.append(reinterpret_cast<const char*>(&ref), sizeof ref);
  }
  return out;
}

Result<AnyCodec> make_codec(const CodecSpec& spec, const ChunkSpec& chunk) {
  const CodecEntry* entry = find_codec(spec.name);
  if (entry == nullptr) return unknown_codec(spec.name);
  PENSTOCK_ASSIGN(const Json configuration, parse_json(spec.configuration));
  return entry->make(configuration, chunk);
}

Result<std::string> encode(const AnyCodec& codec, const std::string& decoded) {
  Bytes out;
  if (const auto* array = std::get_if<std::unique_ptr<ArrayToArray>>(&codec)) {
    PENSTOCK_ASSIGN(const std::uint64_t size, (*array)->encoded().size_bytes());
    PENSTOCK_TRY(out.resize(size));
    PENSTOCK_TRY((*array)->encode(as_bytes(decoded), out.span()));
  } else if (const auto* serializer = std::get_if<std::unique_ptr<ArrayToBytes>>(&codec)) {
    PENSTOCK_TRY((*serializer)->encode(as_bytes(decoded), out));
    EXPECT_EQ((*serializer)->encoded_size().value_or(out.size()), out.size());
  } else {
    const auto& bytes = *std::get_if<std::unique_ptr<BytesToBytes>>(&codec);
    PENSTOCK_TRY(bytes->encode(as_bytes(decoded), out));
    EXPECT_EQ(*bytes->encoded_size(decoded.size()), out.size());
  }
  return std::string(as_text(out));
}

Result<std::string> decode(const AnyCodec& codec, const std::string& encoded, std::size_t decoded_size, Arena& arena) {
  // Exactly as much memory as the codec may use: AddressSanitizer sees one byte more.
  std::vector<std::byte> in(encoded.size());
  if (!in.empty()) std::memcpy(in.data(), encoded.data(), in.size());
  std::vector<std::byte> out(decoded_size);
  if (const auto* array = std::get_if<std::unique_ptr<ArrayToArray>>(&codec)) {
    PENSTOCK_TRY((*array)->decode(in, out));
  } else if (const auto* serializer = std::get_if<std::unique_ptr<ArrayToBytes>>(&codec)) {
    PENSTOCK_TRY((*serializer)->decode(in, out, DecodeContext{&arena}));
  } else {
    Sink sink{ByteSpan(out)};
    PENSTOCK_TRY((*std::get_if<std::unique_ptr<BytesToBytes>>(&codec))->decode(in, sink));
  }
  return std::string(as_text(out));
}

}  // namespace penstock::test
