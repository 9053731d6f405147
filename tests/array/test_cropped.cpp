// Chunks that end where the array does: the last strip of a TIFF, the last slab of a raw volume.
#include <gtest/gtest.h>

#include <algorithm>

#include "array/device/read.hpp"
#include "array/model.hpp"
#include "array/state.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

/// An object with chunks behind each other in it, as `dataset.chunk_shape` cuts the array or less at its edges, and a
/// table of their places.
struct Toy {
  std::shared_ptr<Store> store = open_store("memory://", StoreMode::create).value();
  Dataset d;
  Model model;

  Toy(Shape shape, Shape chunks, std::vector<CodecSpec> codecs, std::vector<bool> cropped)
      : d(dataset(std::move(shape), std::move(chunks), std::move(codecs))), model(d) {
    std::mt19937_64 random(3);
    model.data = random_values(whole(d.shape), 2, random);
    ChunkTable table{"toy", {.values = {}}, {.values = {}}};
    cropped.resize(d.rank());
    table.cropped_at_edges = cropped;
    Bytes object;
    const Shape grid = d.grid_shape();
    for (std::uint64_t i = 0; i < Model::count(grid); ++i) {
      const Bytes chunk = encoded(i, grid, cropped);
      table.offsets.values.push_back(1 + object.size());  // a byte of something else comes first
      table.sizes.values.push_back(chunk.size());
      EXPECT_TRUE(object.append(chunk));
    }
    std::vector<std::byte> all(1 + object.size());
    std::copy(object.span().begin(), object.span().end(), all.begin() + 1);
    EXPECT_TRUE(store->set("toy", all));
    d.placement = std::move(table);
  }
  [[nodiscard]] Array array() const { return Array::with_metadata(store, "toy", d).value(); }

 private:
  Bytes encoded(std::uint64_t number, const Shape& grid, const std::vector<bool>& cropped) const {
    Region region(d.rank());
    Shape stored(d.rank());
    for (std::size_t k = d.rank(); k-- > 0; number /= grid[k]) {
      const std::uint64_t start = number % grid[k] * d.chunk_shape[k];
      region[k] = {start, std::min(d.chunk_shape[k], d.shape[k] - start), 1};
      stored[k] = cropped[k] ? region[k].count : d.chunk_shape[k];
    }
    // What lies beyond the array is padded with 9.
    std::vector<std::byte> values(Model::count(stored) * 2, std::byte{9});
    const std::vector<std::byte> part = model.read(region);
    const Dataset box = dataset(stored, stored);
    Model padded(box);
    padded.data = values;
    Region front;
    for (const Range& r : region) front.push_back({0, r.count, 1});
    padded.write(front, part);
    const auto chain = CodecChain::make(d.codecs, {stored, d.dtype, d.fill}).value();
    ScratchBuffers scratch;
    Bytes out;
    EXPECT_TRUE(chain.encode(padded.data, out, scratch));
    return out;
  }
};

const std::vector<std::vector<CodecSpec>> kChains = {
    {bytes_codec()},
    {{"bytes", R"({"endian":"big"})"}, zstd_codec()},
    {{"transpose", R"({"order":[1,0]})"}, bytes_codec(), {"numcodecs.lz4", "{}"}},
};

Result<std::vector<std::byte>> read_by_device(const Array& array, const Region& region,
                                              std::optional<CodecPlace> decode, Report& report) {
  std::vector<std::byte> out(Model::count(shape_of(region)) * 2, std::byte{0xEE});
  const ReadItem item{&array, region, Target{out.data(), {}, {}, {}}};
  Options options = threads(2);
  options.decode = decode;
  PENSTOCK_ASSIGN(report, read_device({&item, 1}, options));
  return out;
}

}  // namespace

TEST(Cropped, EveryRegionIsReadToHostAndDevice) {
  std::mt19937_64 random(11);
  for (const auto& chain : kChains)
    for (const std::vector<bool>& cropped : {std::vector<bool>{true, false}, {true, true}, {false, false}}) {
      SCOPED_TRACE(chain.back().name);
      const Toy toy({43, 29}, {8, 12}, chain, cropped);
      const Array array = toy.array();
      for (int round = 0; round < 40; ++round) {
        const Region region = round == 0 ? whole(toy.d.shape) : random_region(toy.d.shape, random);
        const std::vector<std::byte> wanted = toy.model.read(region);
        ASSERT_EQ(read(array, region).value(), wanted) << to_string(region);
        for (const CodecPlace place : {CodecPlace::cpu, CodecPlace::device}) {
          Report report;
          ASSERT_EQ(read_by_device(array, region, place, report).value(), wanted) << to_string(region);
        }
      }
    }
}

TEST(Cropped, TheReportSaysWhoDecodedThem) {
  const Toy toy({43, 24}, {8, 12}, {bytes_codec(), {"numcodecs.lz4", "{}"}}, {true, false});
  Report report;
  ASSERT_TRUE(read_by_device(toy.array(), whole(toy.d.shape), CodecPlace::device, report));
  const auto decode = std::ranges::find(report.stages, "decode", &StageReport::stage);
  ASSERT_NE(decode, report.stages.end());
  const auto counted = std::ranges::find_if(
      decode->counts, [](const auto& c) { return c.what.find("on the CPU") != std::string::npos; });
  ASSERT_NE(counted, decode->counts.end());
  EXPECT_EQ(counted->count, 2u) << "the two chunks of the last strip";
}

