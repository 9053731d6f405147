// Reads from a store that has many requests under way at once: none but the needed ones, all ahead of the workers.
#include <gtest/gtest.h>

#include <algorithm>

#include "array/device/read.hpp"
#include "array/model.hpp"
#include "array/slow_store.hpp"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using test::dataset;
using test::Model;
using test::SlowStore;
using Clock = std::chrono::steady_clock;

struct Slow {
  std::shared_ptr<SlowStore> store;
  Dataset d;
  Model model;
  std::mt19937_64 random{29};

  Slow(Dataset of, milliseconds delay, std::uint64_t in_flight, const Region& written) : d(std::move(of)), model(d) {
    const auto memory = open_store("memory://", StoreMode::create).value();
    Array array = Array::create(memory, "a", d, Array::IfExists::fail).value();
    const auto values = test::random_values(written, 2, random);
    model.write(written, values);
    EXPECT_TRUE(test::write(array, written, values));
    store = std::make_shared<SlowStore>(memory, delay, in_flight);
  }
  Slow(Dataset of, milliseconds delay, std::uint64_t in_flight) : Slow(of, delay, in_flight, whole(of.shape)) {}
  Array open() const { return Array::with_metadata(store, "a", d).value(); }
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

TEST(Window, AThousandChunksTakeAFewRoundTrips) {
  Slow s(dataset({1000, 64}, {1, 64}), milliseconds(50), 256);
  const Array array = s.open();
  const auto start = Clock::now();
  EXPECT_EQ(test::read(array, whole(s.d.shape)).value(), s.model.data);
  EXPECT_LT(seconds_since(start), 1.5) << "one after another they take 25 s with two threads";
  EXPECT_EQ(s.store->take_log().size(), 1000u) << "no request but those for the chunks";
  EXPECT_LE(s.store->most_under_way(), 256u);
  EXPECT_GT(s.store->most_under_way(), 100u);
}

// Who waits for more is told that there is none, and finds out by no look at the clock (50 ms).
TEST(Window, ReadsEndWithTheirLastChunk) {
  Slow s(dataset({17, 65536}, {1, 65536}), milliseconds(2), 4);
  const Array array = s.open();
  std::vector<double> took;
  for (int i = 0; i < 21; ++i) {
    const auto start = Clock::now();
    EXPECT_EQ(test::read(array, whole(s.d.shape), test::threads(4)).value(), s.model.data);
    took.push_back(seconds_since(start));
  }
  std::ranges::nth_element(took, took.begin() + 10);
  EXPECT_LT(took[10], 0.045) << "five round trips of 2 ms";
}

TEST(Window, IndexesOfManyShardsAreReadTogether) {
  Slow s(dataset({800, 8}, {8, 8}, {test::sharding("[2,4]")}), milliseconds(50), 128);
  std::vector<std::vector<std::byte>> outs;
  std::vector<ReadItem> items;
  const Array array = s.open();
  std::vector<Region> regions;
  for (std::uint64_t i = 0; i < 100; ++i) regions.push_back({{8 * i + 2, 2, 1}, {0, 4, 1}});
  outs.assign(regions.size(), std::vector<std::byte>(8 * 2));
  for (std::size_t i = 0; i < regions.size(); ++i) items.push_back({&array, regions[i], {outs[i].data(), {}, {}, {}}});
  const auto start = Clock::now();
  ASSERT_TRUE(read_many(items, test::threads(2)));
  EXPECT_LT(seconds_since(start), 0.5);
  for (std::size_t i = 0; i < regions.size(); ++i) EXPECT_EQ(outs[i], s.model.read(regions[i]));
  EXPECT_EQ(s.store->take_log().size(), 200u) << "an index and a chunk of each shard";
  ASSERT_TRUE(read_many(items, test::threads(2)));
  EXPECT_EQ(s.store->take_log().size(), 100u) << "the indexes are known";
}

TEST(Window, UncompressedChunksArriveInTheirPlace) {
  const auto in_place = [](Slow& s, const Region& region) {
    const Array array = s.open();
    const std::vector<std::byte> want = s.model.read(region);
    std::vector<std::byte> out(want.size());
    s.store->watch(out);
    const ReadItem item{&array, region, {out.data(), {}, {}, {}}};
    EXPECT_TRUE(read_many({&item, 1}, test::threads(2)));
    EXPECT_EQ(out, want);
    return s.store->in_place();
  };
  const auto raw = [](const char* inner) {
    return test::sharding(inner, "end", R"([{"name":"bytes","configuration":{"endian":"little"}}])");
  };
  Slow chunks(dataset({20, 64}, {1, 64}, {test::bytes_codec()}), milliseconds(1), 16);
  EXPECT_EQ(in_place(chunks, whole(chunks.d.shape)), 20u);
  EXPECT_EQ(in_place(chunks, {{0, 20, 1}, {0, 32, 1}}), 0u) << "parts of chunks";
  EXPECT_EQ(in_place(chunks, {{3, 5, 2}, {0, 64, 1}}), 5u);
  Slow shards(dataset({64, 32}, {32, 32}, {raw("[1,32]")}), milliseconds(1), 16);
  shards.store->set_merge_gap(4096);
  EXPECT_EQ(in_place(shards, {{4, 8, 1}, {0, 32, 1}}), 1u) << "a run of chunks side by side is one request";
  Slow tiles(dataset({64, 32}, {32, 32}, {raw("[8,8]")}), milliseconds(1), 16);
  tiles.store->set_merge_gap(4096);
  EXPECT_EQ(in_place(tiles, {{0, 8, 1}, {0, 32, 1}}), 0u) << "side by side in the object, not in the array";
}

TEST(Window, AShardOfWhichHalfIsWantedIsOneRequest) {
  Slow s(dataset({64, 32}, {32, 32}, {test::sharding("[8,8]")}), milliseconds(1), 16);
  s.store->set_merge_gap(4096);
  struct Case {
    Region region;
    std::size_t requests;
    const char* why;
  };
  const Case cases[] = {{whole(s.d.shape), 2, "two shards"},
                        {{{16, 16, 1}, {0, 32, 1}}, 1, "half of one"},
                        {{{16, 8, 1}, {0, 32, 1}}, 2, "a quarter: its index, and chunks that lie together"},
                        {{{0, 0, 1}, {0, 32, 1}}, 0, "nothing"}};
  for (const Case& c : cases) {
    const Array array = s.open();
    EXPECT_EQ(test::read(array, c.region).value(), s.model.read(c.region)) << c.why;
    EXPECT_EQ(s.store->take_log().size(), c.requests) << c.why;
  }
  Options small = test::threads(1);
  small.budget_bytes = s.open().plan(whole(s.d.shape), {}, small).value().need_bytes + 1024;
  EXPECT_EQ(test::read(s.open(), whole(s.d.shape), small).value(), s.model.data);
  EXPECT_GT(s.store->take_log().size(), 2u) << "a shard does not fit";
  s.store->set_merge_gap(0);
  EXPECT_EQ(test::read(s.open(), whole(s.d.shape)).value(), s.model.data);
  EXPECT_EQ(s.store->take_log().size(), 2u + 32u) << "a store that says that it is not worth it";
}

TEST(Window, NeighboursInATableAreOneRequest) {
  // 8 x 8 chunks of 2 x 4 bytes, one behind another in a file.
  const auto memory = open_store("memory://", StoreMode::create).value();
  Dataset d = dataset({16, 32}, {2, 4});
  d.dtype = DType::uint8();
  d.fill = {std::byte{0}};
  d.codecs = {{"bytes", "{}"}};
  ChunkTable table;
  table.key = "f";
  std::vector<std::byte> file, want(16 * 32);
  for (std::uint64_t chunk = 0; chunk < 64; ++chunk) {
    table.offsets.values.push_back(8 + file.size());
    table.sizes.values.push_back(8);
    for (std::uint64_t i = 0; i < 8; ++i) {
      file.push_back(static_cast<std::byte>(chunk * 3 + i));
      want[(chunk / 8 * 2 + i / 4) * 32 + chunk % 8 * 4 + i % 4] = file.back();
    }
  }
  file.insert(file.begin(), 8, std::byte{0xaa});
  d.placement = table;
  ASSERT_TRUE(memory->set("f", file));
  const auto store = std::make_shared<SlowStore>(memory, milliseconds(1), 64);
  const auto requests = [&](const Region& region, std::uint64_t gap, std::uint64_t threads) {
    store->set_merge_gap(gap);
    const Array array = Array::with_metadata(store, "f", d).value();
    std::vector<std::byte> out(Model::count(shape_of(region))), part;
    EXPECT_TRUE(array.read(region, {out.data(), {}, {}, {}}, test::threads(threads)));
    for (std::uint64_t y = 0; y < region[0].count; ++y)
      for (std::uint64_t x = 0; x < region[1].count; ++x)
        part.push_back(want[(region[0].start + y) * 32 + region[1].start + x]);
    EXPECT_EQ(out, part) << to_string(region);
    return store->take_log().size();
  };
  EXPECT_EQ(requests(whole(d.shape), 16, 1), 1U);
  EXPECT_EQ(requests(whole(d.shape), 0, 1), 64U) << "a store that says that it is not worth it";
  EXPECT_EQ(requests({{3, 4, 1}, {5, 9, 1}}, 16, 1), 3U) << "three rows of chunks, of which three lie together";
  EXPECT_EQ(requests({{3, 4, 1}, {5, 9, 1}}, 4096, 1), 1U) << "with what lies between";
  EXPECT_LE(requests(whole(d.shape), 16, 3), 3U);
  // Many regions of one call, that share chunks.
  const Array array = Array::with_metadata(store, "f", d).value();
  store->set_merge_gap(16);
  std::vector<std::vector<std::byte>> outs(8, std::vector<std::byte>(2 * 8));
  std::vector<ReadItem> items;
  for (std::uint64_t i = 0; i < 8; ++i)
    items.push_back({&array, {{1, 2, 1}, {i * 3, 8, 1}}, {outs[i].data(), {}, {}, {}}});
  ASSERT_TRUE(read_many(items, test::threads(1)));
  EXPECT_EQ(store->take_log().size(), 1U);
  for (std::uint64_t i = 0; i < 8; ++i)
    for (std::uint64_t k = 0; k < 16; ++k) EXPECT_EQ(outs[i][k], want[(1 + k / 8) * 32 + i * 3 + k % 8]) << i;
}

TEST(Window, ShardsWithinShardsComeWithTheOneAround) {
  const CodecSpec inner = test::sharding("[32,32]");
  const std::string codecs = R"([{"name":"sharding_indexed","configuration":)" + inner.configuration + "}]";
  Slow s(dataset({128, 128}, {128, 128}, {test::sharding("[64,64]", "start", codecs)}), milliseconds(1), 16);
  s.store->set_merge_gap(4096);
  EXPECT_EQ(test::read(s.open(), whole(s.d.shape)).value(), s.model.data);
  EXPECT_EQ(s.store->take_log().size(), 1u);
}

TEST(Window, ManyRegionsWithinASmallBudget) {
  for (const std::uint64_t gap : {0, 1, 4096}) {
    Slow s(dataset({96, 64}, {32, 32}, {test::sharding("[8,8]")}), milliseconds(1), 16, {{0, 80, 1}, {0, 64, 1}});
    s.store->set_merge_gap(gap);
    for (int round = 0; round < 8; ++round) {
      const Array array = s.open();
      const Region region = round == 0 ? whole(s.d.shape) : test::random_region(s.d.shape, s.random);
      Options options = test::threads(1 + static_cast<std::uint64_t>(round) % 3);
      options.budget_bytes = array.plan(region, {}, options).value().need_bytes * (round % 2 == 0 ? 1 : 20);
      std::vector<std::byte> out(Model::count(shape_of(region)) * 2);
      const auto report = array.read(region, {out.data(), {}, {}, {}}, options);
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_EQ(out, s.model.read(region)) << to_string(region);
      EXPECT_EQ(report->requests, s.store->take_log().size());
    }
  }
}

TEST(Window, UncompressedChunksAreFetchedInPart) {
  Slow s(dataset({64, 64}, {32, 64}, {test::bytes_codec()}), milliseconds(1), 16);
  for (int round = 0; round < 20; ++round) {
    const Region region = test::random_region(s.d.shape, s.random);
    const Array array = s.open();
    std::vector<std::byte> out(Model::count(shape_of(region)) * 2);
    const auto report = array.read(region, {out.data(), {}, {}, {}}, test::threads(2));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(out, s.model.read(region)) << to_string(region);
    EXPECT_LE(report->stored_bytes, 2 * 64 * 64u);
  }
}

TEST(Window, AReplacedShardIsLocatedAnew) {
  Slow s(dataset({32, 32}, {32, 32}, {test::sharding("[8,8]")}), milliseconds(1), 16);
  const Array array = s.open();
  EXPECT_EQ(test::read(array, whole(s.d.shape)).value(), s.model.data);
  const auto memory = open_store("memory://", StoreMode::create).value();
  Array other = Array::create(memory, "a", s.d, Array::IfExists::fail).value();
  const auto values = test::random_values(whole(s.d.shape), 2, s.random);
  ASSERT_TRUE(test::write(other, whole(s.d.shape), values));
  Bytes shard;
  ASSERT_TRUE(memory->get("a/c/0/0", shard).value());
  ASSERT_TRUE(s.store->set("a/c/0/0", shard));
  s.store->take_log();
  EXPECT_EQ(test::read(array, whole(s.d.shape)).value(), values) << "the index that was kept is of the old shard";
}

TEST(Window, BadChunksAreNamedOrFilled) {
  Slow s(dataset({32, 32}, {8, 8}), milliseconds(1), 16);
  Bytes chunk;
  ASSERT_TRUE(s.store->get("a/c/2/1", chunk).value());
  ASSERT_TRUE(s.store->set("a/c/2/1", chunk.view().first(chunk.size() / 2)));
  const auto failed = test::read(s.open(), whole(s.d.shape));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("a/c/2/1"), std::string::npos) << failed.error().message();
  Options options = test::threads(2);
  options.on_error = OnError::fill;
  std::vector<std::byte> out(s.model.data.size());
  const Report report = s.open().read(whole(s.d.shape), {out.data(), {}, {}, {}}, options).value();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].key, "a/c/2/1");
  s.model.write({{16, 8, 1}, {8, 8, 1}}, Model(dataset({8, 8}, {8, 8})).data);
  EXPECT_EQ(out, s.model.data);
}

