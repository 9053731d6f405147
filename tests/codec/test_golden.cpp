// Chunks that numcodecs and zarr-python encoded: decoded here, and their v2 metadata translated both ways.
// tests/golden/codec/generate.py makes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "codec/list.hpp"
#include "core/json.hpp"
#include "support.hpp"

namespace penstock {
namespace {

const std::string kFolder = PENSTOCK_TEST_DIR "/golden/codec/";

std::vector<std::byte> file(const std::string& name) {
  std::ifstream in(kFolder + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const ByteView bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

Json cases() {
  const auto text = file("index.json");
  return parse_json(as_text(text)).value();
}

ChunkSpec chunk_of(const Json& c) {
  ChunkSpec chunk{c["shape"].get<Shape>(), parse_dtype_name(c["dtype"].get<std::string>()).value(), {}};
  if (c.contains("fill") && chunk.dtype == DType::uint16()) chunk.fill = {c["fill"].get<std::byte>(), std::byte{0}};
  return chunk;
}

std::vector<CodecSpec> codecs_of(const Json& c, const ChunkSpec& chunk) {
  if (c.contains("codecs")) return codecs_from_json(c["codecs"]).value();
  return {{"bytes", R"({"endian":"little"})"}, codec_from_v2(c["v2"], chunk.dtype).value()};
}

TEST(Golden, DecodesWhatOthersEncoded) {
  for (const Json& c : cases()) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const ChunkSpec chunk = chunk_of(c);
    const auto chain = CodecChain::make(codecs_of(c, chunk), chunk);
    ASSERT_TRUE(chain) << chain.error().message();
    const auto data = file("data/" + c["data"].get<std::string>() + ".bin");
    const auto encoded = file(c["name"].get<std::string>() + ".bin");
    std::vector<std::byte> out(data.size());
    ScratchBuffers scratch;
    const auto status = chain->decode(encoded, out, scratch, {});
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(out, data);
    // The same through a buffer that does not know its size.
    if (chain->bytes_codecs().size() != 1 || !chain->array_to_bytes().is_plain() || !chain->array_codecs().empty())
      continue;
    Bytes grown;
    Sink sink(grown, 100000);
    const auto alone = chain->bytes_codecs()[0]->decode(encoded, sink);
    ASSERT_TRUE(alone) << alone.error().message();
    EXPECT_TRUE(std::ranges::equal(grown.view(), data));
  }
}

// Deterministic forms come out byte for byte.
TEST(Golden, EncodesTheSameBytesWhereThereIsOnlyOneWay) {
  int compared = 0;
  for (const Json& c : cases()) {
    const ChunkSpec chunk = chunk_of(c);
    const auto chain = CodecChain::make(codecs_of(c, chunk), chunk);
    ASSERT_TRUE(chain);
    if (!chain->encoded_size()) continue;
    SCOPED_TRACE(c["name"].get<std::string>());
    ++compared;
    Bytes out;
    ScratchBuffers scratch;
    ASSERT_TRUE(chain->encode(file("data/" + c["data"].get<std::string>() + ".bin"), out, scratch));
    EXPECT_TRUE(std::ranges::equal(out.view(), file(c["name"].get<std::string>() + ".bin")));
  }
  EXPECT_GE(compared, 18);
}

TEST(Golden, TranslatesV2MetadataBothWays) {
  int translated = 0;
  for (const Json& c : cases()) {
    if (!c.contains("v2")) continue;
    SCOPED_TRACE(c["name"].get<std::string>());
    ++translated;
    const ChunkSpec chunk = chunk_of(c);
    const CodecSpec spec = codec_from_v2(c["v2"], chunk.dtype).value();
    // Through the codec itself, so that its own spec is what is written.
    const CodecChain chain = test::make_chain({{"bytes", R"({"endian":"little"})"}, spec}, chunk);
    const auto back = codec_to_v2(chain.bytes_codecs()[0]->spec(), chunk.dtype);
    ASSERT_TRUE(back) << back.error().message();
    Json expected = c["v2"];
    if (expected["shuffle"] == -1) expected["shuffle"] = chunk.dtype.size_bytes == 1 ? 2 : 1;  // what it means here
    Json found = *back;
    for (const auto& [key, value] : expected.items()) {  // a default may be left out
      if (!found.contains(key) && (key == "location" || value.is_null() || value == false)) found[key] = value;
    }
    EXPECT_EQ(nlohmann::json(found), nlohmann::json(expected));  // order does not matter
    const auto again = codec_from_v2(*back, chunk.dtype);
    ASSERT_TRUE(again);
  }
  EXPECT_GE(translated, 40);
}

}  // namespace
}  // namespace penstock