TEST(Cropped, ExplainAndVerifyCountWhatIsThere) {
  const Toy toy({43, 29}, {8, 12}, {bytes_codec(), zstd_codec()}, {true, false});
  const Array array = toy.array();
  EXPECT_EQ(array.plan(whole(toy.d.shape), {}, threads(2)).value().decoded_bytes, 43u * 36 * 2);
  EXPECT_EQ(array.plan({{0, 8, 1}, {0, 1, 1}}, {}, threads(2)).value().decoded_bytes, 8u * 12 * 2);
  EXPECT_EQ(array.plan({{42, 3, -8}, {0, 1, 1}}, {}, threads(2)).value().decoded_bytes, (8u + 8 + 3) * 12 * 2);
  const Report report = array.verify(threads(2)).value();
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.chunks, 18u);
}

TEST(Cropped, AShortChunkWhereAWholeOneBelongsIsBad) {
  for (const auto& chain : kChains) {
    SCOPED_TRACE(chain.back().name);
    Toy toy({43, 24}, {8, 12}, chain, {true, false});
    // The last strip's first chunk where that of the strip before belongs, and the other way round.
    auto& table = std::get<ChunkTable>(toy.d.placement);
    for (auto* values : {&table.offsets.values, &table.sizes.values}) std::swap((*values)[8], (*values)[10]);
    const Array array = toy.array();
    const Report report = array.verify(threads(2)).value();
    // One too long is another whose rows go on behind the array, where they are stored as they are.
    ASSERT_EQ(report.problems.size(), chain.size() == 1 ? 1u : 2u);
    EXPECT_EQ(report.problems[0].key, "toy");
    EXPECT_NE(report.problems[0].message.find("inner chunk "), std::string::npos) << report.problems[0].message;
    EXPECT_FALSE(read(array, whole(toy.d.shape)));
    Options fill = threads(2);
    fill.on_error = OnError::fill;
    const Region others = {{0, 32, 1}, {0, 24, 1}};
    EXPECT_EQ(read(array, others, fill).value(), toy.model.read(others));
  }
}

TEST(Cropped, ALastChunkStoredWholeIsReadAsFarAsTheArrayGoes) {
  Toy toy({43, 24}, {8, 12}, {bytes_codec()}, {true, false});
  auto& table = std::get<ChunkTable>(toy.d.placement);
  // The last strip's first chunk is the front of that of the strip before it.
  table.offsets.values[10] = table.offsets.values[8];
  table.sizes.values[10] = table.sizes.values[8];
  toy.model.write({{40, 3, 1}, {0, 12, 1}}, toy.model.read({{32, 3, 1}, {0, 12, 1}}));
  EXPECT_EQ(read(toy.array(), whole(toy.d.shape)).value(), toy.model.data);
  Report report;
  EXPECT_EQ(read_by_device(toy.array(), whole(toy.d.shape), CodecPlace::device, report).value(), toy.model.data);
  EXPECT_TRUE(toy.array().verify(threads(2)).value().problems.empty());
  for (const std::uint64_t size : {8 * 12 * 2 - 1, 8 * 12 * 2 + 1}) {
    table.sizes.values[10] = size;
    EXPECT_FALSE(read(toy.array(), whole(toy.d.shape))) << size;
  }
}

TEST(Cropped, AbsentChunksReadAsFill) {
  Toy toy({43, 24}, {8, 12}, {bytes_codec(), zstd_codec()}, {true, false});
  auto& table = std::get<ChunkTable>(toy.d.placement);
  for (const std::size_t gone : {3, 11}) table.offsets.values[gone] = table.sizes.values[gone] = 0;
  for (const Region& hole : {Region{{8, 8, 1}, {12, 12, 1}}, Region{{40, 3, 1}, {12, 12, 1}}})
    toy.model.write(hole, Model(toy.d).read(hole));
  EXPECT_EQ(read(toy.array(), whole(toy.d.shape)).value(), toy.model.data);
}

TEST(Cropped, EntriesMayOverlapAndNoneMayClaimMoreThanAChunkTakes) {
  Toy toy({43, 24}, {8, 12}, {bytes_codec()}, {true, false});
  auto& table = std::get<ChunkTable>(toy.d.placement);
  table.offsets.values[1] = table.offsets.values[0];  // two chunks with the same bytes
  const Region left = {{0, 8, 1}, {0, 12, 1}}, right = {{0, 8, 1}, {12, 12, 1}};
  toy.model.write(right, toy.model.read(left));
  EXPECT_EQ(read(toy.array(), whole(toy.d.shape)).value(), toy.model.data);
  table.sizes.values[1] = std::uint64_t{1} << 50;
  const auto refused = read(toy.array(), whole(toy.d.shape));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corrupt_data) << refused.error().message();
}

TEST(Cropped, WhatIsNotZarrIsNotWritten) {
  Toy toy({43, 24}, {8, 12}, {bytes_codec()}, {true, false});
  toy.d.format = {"toy", 1, ""};
  Array array = toy.array();
  const auto refused = [](const auto& result) { return result.error().code(); };
  EXPECT_EQ(refused(write(array, whole(toy.d.shape), toy.model.data)), ErrorCode::unsupported);
  EXPECT_EQ(refused(array.resize({1, 1})), ErrorCode::unsupported);
  EXPECT_EQ(refused(array.set_attributes("{}")), ErrorCode::unsupported);
  EXPECT_EQ(toy.store->list("").value().size(), 1u);
}
