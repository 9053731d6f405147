// Where chunks lie: shards in shards, tables of offsets, raw volumes.
#include <gtest/gtest.h>

#include "array/index/contiguous_index.hpp"
#include "array/index/key_index.hpp"
#include "array/index/shard_index.hpp"
#include "array/index/table_index.hpp"
#include "array/model.hpp"
#include "faults/fault_store.hpp"

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
  auto shards = std::make_unique<ShardIndex>(std::make_unique<KeyIndex>("", d.keys), outer, cache);
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
    ChunkTable table{"x.tif",  {8, 8}, {8 + across * down * 8, 2}, big, {down * 16 - 5, across * 16 - 1},
                     {16, 16}, {1, 0}};
    for (std::uint64_t i = 0; i < across * down; ++i) push(object, i == 7 ? 0 : 1000 + i % 3, 8, big);
    for (std::uint64_t i = 0; i < across * down; ++i) push(object, i == 7 ? 0 : i % 1000, 2, big);
    l.put("x.tif", object);
    const auto index = TableIndex::make(table).value();
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
  const auto index = TableIndex::make({"x.tif", {0, 4}, {16, 4}, false, {4}, {1}, {}}).value();
  const auto refs = l.locate(*index, {{2}});
  ASSERT_TRUE(refs[0].error);
  EXPECT_EQ(refs[0].error->code(), ErrorCode::io_error);
  EXPECT_EQ(l.locate(*index, {{2}})[0].offset_bytes, 200u);
  // Places that cannot be are an error, not an overflow.
  std::vector<std::uint8_t> bad;
  for (int i = 0; i < 2; ++i) push(bad, ~std::uint64_t{0}, 8, false);
  l.put("bad.tif", bad);
  const auto wild = TableIndex::make({"bad.tif", {0, 8}, {8, 8}, false, {1}, {1}, {}}).value();
  EXPECT_EQ(l.locate(*wild, {{0}})[0].error->code(), ErrorCode::corrupt_data);
  EXPECT_EQ(TableIndex::make({"x", {0, 3}, {8, 8}, false, {1}, {1}, {}}).error().code(), ErrorCode::invalid_metadata);
}

TEST(Index, SlabsOfARawVolume) {
  Located l;
  const ContiguousVolume volume{"v.nii", 352, {10, 7, 5}, 2};
  EXPECT_EQ(ContiguousIndex::slab_shape(volume, 1000), (Shape{10, 7, 5}));
  EXPECT_EQ(ContiguousIndex::slab_shape(volume, 200), (Shape{2, 7, 5}));
  EXPECT_EQ(ContiguousIndex::slab_shape(volume, 30), (Shape{1, 3, 5}));
  EXPECT_EQ(ContiguousIndex::slab_shape(volume, 1), (Shape{1, 1, 1}));
  const auto index = ContiguousIndex::make(volume, {1, 3, 5}).value();
  const auto refs = l.locate(*index, {{0, 0, 0}, {4, 1, 0}, {9, 2, 0}});
  EXPECT_EQ(refs[0].offset_bytes, 352u);
  EXPECT_EQ(refs[0].size_bytes, 30u);
  EXPECT_EQ(refs[1].offset_bytes, 352 + (4 * 35 + 3 * 5) * 2u);
  EXPECT_TRUE(refs[1].valid.empty());
  EXPECT_EQ(refs[2].valid, (Shape{1, 1, 5}));
  EXPECT_EQ(refs[2].size_bytes, 10u);
  EXPECT_EQ(refs[2].offset_bytes + refs[2].size_bytes, 352 + 10 * 7 * 5 * 2u) << "ends where the volume does";
  EXPECT_FALSE(ContiguousIndex::make(volume, {2, 3, 5})) << "rows of several planes are not one part";
  EXPECT_FALSE(ContiguousIndex::make(volume, {1, 3, 4}));
}

}  // namespace penstock
