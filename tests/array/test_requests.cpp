// What a read asks of its store: neighbours in one request, a chunk that several regions want once.
#include <gtest/gtest.h>

#include "array/model.hpp"
#include "faults/fault_store.hpp"

namespace penstock {
namespace {

using test::dataset;
using test::FaultStore;
using test::Model;
using test::StoreOp;

/// A sharded array of 8 x 8 inner chunks in 4 shards, behind a store that counts.
struct Sharded {
  std::shared_ptr<FaultStore> store = std::make_shared<FaultStore>(open_store("memory://", StoreMode::create).value());
  Dataset d = dataset({64, 64}, {32, 32}, {test::sharding("[8,8]")});
  Array array = Array::create(store, "a", d, Array::IfExists::fail).value();
  Model model = Model(d);
  std::mt19937_64 random{17};

  Sharded() {
    const auto values = test::random_values(whole(d.shape), 2, random);
    model.write(whole(d.shape), values);
    EXPECT_TRUE(test::write(array, whole(d.shape), values));
  }
  /// Requests of reading a region for the first time.
  std::uint64_t requests(const Region& region, const Options& options = test::threads(2)) {
    const Array fresh = Array::open(store, "a").value();  // nothing is cached
    const std::uint64_t before = store->calls(StoreOp::read);
    EXPECT_EQ(test::read(fresh, region, options).value(), model.read(region));
    return store->calls(StoreOp::read) - before;
  }
};

constexpr std::uint64_t kShards = 4, kChunks = 64;

}  // namespace

TEST(Requests, NeighboursAreReadTogetherWhereTheStoreWantsIt) {
  Sharded s;
  EXPECT_EQ(s.requests(whole(s.d.shape)), kShards + kChunks) << "no gap: an index and its chunks, one by one";
  s.store->set_merge_gap(1);
  EXPECT_EQ(s.requests(whole(s.d.shape)), 2 * kShards) << "the chunks of a shard lie side by side";

  const Region every_second_column = {{0, 32, 1}, {0, 4, 8}};  // chunks 0, 1, 2, 3 of each row of the first shard
  EXPECT_EQ(s.requests(every_second_column), 2u);
  const Region one_column = {{0, 32, 1}, {0, 1, 1}};  // chunks 0, 4, 8, 12
  EXPECT_EQ(s.requests(one_column), 1 + 4u) << "three chunks lie in between";
  s.store->set_merge_gap(4096);
  EXPECT_EQ(s.requests(one_column), 2u) << "closer than the gap";
}

TEST(Requests, MergedRequestsStayWithinTheBudget) {
  Sharded s;
  s.store->set_merge_gap(1);
  Options options = test::threads(1);
  options.budget_bytes = s.array.plan(whole(s.d.shape), {}, options).value().need_bytes;
  const Array fresh = Array::open(s.store, "a").value();
  std::vector<std::byte> out(s.model.data.size());
  const Report report = fresh.read(whole(s.d.shape), Target{out.data(), {}, {}, {}}, options).value();
  EXPECT_EQ(out, s.model.data);
  EXPECT_LE(report.peak_host_bytes, options.budget_bytes + 4 * 64) << "buffers are rounded up to 64 bytes";
  EXPECT_EQ(report.requests, kShards + kChunks);
}

TEST(Requests, TheReportTellsOfMergedChunks) {
  Sharded s;
  s.store->set_merge_gap(1);
  const Array fresh = Array::open(s.store, "a").value();
  std::vector<std::byte> out(s.model.data.size());
  const Report report = fresh.read(whole(s.d.shape), Target{out.data(), {}, {}, {}}, test::threads(2)).value();
  EXPECT_EQ(report.requests, 2 * kShards);
  EXPECT_EQ(report.chunks, kChunks);
  EXPECT_NE(report.text().find("requests: 8; chunks with a neighbour's: 60"), std::string::npos) << report.text();
}

TEST(Requests, OneBadChunkInAMergedRequestHarmsNoOther) {
  Sharded s;
  s.store->set_merge_gap(4096);
  Bytes shard;
  ASSERT_TRUE(s.store->get("a/c/0/0", shard).value());
  std::vector<std::byte> broken(shard.data(), shard.data() + shard.size());
  broken[shard.size() / 2] ^= std::byte{0xFF};
  broken[shard.size() / 2 + 1] ^= std::byte{0xFF};
  ASSERT_TRUE(s.store->set("a/c/0/0", broken));
  Options options = test::threads(2);
  options.on_error = OnError::fill;
  const Array fresh = Array::open(s.store, "a").value();
  std::vector<std::byte> out(s.model.data.size());
  const Report report = fresh.read(whole(s.d.shape), Target{out.data(), {}, {}, {}}, options).value();
  EXPECT_LE(report.problems.size(), 2u);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] != s.model.data[i] ? 1 : 0;
  EXPECT_LE(wrong, 2 * 8 * 8 * 2u) << "no more than the bytes of the bad chunks";