TEST(Window, ACancelledReadWaitsForNoMoreThanWhatIsUnderWay) {
  Slow s(dataset({400, 64}, {1, 64}), milliseconds(20), 8);
  Options options = test::threads(2);
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(100));
    options.cancel.cancel();
  });
  const auto start = Clock::now();
  const auto read = test::read(s.open(), whole(s.d.shape), options);
  later.join();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::cancelled);
  EXPECT_LT(seconds_since(start), 0.6) << "all of it takes a second";
}

TEST(Window, FeedsTheDevicePathToo) {
  Slow s(dataset({96, 64}, {32, 32}, {test::sharding("[8,8]")}), milliseconds(2), 64, {{0, 80, 1}, {0, 64, 1}});
  for (const std::uint64_t gap : {0, 4096}) {
    s.store->set_merge_gap(gap);
    for (const char* place : {"device", "cpu"}) {
      setenv("PENSTOCK_DECODE", place, 1);
      const Array array = s.open();
      std::vector<std::byte> out(s.model.data.size());
      const ReadItem item{&array, whole(s.d.shape), {out.data(), {}, {}, {}}};
      const auto report = read_device({&item, 1}, test::threads(3));
      unsetenv("PENSTOCK_DECODE");
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(out == s.model.data) << place;
      EXPECT_EQ(report->requests, gap == 0 ? 6 + 80u : 6u) << "the indexes and chunks, or shards";
    }
  }
}

