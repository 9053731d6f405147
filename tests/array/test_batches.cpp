// Many things in one call: writes, and chunks through one codec.
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/batch/decode.hpp"
#include "codec/batch/encode.hpp"
#include "model.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::vector<Bytes> chunks(std::initializer_list<std::size_t> sizes) {
  std::mt19937_64 random(3);
  std::vector<Bytes> out;
  for (const std::size_t size : sizes) {
    Bytes bytes;
    EXPECT_TRUE(bytes.resize(size));
    for (std::byte& b : bytes.span()) b = static_cast<std::byte>(random() % 5);
    out.push_back(std::move(bytes));
  }
  return out;
}

std::vector<ByteView> views(const std::vector<Bytes>& made) { return {made.begin(), made.end()}; }

bool same(ByteView a, ByteView b) { return std::ranges::equal(a, b); }

}  // namespace

TEST(WriteMany, AgreesWithOneWriteAfterTheOther) {
  for (const auto& codecs : {std::vector{bytes_codec(), zstd_codec()}, std::vector{sharding("[4,2]")}}) {
    const Dataset d = dataset({40, 30}, {8, 4}, codecs);
    Array array =
        Array::create(open_store("memory://", StoreMode::create).value(), "a", d, Array::IfExists::fail).value();
    Model model(d);
    std::mt19937_64 random(5);
    std::vector<Region> regions;  // columns that share chunks and shards, and touch no element twice
    for (std::uint64_t x = 0; x < 30; x += 3) regions.push_back({{x, 40 - x, 1}, {x, 3, 1}});
    std::vector<std::vector<std::byte>> values;
    std::vector<WriteItem> items;
    for (const Region& region : regions) {
      values.push_back(random_values(region, model.item, random));
      model.write(region, values.back());
    }
    for (std::size_t i = 0; i < regions.size(); ++i) {
      items.push_back({&array, regions[i], {}});
      items.back().source.data = values[i].data();
    }
    const auto report = write_many(items, threads(3));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->decoded_bytes, std::accumulate(values.begin(), values.end(), std::uint64_t{0},
                                                     [](std::uint64_t n, const auto& v) { return n + v.size(); }));
    EXPECT_EQ(test::read(array, whole(d.shape)).value(), model.data);
  }
  EXPECT_TRUE(write_many({}, {}));
}

TEST(WriteMany, RefusesARegionOutsideBeforeItWrites) {
  const Dataset d = dataset({8}, {4});
  Array array =
      Array::create(open_store("memory://", StoreMode::create).value(), "a", d, Array::IfExists::fail).value();
  std::vector<std::byte> values(16, std::byte{7});
  std::vector<WriteItem> items{{&array, {{0, 8, 1}}, {}}, {&array, {{4, 5, 1}}, {}}};
  for (WriteItem& item : items) item.source.data = values.data();
  const auto written = write_many(items, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(test::read(array, whole(d.shape)).value(), Model(d).data);
}

TEST(BytesBatch, ThereAndBackWithSizesKnownWrongAndUnknown) {
  for (const CodecSpec& spec :
       {zstd_codec(), CodecSpec{"gzip", R"({"level":1})"}, CodecSpec{"numcodecs.lz4", "{}"},
        CodecSpec{"blosc", R"({"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":2,"blocksize":0})"}}) {
    const auto codec = make_bytes_codec(spec).value();
    const std::vector<Bytes> plain = chunks({1000, 0, 70000, 1, 2});
    for (const std::uint64_t workers : {1, 3}) {
      const std::vector<Bytes> encoded = encode_batch(*codec, views(plain), threads(workers)).value();
      for (const std::optional<std::uint64_t> wrong :
           {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(3)}) {
        std::vector<EncodedChunk> in;
        for (std::size_t i = 0; i < encoded.size(); ++i)
          in.push_back({encoded[i], i % 2 == 0 ? std::optional<std::uint64_t>(plain[i].size()) : wrong});
        const auto decoded = decode_batch(*codec, in, threads(workers));
        ASSERT_TRUE(decoded) << decoded.error().message();
        for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same((*decoded)[i], plain[i])) << spec.name << i;
      }
      EXPECT_LE(encoded[2].capacity(), encoded[2].size() + 4096) << "room for the worst case is not kept";
    }
  }
}

