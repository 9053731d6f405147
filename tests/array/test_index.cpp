// Where chunks lie: shards in shards, tables of offsets, raw volumes.
#include <gtest/gtest.h>

#include "array/index/contiguous_index.hpp"
#include "array/index/key_index.hpp"
#include "array/index/shard_index.hpp"
#include "array/index/table_index.hpp"
#include "array/model.hpp"
#include "faults/fault_store.hpp"
#include "format/slabs.hpp"

namespace penstock {
namespace {

using test::FaultStore;
using test::StoreOp;
using State = ChunkRef::State;

struct Located {
  std::shared_ptr<FaultStore> store = std::make_shared<FaultStore>(open_store("memory://", StoreMode::create).value());
  Worker worker{Reuse::no};
  CancelToken cancel;

  std::vector<ChunkRef> locate(const ChunkIndex& index, const std::vector<Shape>& chunks) {
    ChunkIds ids(chunks.front().size());
    for (const Shape& chunk : chunks) ids.add(chunk);
    std::vector<ChunkRef> refs(ids.size());
    Fetcher fetcher(*store, worker, cancel, 0);
    const Status done = locate_chunks(index, ids, fetcher, refs);
    EXPECT_TRUE(done) << done.error().message();
    return refs;
  }
  void put(const std::string& key, const std::vector<std::uint8_t>& bytes) {
    ASSERT_TRUE(store->set(key, std::as_bytes(std::span(bytes))));
  }
};

void push(std::vector<std::uint8_t>& out, std::uint64_t value, int bytes, bool big_endian) {
  for (int i = 0; i < bytes; ++i)
    out.push_back(static_cast<std::uint8_t>(value >> 8 * (big_endian ? bytes - 1 - i : i)));
}

}  // namespace

TEST(Index, KeysAreWholeObjects) {
  Located l;
  const KeyIndex index("a/b", {});
  const auto refs = l.locate(index, {{3, 4}, {0, 10}});
  EXPECT_EQ(refs[0].holder->key, "a/b/c/3/4");
  EXPECT_EQ(refs[1].holder->key, "a/b/c/0/10");
  EXPECT_EQ(refs[1].state, State::whole_object);
  EXPECT_EQ(refs[1].path(), "");
  EXPECT_EQ(l.store->calls(StoreOp::open), 0u) << "no request says whether they are there";
}

TEST(Index, ShardsInShards) {
  Located l;
  // Shards of 8 x 8, in each 2 x 2 shards of 4 x 4, in each 2 x 2 chunks of 2 x 2, written by the codec itself.
  const std::string inner =
      R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[2,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}])";
  const Dataset d = test::dataset({16, 8}, {8, 8}, {test::sharding("[4,4]", "end", inner)});
  Array array = Array::create(l.store, "", d, Array::IfExists::fail).value();
  std::vector<std::byte> values(16 * 8 * 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i / 2 + 1);
  const Region first = {{0, 8, 1}, {0, 8, 1}};
  ASSERT_TRUE(test::write(array, first, {values.begin(), values.begin() + 128}));
  const auto codecs = array.codecs();
  ShardIndexCache cache;
  const ShardingCodec& outer = *codecs->sharding();
  auto shards = std::make_unique<ShardIndex>(std::make_unique<KeyIndex>("", *d.keys()), outer, cache);
  const ShardIndex index(std::move(shards), *outer.inner().sharding(), cache);
  Bytes object;
  ASSERT_TRUE(l.store->get("c/0/0", object).value());
  const auto refs = l.locate(index, {{0, 0}, {3, 1}, {2, 3}, {4, 0}, {0, 1}});
  for (const std::size_t i : {0, 1, 2, 4}) {
    ASSERT_EQ(refs[i].state, State::stored) << i;
    EXPECT_EQ(refs[i].size_bytes, 8u);
    EXPECT_TRUE(refs[i].holder->version.pin) << "index and chunk come from one version";
  }
  const std::size_t at[] = {0, 6 * 8 + 2, 4 * 8 + 6};  // first element of chunks (0,0), (3,1), (2,3)
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(object.data()[refs[i].offset_bytes], static_cast<std::byte>(at[i] + 1)) << i;
  EXPECT_EQ(refs[1].path(), "inner chunk 2: inner chunk 3");
  EXPECT_EQ(refs[3].state, State::absent) << "the second object is not there";
  EXPECT_EQ(l.worker.requests, 1 + 3u) << "the index of the shard, and of three shards in it";
}

