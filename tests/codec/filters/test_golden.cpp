// Bytes and values against numcodecs (tests/golden/filters/make.py).
#include <gtest/gtest.h>

#include <map>

#include "codec/chain.hpp"
#include "codec/filters/golden.hpp"
#include "core/json.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::vector<std::string> texts_of(const std::string& elements) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < elements.size(); i += sizeof(VlenRef)) {
    VlenRef ref;
    std::memcpy(&ref, elements.data() + i, sizeof ref);
    out.emplace_back(reinterpret_cast<const char*>(ref.data), ref.size);
  }
  return out;
}

}  // namespace

TEST(Filters, EveryCodecIsCovered) {
  std::map<std::string, int> cases;
  for (const GoldenCase& c : golden_cases()) ++cases[c.spec.name];
  for (const char* name :
       {"numcodecs.shuffle", "numcodecs.delta", "numcodecs.fixedscaleoffset", "numcodecs.quantize", "bitround",
        "numcodecs.astype", "numcodecs.packbits", "packbits", "vlen-utf8", "vlen-bytes", "zfp", "numcodecs.zfpy"})
    EXPECT_GE(cases[name], 5) << name;
}

TEST(Filters, EncodeAsNumcodecs) {
  for (const GoldenCase& c : golden_cases()) {
    const auto codec = make_codec(c.spec, c.chunk);
    ASSERT_TRUE(codec) << c.text << ": " << codec.error().message();
    const auto encoded = encode(*codec, c.chunk.dtype.is_vlen() ? as_elements(c.strings) : c.decoded);
    ASSERT_EQ(encoded.has_value(), c.encodable) << c.text << (encoded ? "" : encoded.error().message());
    if (!encoded) continue;
    EXPECT_EQ(*encoded, c.encoded) << c.text;
  }
}

TEST(Filters, DecodeAsNumcodecs) {
  for (const GoldenCase& c : golden_cases()) {
    if (!c.encodable) continue;
    const auto codec = make_codec(c.spec, c.chunk);
    ASSERT_TRUE(codec) << c.text;
    Arena arena;
    const auto decoded = decode(*codec, c.encoded, c.chunk.size_bytes().value(), arena);
    ASSERT_TRUE(decoded) << c.text << ": " << decoded.error().message();
    if (c.chunk.dtype.is_vlen())
      EXPECT_EQ(texts_of(*decoded), c.strings) << c.text;
    else
      EXPECT_EQ(*decoded, c.restored) << c.text;
  }
}

/// What the codec says of itself makes the same codec, and the v2 form is what numcodecs wrote.
TEST(Filters, ConfigurationsGoThereAndBack) {
  for (const GoldenCase& c : golden_cases()) {
    const auto codec = make_codec(c.spec, c.chunk);
    ASSERT_TRUE(codec) << c.text;
    const CodecSpec said = std::visit([](const auto& made) { return made->spec(); }, *codec);
    const auto again = make_codec(said, c.chunk);
    ASSERT_TRUE(again) << c.text << ": " << again.error().message();
    EXPECT_EQ(std::visit([](const auto& made) { return made->spec(); }, *again), said) << c.text;
    const auto v2 = codec_to_v2(said, c.chunk.dtype);
    if (c.v2.is_null()) {
      EXPECT_FALSE(v2) << c.text;
      continue;
    }
    ASSERT_TRUE(v2) << c.text << ": " << v2.error().message();
    EXPECT_EQ(nlohmann::json::parse(dump_json(*v2)), nlohmann::json::parse(dump_json(c.v2))) << c.text;
  }
}

/// In a chain: filter, bytes, and what the chain does around them.
TEST(Filters, WorkInAChain) {
  for (const GoldenCase& c : golden_cases()) {
    if (!c.encodable || c.spec.name == "numcodecs.shuffle") continue;
    std::vector<CodecSpec> specs = {c.spec};
    const auto codec = make_codec(c.spec, c.chunk);
    if (std::holds_alternative<std::unique_ptr<ArrayToArray>>(*codec))
      specs.push_back({"bytes", R"({"endian": "little"})"});
    const auto chain = CodecChain::make(specs, c.chunk);
    ASSERT_TRUE(chain) << c.text << ": " << chain.error().message();
    ScratchBuffers scratch;
    Bytes encoded;
    const std::string in = c.chunk.dtype.is_vlen() ? as_elements(c.strings) : c.decoded;
    ASSERT_TRUE(chain->encode(as_bytes(in), encoded, scratch)) << c.text;
    EXPECT_EQ(as_text(encoded), c.encoded) << c.text;
    Arena arena;
    std::string out(in.size(), '\0');
    const auto status = chain->decode(encoded, std::as_writable_bytes(std::span(out)), scratch, DecodeContext{&arena});
    ASSERT_TRUE(status) << c.text << ": " << status.error().message();
    if (c.chunk.dtype.is_vlen()) continue;
    EXPECT_EQ(out, c.restored) << c.text;
  }
}