// A wave keeps its objects until it is launched, and is launched when it is full: were their bytes kept as long, the
// window would wait for the wave and the wave for the window.
TEST(Window, ShardsThatComeWholeDoNotWaitForTheWaveThatTheyFill) {
  Slow s(dataset({32 * 64, 32}, {32, 32}, {test::sharding("[8,8]")}), milliseconds(1), 16);
  s.store->set_merge_gap(4096);
  for (const char* place : {"device", "cpu"}) {
    setenv("PENSTOCK_DECODE", place, 1);
    const Array array = s.open();
    Options options = test::threads(1);
    std::vector<std::byte> out(s.model.data.size());
    const ReadItem item{&array, whole(s.d.shape), {out.data(), {}, {}, {}}};
    options.budget_bytes = read_device({&item, 1}, options).value().budget_bytes;
    s.store->take_log();
    for (std::uint64_t less = options.budget_bytes; less > 0; less /= 8) {
      options.budget_bytes = less;
      const Array again = s.open();
      const ReadItem same{&again, whole(s.d.shape), {out.data(), {}, {}, {}}};
      const auto report = read_device({&same, 1}, options);
      if (!report) {
        EXPECT_EQ(report.error().code(), ErrorCode::budget_too_small) << report.error().message();
        break;
      }
      EXPECT_TRUE(out == s.model.data) << place << " " << less;
    }
    unsetenv("PENSTOCK_DECODE");
  }
}

}  // namespace penstock