TEST(Index, ATableIsReadByPages) {
  for (const bool big : {false, true}) {
    Located l;
    const std::uint64_t across = 100, down = 200, page = TableIndex::kPageItems;
    std::vector<std::uint8_t> object(8);
    ChunkTable table{"x.tif", {8, 8}, {8 + across * down * 8, 2}, big ? std::endian::big : std::endian::little,
                     {},      {true}};
    for (std::uint64_t i = 0; i < across * down; ++i) push(object, i == 7 ? 0 : 1000 + i % 3, 8, big);
    for (std::uint64_t i = 0; i < across * down; ++i) push(object, i == 7 ? 0 : i % 1000, 2, big);
    l.put("x.tif", object);
    const auto index = TableIndex::make(table, {down * 16 - 5, across * 16 - 1}, {16, 16}, 1).value();
    EXPECT_TRUE(index->crops(0));
    EXPECT_FALSE(index->crops(1));
    const auto refs = l.locate(*index, {{0, 0}, {0, 7}, {0, 5}, {199, 99}});
    EXPECT_EQ(refs[0].state, State::stored);
    EXPECT_EQ(refs[1].state, State::absent) << "0 and 0";
    EXPECT_EQ(refs[2].offset_bytes, 1002u);
    EXPECT_EQ(refs[2].size_bytes, 5u);
    EXPECT_TRUE(refs[2].valid.empty());
    EXPECT_EQ(refs[3].offset_bytes, 1000 + 19999 % 3u);
    EXPECT_EQ(refs[3].size_bytes, 999u);
    EXPECT_EQ(refs[3].valid, (Shape{11, 16})) << "the last strip is short, the last column is not";
    EXPECT_TRUE(refs[3].holder->version.pin);
    EXPECT_EQ(l.worker.requests, 4u) << "two pages of each column";
    EXPECT_LT(l.worker.stored_bytes, 2 * page * 10);
    l.locate(*index, {{0, 1}, {199, 98}});
    EXPECT_EQ(l.worker.requests, 4u) << "they are kept";
    l.locate(*index, {{100, 0}});
    EXPECT_EQ(l.worker.requests, 6u);
  }
}

TEST(Index, ATableThatCannotBeReadIsAskedForAgain) {
  Located l;
  std::vector<std::uint8_t> object;
  for (std::uint64_t i = 0; i < 8; ++i) push(object, i < 4 ? 100 * i : 10, 4, false);
  l.put("x.tif", object);
  l.store->add({.op = StoreOp::read, .keys = "x.tif", .times = 1, .error = ErrorCode::io_error});
  const auto index = TableIndex::make({"x.tif", {0, 4}, {16, 4}}, {4}, {1}, 1).value();
  const auto refs = l.locate(*index, {{2}});
  ASSERT_TRUE(refs[0].error);
  EXPECT_EQ(refs[0].error->code(), ErrorCode::io_error);
  EXPECT_EQ(l.locate(*index, {{2}})[0].offset_bytes, 200u);
  // Places that cannot be are an error, not an overflow.
  std::vector<std::uint8_t> bad;
  for (int i = 0; i < 2; ++i) push(bad, ~std::uint64_t{0}, 8, false);
  l.put("bad.tif", bad);
  const auto wild = TableIndex::make({"bad.tif", {0, 8}, {8, 8}}, {1}, {1}, 1).value();
  EXPECT_EQ(l.locate(*wild, {{0}})[0].error->code(), ErrorCode::corrupt_data);
}

TEST(Index, ATableInTheMetadataTakesNoRequest) {
  Located l;
  // Planes of 2 x 3 chunks, the planes slowest in the table though they are the last dimension of the array.
  ChunkTable table{"x.tif", {.values = {}}, {.values = {}}};
  table.order = {2, 0, 1};
  for (std::uint64_t i = 0; i < 12; ++i) {
    table.offsets.values.push_back(100 + i);
    table.sizes.values.push_back(i == 11 ? 0 : 9);
  }
  table.offsets.values[11] = 0;
  const auto index = TableIndex::make(table, {2, 3, 2}, {1, 1, 1}, 1).value();
  const auto refs = l.locate(*index, {{0, 0, 1}, {1, 2, 0}, {0, 1, 0}, {1, 2, 1}});
  EXPECT_EQ(refs[0].offset_bytes, 106u);
  EXPECT_EQ(refs[1].offset_bytes, 105u);
  EXPECT_EQ(refs[2].offset_bytes, 101u);
  EXPECT_EQ(refs[3].state, State::absent);
  EXPECT_EQ(l.worker.requests, 0u);
}

