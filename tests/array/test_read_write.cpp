#include <gtest/gtest.h>

#include <thread>

#include "array/state.hpp"
#include "faults/fault_store.hpp"
#include "model.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

struct Case {
  const char* name;
  Dataset dataset;
};

std::vector<Case> cases() {
  const CodecSpec big{"bytes", R"({"endian":"big"})"};
  const CodecSpec transposed{"transpose", R"({"order":[2,0,1]})"};
  const std::string nested_inner =
      R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[2,2,3],"codecs":[{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":"start"}}])";
  return {
      {"zstd", dataset({20, 13, 17}, {7, 4, 5})},
      {"raw", dataset({20, 13, 17}, {7, 4, 5}, {bytes_codec()})},
      {"raw_big_endian", dataset({20, 13, 17}, {7, 4, 5}, {big}, DType::float64())},
      {"transposed", dataset({20, 13, 17}, {7, 4, 5}, {transposed, big, zstd_codec()}, DType::uint32())},
      {"one_chunk", dataset({5, 6, 7}, {50, 60, 70})},
      {"sharded", dataset({20, 13, 17}, {8, 4, 6}, {sharding("[4,2,3]")})},
      {"sharded_index_first", dataset({20, 13, 17}, {8, 4, 6}, {sharding("[4,2,3]", "start")})},
      {"nested", dataset({20, 13, 17}, {8, 4, 12}, {sharding("[4,4,6]", "end", nested_inner)})},
      {"shards_compressed_as_a_whole", dataset({20, 13, 17}, {8, 4, 6}, {sharding("[4,2,3]"), zstd_codec()})},
      {"complex_big", dataset({6, 5}, {4, 2}, {big}, DType::complex64())},
      {"scalar", dataset({}, {})},
  };
}

}  // namespace

TEST(Array, AgreesWithAPlainCopy) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    std::mt19937_64 random(11);
    auto store = memory();
    Array array = Array::create(store, "a/b", c.dataset, Array::IfExists::fail).value();
    Model model(c.dataset);
    EXPECT_EQ(test::read(array, whole(c.dataset.shape)).value(), model.data) << "absent chunks are the fill value";
    for (int round = 0; round < 60; ++round) {
      const Region region = random_region(c.dataset.shape, random);
      const auto values = random_values(region, model.item, random);
      model.write(region, values);
      const Status written = test::write(array, region, values, threads(1 + round % 3));
      ASSERT_TRUE(written) << written.error().message();
      const Region other = random_region(c.dataset.shape, random);
      ASSERT_EQ(test::read(array, other, threads(1 + round % 4)).value(), model.read(other)) << to_string(other);
    }
    const Array again = Array::open(store, "a/b").value();
    EXPECT_EQ(test::read(again, whole(c.dataset.shape)).value(), model.data);
    const Report verified = again.verify(threads(2)).value();
    EXPECT_TRUE(verified.problems.empty());
  }
}

TEST(Array, ReadsIntoAnyStrides) {
  const Dataset d = dataset({20, 13, 17}, {7, 4, 5});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  Model model(d);
  std::mt19937_64 random(3);
  const auto values = random_values(whole(d.shape), 2, random);
  model.write(whole(d.shape), values);
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  // Fortran order, the last dimension backwards, with room between elements.
  const Region region = {{1, 6, 3}, {0, 13, 1}, {16, 17, -1}};
  std::vector<std::byte> memory_block(6 * 13 * 17 * 4, std::byte{0xEE});
  const Strides strides = {4, 24, -24 * 13};
  const Target target{memory_block.data() + 24 * 13 * 16, strides, {}, {}};
  ASSERT_TRUE(array.read(region, target, {}));
  const auto expected = model.read(region);
  for (std::size_t i = 0; i < 6 * 13 * 17; ++i) {
    const std::size_t z = i / (13 * 17), y = i / 17 % 13, x = i % 17;
    const std::size_t at = z * 4 + y * 24 + (16 - x) * 24 * 13;
    ASSERT_EQ(std::memcmp(&memory_block[at], &expected[i * 2], 2), 0);
    ASSERT_EQ(memory_block[at + 2], std::byte{0xEE}) << "bytes between elements are not touched";
  }
}

