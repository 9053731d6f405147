#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "codec/chain.hpp"
#include "codec/list.hpp"
#include "codec/strided.hpp"
#include "support.hpp"

namespace penstock {
namespace {

using test::image_bytes;
using test::make_chain;

const CodecSpec kLittle{"bytes", R"({"endian":"little"})"};
const CodecSpec kBig{"bytes", R"({"endian":"big"})"};
const CodecSpec kZstd{"zstd", R"({"level":3,"checksum":false})"};
const CodecSpec kGzip{"gzip", R"({"level":1})"};
const CodecSpec kCrc{"crc32c", "{}"};
const CodecSpec kBlosc{"blosc", R"({"typesize":2,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0})"};
const CodecSpec kTranspose{"transpose", R"({"order":[2,0,1]})"};

ChunkSpec chunk_of(Shape shape, DType dtype) { return {std::move(shape), std::move(dtype), {}}; }

/// Encodes, decodes both ways, and checks that decode_to_layout with its layout gives the same elements, of which
/// encode_raw makes the same encoded bytes.
void round_trip(std::initializer_list<CodecSpec> specs, const ChunkSpec& chunk) {
  const CodecChain chain = make_chain(specs, chunk);
  SCOPED_TRACE(chain.text());
  const auto data = image_bytes(chain.decoded_size());
  ScratchBuffers scratch;
  Bytes encoded;
  auto status = chain.encode(data, encoded, scratch);
  ASSERT_TRUE(status) << status.error().message();
  if (chain.encoded_size()) {
    EXPECT_EQ(*chain.encoded_size(), encoded.size());
  }
  std::vector<std::byte> out(data.size());
  status = chain.decode(encoded, out, scratch, {});
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(out, data);

  std::vector<std::byte> raw(data.size());
  status = chain.decode_to_layout(encoded, raw, scratch, {});
  ASSERT_TRUE(status) << status.error().message();
  const ChunkLayout& layout = chain.chunk_layout();
  const std::size_t item = chunk.dtype.size_bytes;
  std::vector<std::byte> placed(data.size());
  copy_strided(placed.data(), c_strides(chunk.shape, item).value(), raw.data(), layout.strides, chunk.shape, item);
  if (layout.swap)
    for (std::size_t i = 0; i < placed.size(); i += item)
      std::reverse(placed.begin() + static_cast<std::ptrdiff_t>(i),
                   placed.begin() + static_cast<std::ptrdiff_t>(i + item));
  EXPECT_EQ(placed, data);

  Bytes again;
  EXPECT_EQ(static_cast<bool>(chain.encode_raw(raw, again, scratch)), chain.is_plain());
  if (chain.is_plain()) {
    EXPECT_TRUE(std::ranges::equal(again.view(), encoded.view()));
  }
}

TEST(Chain, RoundTrips) {
  for (const Shape& shape : {Shape{4, 5, 6}, Shape{1, 1, 1}, Shape{17, 3, 64}, Shape{2, 100, 1}}) {
    const ChunkSpec chunk = chunk_of(shape, DType::uint16());
    round_trip({kLittle}, chunk);
    round_trip({kBig}, chunk);
    round_trip({kLittle, kZstd}, chunk);
    round_trip({kBig, kZstd, kCrc}, chunk);
    round_trip({kLittle, kCrc}, chunk);
    round_trip({kLittle, kCrc, kZstd, kGzip}, chunk);
    round_trip({kLittle, kBlosc}, chunk);
    round_trip({kTranspose, kLittle, kGzip}, chunk);
    round_trip({kTranspose, kTranspose, kBig, kZstd}, chunk);
    round_trip({kTranspose, kBig}, chunk);
    round_trip({kTranspose, kTranspose, kTranspose, kLittle, kZstd, kCrc}, chunk);
  }
}

TEST(Chain, LayoutSaysWhatIsLeft) {
  const ChunkSpec chunk = chunk_of({4, 5, 6}, DType::uint16());
  const CodecChain plain = make_chain({kLittle, kZstd}, chunk);
  EXPECT_TRUE(plain.chunk_layout().c_order);
  EXPECT_FALSE(plain.chunk_layout().swap);
  EXPECT_FALSE(plain.is_uncompressed());
  const CodecChain turned = make_chain({kTranspose, kBig}, chunk);
  EXPECT_FALSE(turned.chunk_layout().c_order);
  EXPECT_TRUE(turned.chunk_layout().swap);
  EXPECT_TRUE(turned.is_uncompressed());
  // Stored axes are 6, 4, 5: axis 0 of the chunk is stored axis 1.
  EXPECT_EQ(turned.chunk_layout().strides, (Strides{10, 2, 40}));
  EXPECT_EQ(turned.text(), "transpose + bytes");
}

TEST(Chain, SizesAreKnownWhereTheyCanBe) {
  const ChunkSpec chunk = chunk_of({10}, DType::uint32());
  EXPECT_EQ(make_chain({kLittle, kCrc, kCrc}, chunk).encoded_size(), 48);
  EXPECT_FALSE(make_chain({kLittle, kZstd, kCrc}, chunk).encoded_size().has_value());
}

TEST(Chain, DecodesStraightIntoTheOutput) {
  const CodecChain chain = make_chain({kLittle, kZstd, kCrc}, chunk_of({1000}, DType::uint16()));
  ScratchBuffers scratch;
  Bytes encoded;
  const auto data = image_bytes(2000);
  ASSERT_TRUE(chain.encode(data, encoded, scratch));
  ScratchBuffers fresh;
  std::vector<std::byte> out(2000);
  ASSERT_TRUE(chain.decode_to_layout(encoded, out, fresh, {}));
  EXPECT_EQ(out, data);
  EXPECT_EQ(fresh.a.capacity() + fresh.b.capacity(), 0U);
}

std::string error_of(std::vector<CodecSpec> specs, const ChunkSpec& chunk) {
  auto chain = CodecChain::make(specs, chunk);
  return chain ? "no error" : chain.error().message();
}

TEST(Chain, RefusesContradictions) {
  const ChunkSpec chunk = chunk_of({4, 5, 6}, DType::uint16());
  EXPECT_EQ(error_of({}, chunk), "codecs: an array->bytes codec such as bytes is missing");
  EXPECT_EQ(error_of({kZstd}, chunk), "codec zstd: an array->bytes codec such as bytes must come before it");
  EXPECT_EQ(error_of({kLittle, kLittle}, chunk), "codec bytes: there is already an array->bytes codec, bytes");
  EXPECT_EQ(error_of({kLittle, kTranspose}, chunk),
            "codec transpose: an array codec cannot follow an array->bytes codec");
  EXPECT_EQ(error_of({kLittle, {"zstdd", "{}"}}, chunk), "no codec 'zstdd'; did you mean zstd?");
  EXPECT_EQ(error_of({{"bytes", "{}"}}, chunk), "codec bytes: \"endian\" is needed for the data type uint16");
  EXPECT_EQ(error_of({kLittle, {"zstd", R"({"level":99})"}}, chunk),
            "codec zstd: \"level\" must be a whole number from -131072 to 22, is 99");
  EXPECT_EQ(error_of({kLittle, {"zstd", R"({"levle":1})"}}, chunk), "codec zstd: the member \"levle\" is not known");
  EXPECT_EQ(error_of({{"transpose", R"({"order":[0,1,1]})"}, kLittle}, chunk),
            "codec transpose: \"order\" must hold each of the 3 axes once, is [0,1,1]");
  EXPECT_EQ(error_of({{"bytes", R"({"endian":"little"})"}}, chunk_of({1}, {Kind::vlen_utf8, 16, {}, 1, {}})),
            "codec bytes: elements of type string have no fixed size; use vlen-utf8 or vlen-bytes");
  EXPECT_EQ(error_of({kLittle}, chunk_of({std::uint64_t{1} << 40, std::uint64_t{1} << 40}, DType::uint16())),
            "chunk: a size does not fit in 64 bits");
}

TEST(Chain, OneByteTypesNeedNoByteOrder) {
  round_trip({{"bytes", "{}"}, kZstd}, chunk_of({100}, DType::uint8()));
  round_trip({{"bytes", "{}"}}, chunk_of({100}, {Kind::opaque, 3, {}, 1, {}}));
}

TEST(Chain, SwapsEachFieldOfAStructure) {
  DType record{Kind::structure, 12, {}, 1, {}};
  record.fields = {{"a", DType::uint16(), 0, {}}, {"b", DType::float64(), 2, {}}, {"c", DType::uint8(), 10, {2}}};
  const ChunkSpec chunk = chunk_of({3}, record);
  const CodecChain big = make_chain({kBig}, chunk);
  const CodecChain mixed = make_chain({{"bytes", R"({"endian":["big","little","little"]})"}}, chunk);
  EXPECT_TRUE(big.chunk_layout().swap);
  EXPECT_FALSE(mixed.chunk_layout().swap);  // done by the codec: the layout has one answer for all fields
  const auto data = image_bytes(36);
  ScratchBuffers scratch;
  Bytes encoded;
  ASSERT_TRUE(big.encode(data, encoded, scratch));
  auto expected = data;
  for (std::size_t i = 0; i < 36; i += 12) {
    std::reverse(expected.begin() + static_cast<long>(i), expected.begin() + static_cast<long>(i) + 2);
    std::reverse(expected.begin() + static_cast<long>(i) + 2, expected.begin() + static_cast<long>(i) + 10);
  }
  EXPECT_TRUE(std::ranges::equal(encoded.view(), expected));
  ASSERT_TRUE(mixed.encode(data, encoded, scratch));
  for (std::size_t i = 0; i < 36; i += 12)
    std::reverse(expected.begin() + static_cast<long>(i) + 2, expected.begin() + static_cast<long>(i) + 10);
  EXPECT_TRUE(std::ranges::equal(encoded.view(), expected));
  std::vector<std::byte> out(36);
  ASSERT_TRUE(mixed.decode_to_layout(encoded, out, scratch, {}));
  EXPECT_EQ(out, data);
}

TEST(Chain, ErrorsNameTheCodecAndThePlace) {
  const CodecChain chain = make_chain({kLittle, kZstd, kCrc}, chunk_of({1000}, DType::uint16()));
  ScratchBuffers scratch;
  Bytes encoded;
  ASSERT_TRUE(chain.encode(image_bytes(2000), encoded, scratch));
  std::vector<std::byte> out(2000);
  encoded.data()[20] ^= std::byte{1};
  auto status = chain.decode(encoded, out, scratch, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::corrupt_data);
  EXPECT_TRUE(status.error().message().starts_with("codec crc32c: checksum of ")) << status.error().message();
}

// A chunk that would grow beyond what the metadata allows is stopped before memory is taken for it.
TEST(Chain, StopsDecompressionBombs) {
  const CodecChain small = make_chain({kLittle, kZstd, kGzip}, chunk_of({1000}, DType::uint16()));
  const CodecChain large = make_chain({kLittle, kZstd, kGzip}, chunk_of({std::uint64_t{1} << 24}, DType::uint16()));
  ScratchBuffers scratch;
  Bytes bomb;
  ASSERT_TRUE(large.encode(std::vector<std::byte>(std::size_t{1} << 25), bomb, scratch));
  std::vector<std::byte> out(2000);
  const auto status = small.decode(bomb, out, scratch, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::corrupt_data);

  // The intermediate result is bounded as well: gzip around far more bytes than zstd could have made of 2000.
  const CodecChain outer = make_chain({kLittle, kGzip}, chunk_of({std::uint64_t{1} << 24}, DType::uint16()));
  ASSERT_TRUE(outer.encode(std::vector<std::byte>(std::size_t{1} << 25), bomb, scratch));
  ScratchBuffers fresh;
  const auto stopped = small.decode(bomb, out, fresh, {});
  ASSERT_FALSE(stopped);
  EXPECT_TRUE(stopped.error().message().starts_with("codec gzip: the data hold more than"))
      << stopped.error().message();
  EXPECT_LT(fresh.a.capacity() + fresh.b.capacity(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace penstock