TEST(Index, TablesThatCannotBeAreRefused) {
  const auto refuse = [](ChunkTable table, const char* why) {
    table.key = "x";
    const auto made = TableIndex::make(std::move(table), {4, 4}, {2, 2}, 8);
    ASSERT_FALSE(made) << why;
    EXPECT_EQ(made.error().code(), ErrorCode::invalid_metadata);
    EXPECT_NE(made.error().message().find(why), std::string::npos) << made.error().message();
  };
  refuse({.offsets = {0, 3}}, "numbers of 3 bytes");
  refuse({.sizes = {.values = {1, 2, 3}}}, "3 numbers for 4 chunks");
  refuse({.order = {1, 1}}, "an order that does not name 2 dimensions once each");
  refuse({.order = {0}}, "an order");
  refuse({.order = {0, 2}}, "an order");
  refuse({.max_chunk_bytes = 31}, "[2, 2] of 32 bytes; they may have 31");
  EXPECT_FALSE(TableIndex::make({.offsets = {~std::uint64_t{0} - 7, 8}}, {4, 4}, {2, 2}, 8)) << "ends beyond 64 bits";
}

TEST(Index, ATableThatEndsEarlyIsAnError) {
  Located l;
  l.put("x.tif", std::vector<std::uint8_t>(12));
  const auto index = TableIndex::make({"x.tif", {0, 2}, {8, 2}}, {4}, {1}, 1).value();
  EXPECT_TRUE(l.locate(*index, {{3}})[0].error);
}

TEST(Index, LargeTablesAreNotKeptWhole) {
  Located l;
  const std::uint64_t count = (TableIndex::kMaxPages + 8) * TableIndex::kPageItems;
  l.put("x.tif", std::vector<std::uint8_t>(count * 2, 1));
  ChunkTable table{"x.tif", {0, 2}, {0, 2}};  // the same numbers twice
  const auto index = TableIndex::make(table, {count}, {1}, 1).value();
  for (std::uint64_t page = 0; page < TableIndex::kMaxPages + 8; ++page)
    l.locate(*index, {{page * TableIndex::kPageItems}});
  const std::uint64_t requests = l.worker.requests;
  EXPECT_EQ(requests, 2 * (TableIndex::kMaxPages + 8));
  EXPECT_EQ(l.locate(*index, {{0}})[0].offset_bytes, 257u);
  EXPECT_EQ(l.worker.requests, requests + 2) << "the first ones were dropped";
  l.locate(*index, {{count - 1}});
  EXPECT_EQ(l.worker.requests, requests + 2) << "the last ones were not";
}

TEST(Index, SlabsOfARawVolume) {
  Located l;
  const ContiguousChunks volume{"v.nii", 352};
  const Shape shape = {10, 7, 5};
  const auto slabs = [&](std::uint64_t max_bytes) { return slab_shape(shape, 2, volume.fastest, max_bytes); };
  EXPECT_EQ(slabs(1000), (Shape{10, 7, 5}));
  EXPECT_EQ(slabs(200), (Shape{2, 7, 5}));
  EXPECT_EQ(slabs(30), (Shape{1, 3, 5}));
  EXPECT_EQ(slabs(1), (Shape{1, 1, 1}));
  const auto index = ContiguousIndex::make(volume, shape, {1, 3, 5}, 2).value();
  const auto refs = l.locate(*index, {{0, 0, 0}, {4, 1, 0}, {9, 2, 0}});
  EXPECT_EQ(refs[0].offset_bytes, 352u);
  EXPECT_EQ(refs[0].size_bytes, 30u);
  EXPECT_EQ(refs[1].offset_bytes, 352 + (4 * 35 + 3 * 5) * 2u);
  EXPECT_TRUE(refs[1].valid.empty());
  EXPECT_EQ(refs[2].valid, (Shape{1, 1, 5}));
  EXPECT_EQ(refs[2].size_bytes, 10u);
  EXPECT_EQ(refs[2].offset_bytes + refs[2].size_bytes, 352 + 10 * 7 * 5 * 2u) << "ends where the volume does";
  EXPECT_FALSE(ContiguousIndex::make(volume, shape, {2, 3, 5}, 2)) << "rows of several planes are not one part";
  EXPECT_FALSE(ContiguousIndex::make(volume, shape, {1, 3, 4}, 2));
}

}  // namespace penstock