TEST(BytesBatch, SaysWhichChunkIsBad) {
  const auto codec = make_bytes_codec(zstd_codec()).value();
  const std::vector<Bytes> encoded = encode_batch(*codec, views(chunks({100, 200, 300})), {}).value();
  std::vector<EncodedChunk> in{{encoded[0], 100}, {encoded[1].view().first(20), 200}, {encoded[2], 300}};
  const auto decoded = decode_batch(*codec, in, {});
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::corrupt_data);
  EXPECT_EQ(decoded.error().message().find("chunk 1 of 3: codec zstd: "), 0U) << decoded.error().message();
  EXPECT_EQ(make_bytes_codec({"bytes", "{}"}).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(make_bytes_codec({"zst", "{}"}).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(make_bytes_codec({"zstd", R"({"level":23})"}).error().code(), ErrorCode::invalid_metadata);
}

TEST(BytesBatch, DecodesWhereTheChunksAre) {
  const auto codec = make_bytes_codec(zstd_codec()).value();
  const auto decoder = codec->device_decoder();
  const std::vector<Bytes> plain = chunks({100, 70000, 300});
  const std::vector<Bytes> encoded = encode_batch(*codec, views(plain), {}).value();
  std::vector<Bytes> out = chunks({100, 70000, 299});
  std::vector<DecodeTask> tasks;
  for (std::size_t i = 0; i < 3; ++i)
    tasks.push_back({encoded[i].data(), encoded[i].size(), out[i].data(), out[i].size()});
  const auto memory = Memory::create(Device{}, 0).value();
  const Buffer room = memory->allocate(room_bytes(*decoder, tasks), 256, Stream()).value();
  const auto results = decode_batch_on(*decoder, tasks, {room.data(), room.size()}, Stream()).value();
  EXPECT_EQ(results[0].status, DecodeStatus::ok);
  EXPECT_EQ(results[1].status, DecodeStatus::ok);
  EXPECT_EQ(results[2].status, DecodeStatus::output_too_small);
  EXPECT_TRUE(same(out[0], plain[0]) && same(out[1], plain[1]));
  EXPECT_EQ(decode_batch_on(*decoder, tasks, {room.data(), room.size() - 256}, Stream()).error().code(),
            ErrorCode::invalid_argument);
  const auto checks_only = make_bytes_codec({"crc32c", "{}"}).value()->device_decoder();
  EXPECT_EQ(decode_batch_on(*checks_only, tasks, {room.data(), room.size()}, Stream()).error().code(),
            ErrorCode::unsupported);
}

namespace {

struct InRoom {
  Buffer room;
  EncodedBatch made;
};

InRoom encode_in_room(BatchEncoder& encoder, const std::vector<Bytes>& plain) {
  const auto memory = Memory::create(Device{}, 0).value();
  InRoom out;
  out.room = memory->allocate(encoder.room_bytes(views(plain)), 256, Stream()).value();
  out.made = encoder.encode(views(plain), {out.room.data(), out.room.size()}, 1, Stream()).value();
  return out;
}

}  // namespace

TEST(BytesBatch, EncodesWhereTheChunksAre) {
  for (const CodecSpec& spec : {zstd_codec(), CodecSpec{"numcodecs.lz4", "{}"}}) {
    const std::shared_ptr<const BytesToBytes> codec = make_bytes_codec(spec).value();
    BatchEncoder encoder(codec, CodecPlace::device);
    const std::vector<Bytes> plain = chunks({1000, 0, 70000, 1, 150001});
    EXPECT_TRUE(encoder.wants_device(5).value());
    const InRoom in_room = encode_in_room(encoder, plain);
    EXPECT_TRUE(in_room.made.on_device);
    EXPECT_EQ(in_room.made.reason, "encode=device");
    std::vector<EncodedChunk> encoded;
    for (std::size_t i = 0; i < plain.size(); ++i) encoded.push_back({in_room.made.encoded[i], plain[i].size()});
    const auto back = decode_batch(*codec, encoded, {});
    ASSERT_TRUE(back) << back.error().message();
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same((*back)[i], plain[i])) << spec.name << i;
    const auto memory = Memory::create(Device{}, 0).value();
    const Buffer small = memory->allocate(encoder.room_bytes(views(plain)) - 256, 256, Stream()).value();
    EXPECT_EQ(encoder.encode(views(plain), {small.data(), small.size()}, 1, Stream()).error().code(),
              ErrorCode::invalid_argument);
    EXPECT_TRUE(encoder.encode({}, {small.data(), small.size()}, 1, Stream()).value().encoded.empty());
  }
}

TEST(BytesBatch, EncodesWhereTheCallerSays) {
  BatchEncoder encoder(make_bytes_codec(zstd_codec()).value(), CodecPlace::cpu);
  EXPECT_FALSE(encoder.wants_device(5).value());
  EXPECT_EQ(encode_in_room(encoder, chunks({100})).made.reason, "encode=cpu");
  BatchEncoder decodes_only(make_bytes_codec(zstd_codec()).value(), CodecPlace::nvcomp);
  EXPECT_EQ(decodes_only.wants_device(5).error().message(),
            "encode: 'nvcomp' only decodes; accepted are auto, cpu, device");
}

TEST(BytesBatch, ATrialDecidesForSomeHundredChunks) {
  // Noise: the device's algorithm is no quicker here, on the CPU.  It must be tried, and then not again.
  BatchEncoder encoder(make_bytes_codec({"numcodecs.lz4", "{}"}).value(), CodecPlace::automatic);
  EXPECT_TRUE(encoder.wants_device(600).value());
  const InRoom tried = encode_in_room(encoder, chunks({300000, 300000}));
  EXPECT_FALSE(tried.made.on_device) << tried.made.reason;
  EXPECT_NE(tried.made.reason.find("on 1 CPU thread;"), std::string::npos) << tried.made.reason;
  EXPECT_NE(tried.made.reason.find("bytes than the CPU's encoder makes"), std::string::npos) << tried.made.reason;
  EXPECT_FALSE(encoder.wants_device(500).value());
  EXPECT_FALSE(encoder.wants_device(500).value());  // the 12 that are left, and more
  EXPECT_TRUE(encoder.wants_device(1).value());     // due again
}