  s.store->add({.op = StoreOp::read, .keys = "a/c/1/1", .skip = 1, .times = 1, .error = ErrorCode::io_error});
  const Region last = {{32, 32, 1}, {32, 32, 1}};
  EXPECT_EQ(s.requests(last), 2 + 16u) << "the merged request fails: chunk by chunk";
}

TEST(Requests, AChunkThatSeveralRegionsWantIsDecodedOnce) {
  Sharded s;
  for (const int count : {2, 200}) {
    std::vector<Region> regions;
    std::vector<std::vector<std::byte>> outs;
    std::vector<ReadItem> items;
    for (int i = 0; i < count; ++i) {
      regions.push_back(i % 2 == 0 ? Region{{4, 10, 1}, {20, 30, 1}} : test::random_region(s.d.shape, s.random));
      if (count == 2) regions.back() = {{4, 10, 1}, {20, 30, 1}};
      outs.emplace_back(Model::count(shape_of(regions.back())) * 2);
    }
    for (std::size_t i = 0; i < regions.size(); ++i)
      items.push_back({&s.array, regions[i], Target{outs[i].data(), {}, {}, {}}});
    const Report report = read_many(items, test::threads(3)).value();
    for (std::size_t i = 0; i < regions.size(); ++i) EXPECT_EQ(outs[i], s.model.read(regions[i]));
    if (count == 2) {
      EXPECT_EQ(report.chunks, 2 * 5u) << "rows 4 to 13 and columns 20 to 49, once for both";
    } else {
      EXPECT_LE(report.chunks, kChunks);
    }
  }
}

TEST(Requests, OpeningReadsTheMetadataOnce) {
  const Sharded s;
  for (const char* path : {"a", "/a/", ""}) {
    const std::uint64_t before = s.store->calls(StoreOp::read);
    const Node node = open(s.store, path).value();
    EXPECT_EQ(s.store->calls(StoreOp::read) - before, 1u) << path;
    EXPECT_EQ(std::holds_alternative<Array>(node), *path != '\0') << path;
    EXPECT_EQ(std::visit([](const auto& n) { return n.path(); }, node), *path == '\0' ? "" : "a");
  }
  EXPECT_EQ(open(s.store, "b").error().code(), ErrorCode::not_found);
}

TEST(Requests, RegionsOfSeveralArraysInOneCall) {
  Sharded s;
  const Dataset plain = dataset({64, 64}, {16, 16});
  Array other = Array::create(s.store, "other", plain, Array::IfExists::fail).value();
  Model model(plain);
  const auto values = test::random_values(whole(plain.shape), 2, s.random);
  model.write(whole(plain.shape), values);
  ASSERT_TRUE(test::write(other, whole(plain.shape), values));
  std::vector<Region> regions;
  std::vector<std::vector<std::byte>> outs;
  std::vector<ReadItem> items;
  for (int i = 0; i < 60; ++i) {
    regions.push_back(test::random_region(plain.shape, s.random));
    outs.emplace_back(Model::count(shape_of(regions.back())) * 2);
  }
  for (std::size_t i = 0; i < regions.size(); ++i)
    items.push_back({i % 3 == 0 ? &other : &s.array, regions[i], Target{outs[i].data(), {}, {}, {}}});
  ASSERT_TRUE(read_many(items, test::threads(2)));
  for (std::size_t i = 0; i < regions.size(); ++i) EXPECT_EQ(outs[i], (i % 3 == 0 ? model : s.model).read(regions[i]));
}

}  // namespace penstock