TEST(Array, OneVoxelReadsAnIndexAndOneChunk) {
  const Dataset d = dataset({64, 64, 64}, {64, 64, 64}, {sharding("[8,8,8]")});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  std::mt19937_64 random(5);
  ASSERT_TRUE(test::write(array, whole(d.shape), random_values(whole(d.shape), 2, random)));
  std::uint16_t voxel = 0;
  const Target target{&voxel, {}, {}, {}};
  const Report first = array.read({{9, 1, 1}, {9, 1, 1}, {9, 1, 1}}, target, {}).value();
  EXPECT_EQ(first.requests, 2u) << "index and one inner chunk";
  EXPECT_LT(first.stored_bytes, 512 * 16 + 4 + 2048u);
  EXPECT_EQ(first.chunks, 1u);
}

TEST(Array, ChunksOfFillValuesAreNotStored) {
  const Dataset d = dataset({8, 8}, {4, 4});
  auto store = memory();
  Array array = Array::create(store, "", d, Array::IfExists::fail).value();
  std::vector<std::byte> values(128, std::byte{1});
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  EXPECT_EQ(store->list("c").value().size(), 4u);
  for (std::size_t i = 0; i < values.size(); i += 2) std::memcpy(&values[i], d.fill.data(), 2);
  ASSERT_TRUE(test::write(array, {{0, 4, 1}, {0, 8, 1}}, {values.begin(), values.begin() + 64}));
  EXPECT_EQ(store->list("c").value().size(), 2u) << "an existing chunk is removed";
}

TEST(Array, BudgetTooSmallSaysHowMuch) {
  const Dataset d = dataset({64, 64}, {64, 64});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  Options options;
  options.budget_bytes = 100;
  const auto r = test::read(array, whole(d.shape), options);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), ErrorCode::budget_too_small);
  const Plan plan = array.plan(whole(d.shape), {}, {}).value();
  EXPECT_NE(r.error().hint().find(std::to_string(plan.need_bytes)), std::string::npos) << r.error().hint();
  options.budget_bytes = plan.need_bytes;
  EXPECT_TRUE(test::read(array, whole(d.shape), options));
}

TEST(Array, BadChunksAreNamedOrFilled) {
  const Dataset d = dataset({16, 16}, {4, 4});
  auto store = memory();
  Array array = Array::create(store, "x", d, Array::IfExists::fail).value();
  std::mt19937_64 random(5);
  Model model(d);
  const auto values = random_values(whole(d.shape), 2, random);
  model.write(whole(d.shape), values);
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  Bytes chunk;
  ASSERT_TRUE(store->get("x/c/2/1", chunk).value());
  ASSERT_TRUE(store->set("x/c/2/1", chunk.view().first(chunk.size() / 2)));
  const auto r = test::read(array, whole(d.shape));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), ErrorCode::corrupt_data);
  EXPECT_NE(r.error().message().find("x/c/2/1"), std::string::npos) << r.error().message();

  Options options = threads(2);
  options.on_error = OnError::fill;
  std::vector<std::byte> out(512);
  const Report report = array.read(whole(d.shape), Target{out.data(), {}, {}, {}}, options).value();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].key, "x/c/2/1");
  std::vector<std::byte> fill(32);
  for (std::size_t i = 0; i < 32; i += 2) std::memcpy(&fill[i], d.fill.data(), 2);
  model.write({{8, 4, 1}, {4, 4, 1}}, fill);
  EXPECT_EQ(out, model.data) << "the other chunks are unharmed";
  const auto part = test::write(array, {{8, 1, 1}, {4, 1, 1}}, std::vector<std::byte>(2));
  EXPECT_FALSE(part) << "a chunk that cannot be read is not changed in part";
  EXPECT_EQ(array.verify({}).value().problems.size(), 1u);
}

TEST(Array, CancelStops) {
  const Dataset d = dataset({64, 64}, {4, 4});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  Options options = threads(2);
  options.cancel.cancel();
  EXPECT_EQ(test::read(array, whole(d.shape), options).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(test::write(array, whole(d.shape), std::vector<std::byte>(64 * 64 * 2), options).error().code(),
            ErrorCode::cancelled);
}

TEST(Array, ProgressEndsAtTheTotal) {
  const Dataset d = dataset({64, 64}, {4, 4});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  Options options = threads(2);
  std::uint64_t last = 0, total = 0;
  options.progress = [&](const Progress& p) {
    EXPECT_GE(p.done, last);
    last = p.done;
    total = p.total;
  };
  ASSERT_TRUE(test::read(array, whole(d.shape), options));
  EXPECT_EQ(total, 64u * 64 * 2);
}

TEST(Array, WritersOfPartsOfOneChunkDoNotLoseEachOther) {
  for (const bool sharded : {false, true}) {
    const Dataset d = sharded ? dataset({64, 8}, {64, 8}, {sharding("[8,8]")}) : dataset({64, 8}, {64, 8});
    Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
    std::vector<std::thread> writers;
    for (int t = 0; t < 4; ++t)
      writers.emplace_back([&, t] {
        Array mine = array;
        for (std::uint64_t row = static_cast<std::uint64_t>(t); row < 64; row += 4)
          ASSERT_TRUE(
              test::write(mine, {{row, 1, 1}, {0, 8, 1}}, std::vector<std::byte>(16, static_cast<std::byte>(row + 1))));
      });
    for (auto& w : writers) w.join();
    const auto all = test::read(array, whole(d.shape)).value();
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::byte>(i / 16 + 1));
  }
}

TEST(Array, ResizeKeepsWhatStaysAndRemovesTheRest) {
  const Dataset d = dataset({16, 16}, {4, 4});
  auto store = memory();
  Array array = Array::create(store, "r", d, Array::IfExists::fail).value();
  Model model(d);
  std::mt19937_64 random(1);
  const auto values = random_values(whole(d.shape), 2, random);
  model.write(whole(d.shape), values);
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  ASSERT_TRUE(array.resize({8, 20}));
  EXPECT_EQ(store->list("r/c").value().size(), 8u);
  const Region kept = {{0, 8, 1}, {0, 16, 1}};
  EXPECT_EQ(test::read(array, kept).value(), model.read(kept));
  EXPECT_EQ(test::read(Array::open(store, "r").value(), {{0, 8, 1}, {16, 4, 1}}).value().size(), 64u);
  EXPECT_FALSE(array.resize({8}));
}

TEST(Array, CreateSaysWhatIsThere) {
  const Dataset d = dataset({4}, {4});
  auto store = memory();
  ASSERT_TRUE(Array::create(store, "a", d, Array::IfExists::fail));
  const auto again = Array::create(store, "a", d, Array::IfExists::fail);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::already_exists);
  EXPECT_FALSE(Array::create(store, "a/b", d, Array::IfExists::fail)) << "nothing goes below an array";
  EXPECT_TRUE(Array::create(store, "a", d, Array::IfExists::overwrite));
  EXPECT_TRUE(Group::open(store, "")) << "groups above are made";
  EXPECT_EQ(Array::open(store, "none").error().code(), ErrorCode::not_found);
}

TEST(Array, RegionsOutsideAreRefused) {
  const Dataset d = dataset({4}, {4});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  std::uint16_t x = 0;
  for (const Region& bad : {Region{{4, 1, 1}}, Region{{0, 5, 1}}, Region{}, Region{{0, 1, 1}, {0, 1, 1}}})
    EXPECT_EQ(array.read(bad, Target{&x, {}, {}, {}}, {}).error().code(), ErrorCode::out_of_range);
}

TEST(Array, SeveralRegionsInOneCall) {
  const Dataset d = dataset({16, 16}, {4, 4});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  Model model(d);
  std::mt19937_64 random(1);
  const auto values = random_values(whole(d.shape), 2, random);
  model.write(whole(d.shape), values);
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  std::vector<Region> regions;
  std::vector<std::vector<std::byte>> outs;
  std::vector<ReadItem> items;
  for (int i = 0; i < 50; ++i) {
    regions.push_back(random_region(d.shape, random));
    outs.emplace_back(Model::count(shape_of(regions.back())) * 2);
  }
  regions.push_back({{0, 0, 1}, {0, 16, 1}});
  outs.emplace_back();
  for (std::size_t i = 0; i < regions.size(); ++i)
    items.push_back({&array, regions[i], Target{outs[i].data(), {}, {}, {}}});
  ASSERT_TRUE(read_many(items, threads(3)));
  for (std::size_t i = 0; i < regions.size(); ++i) EXPECT_EQ(outs[i], model.read(regions[i]));
  EXPECT_TRUE(read_many({}, {}));
}

TEST(Create, WhatCannotBeReadIsNoArrayThatIsThereAlready) {
  for (const ErrorCode why : {ErrorCode::io_error, ErrorCode::permission_denied}) {
    const auto store = std::make_shared<test::FaultStore>(memory());
    store->add({test::StoreOp::open, "*zarr.json", 0, -1, why});
    const auto made = Array::create(store, "a", dataset({8}, {4}), Array::IfExists::fail);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), why) << made.error().message();
  }
  const auto store = memory();
  ASSERT_TRUE(store->set("a/zarr.json", as_bytes("not JSON")));
  EXPECT_EQ(Array::create(store, "a", dataset({8}, {4}), Array::IfExists::fail).error().code(),
            ErrorCode::already_exists);
}
