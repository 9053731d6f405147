// Reads through waves of chunks, as they go into the memory of a GPU, with the CPU as the device: it runs the same
// decoders, so that order, memory and errors are tested on every machine.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "array/device/read.hpp"
#include "array/model.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

// Before the ring is made: small, so that readers get in each other's way.
const bool kSmallRing = setenv("PENSTOCK_PINNED", "8MiB", 1) == 0;

/// Decoded by the device unless `options` say otherwise.
Result<std::vector<std::byte>> read_in_waves(const Array& array, const Region& region, Report& report,
                                             Options options) {
  if (!options.decode) options.decode = CodecPlace::device;
  std::vector<std::byte> out(Model::count(shape_of(region)) * array.dataset().dtype.size_bytes, std::byte{0xEE});
  const ReadItem item{&array, region, Target{out.data(), {}, {}, {}}};
  PENSTOCK_ASSIGN(report, read_device({&item, 1}, options));
  return out;
}

Options decoded_on_cpu(std::uint64_t count) {
  Options options = threads(count);
  options.decode = CodecPlace::cpu;
  return options;
}

const StageReport& decode_stage(const Report& report) {
  return *std::find_if(report.stages.begin(), report.stages.end(), [](const auto& s) { return s.stage == "decode"; });
}

Array make_array(const Dataset& d, const std::shared_ptr<Store>& store) {
  return Array::create(store, "", d, Array::IfExists::fail).value();
}
std::shared_ptr<Store> memory_store() { return open_store("memory://", StoreMode::create).value(); }

}  // namespace

TEST(Waves, ManySmallWavesGiveWhatTheHostReads) {
  const std::vector<std::vector<CodecSpec>> chains = {
      {bytes_codec(), zstd_codec()},
      {bytes_codec(), {"numcodecs.lz4", "{}"}, {"crc32c", "{}"}},
      {bytes_codec(), {"numcodecs.fletcher32", "{}"}},
      {sharding("[4,2,3]", "end", R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}])")},
  };
  std::mt19937_64 random(5);
  for (const auto& chain : chains) {
    SCOPED_TRACE(chain.back().name);
    const Dataset d = dataset({40, 26, 30}, {8, 4, 6}, chain);
    Array array = make_array(d, memory_store());
    const Region filled = {{0, 30, 1}, {0, 26, 1}, {0, 30, 1}};  // some chunks stay absent
    ASSERT_TRUE(test::write(array, filled, random_values(filled, 2, random)));
    for (int round = 0; round < 12; ++round) {
      const Region region = round < 3 ? whole(d.shape) : random_region(d.shape, random);
      Options options = threads(1 + round % 4);
      options.budget_bytes = std::uint64_t{24} << 20;  // a chunk is given a MiB and more: waves of a few
      Report report;
      const auto got = read_in_waves(array, region, report, options);
      ASSERT_TRUE(got) << got.error().message();
      ASSERT_EQ(*got, test::read(array, region).value()) << to_string(region);
      EXPECT_TRUE(decode_stage(report).path.starts_with("cpu:0, ") || decode_stage(report).path.starts_with("cpu, "))
          << decode_stage(report).path;
      EXPECT_NE(decode_stage(report).path.find("(own)"), std::string::npos) << decode_stage(report).path;
      if (round < 3) EXPECT_GT(report.peak_device_bytes, 0u);
      EXPECT_LE(report.peak_device_bytes, report.budget_bytes);
    }
  }
}

TEST(Waves, ChunksLargerThanAPieceAndEmptyObjects) {
  const Dataset d = dataset({3, 1 << 20}, {1, 1 << 20}, {bytes_codec(), {"numcodecs.lz4", "{}"}});
  const auto store = memory_store();
  Array array = make_array(d, store);
  std::mt19937_64 random(8);
  const auto values = random_values(whole(d.shape), 2, random);
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  Report report;
  const auto got = read_in_waves(array, whole(d.shape), report, threads(3));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, values);
  ASSERT_TRUE(store->set("c/1/0", {}));
  Options options = threads(3);
  EXPECT_FALSE(read_in_waves(array, whole(d.shape), report, options));
  options.on_error = OnError::fill;
  const auto filled = read_in_waves(array, whole(d.shape), report, options);
  ASSERT_TRUE(filled) << filled.error().message();
  EXPECT_EQ(*filled, test::read(array, whole(d.shape), options).value());
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].key, "c/1/0");
}

// With each bit of a chunk flipped: accepted or refused as by a read into host memory, in the same words.
TEST(Waves, TakeWhatTheHostTakesAndSayTheSame) {
  const Dataset d = dataset({4, 300}, {1, 300}, {bytes_codec(), zstd_codec()});
  const auto store = memory_store();
  Array array = make_array(d, store);
  const Region all = whole(d.shape);
  std::vector<std::byte> values(4 * 600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * i / 7 % 5 * 11);
  ASSERT_TRUE(test::write(array, all, values));
  Bytes good;
  ASSERT_TRUE(store->get("c/2/0", good).value());
  int refused = 0, taken_by_cpu = 0;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = Bytes::copy_of(good.view()).value();
    bad.data()[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_TRUE(store->set("c/2/0", bad.view()));
    Report report;
    const auto got = read_in_waves(array, all, report, threads(1));
    const auto want = test::read(array, all, threads(1));
    ASSERT_EQ(got.has_value(), want.has_value()) << "bit " << bit;
    if (got) {
      EXPECT_EQ(*got, *want) << "bit " << bit;
      taken_by_cpu += decode_stage(report).why().find("does not take: ") != std::string::npos ? 1 : 0;
    } else {
      EXPECT_EQ(got.error().message(), want.error().message()) << "bit " << bit;
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  if (ZSTD_versionNumber() <= 10504) {  // later ones are as strict with headers as the device's decoder
    EXPECT_GT(taken_by_cpu, 0);
  }
}

TEST(Waves, ReadersAtOnceShareASmallRing) {
  ASSERT_TRUE(kSmallRing);
  const Dataset d = dataset({64, 64, 64}, {8, 16, 16}, {bytes_codec(), zstd_codec()});
  Array array = make_array(d, memory_store());
  std::mt19937_64 random(9);
  const auto values = random_values(whole(d.shape), 2, random);
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  std::vector<std::string> problems(6);
  std::vector<std::thread> readers;
  for (std::string& problem : problems)
    readers.emplace_back([&] {
      Options options = threads(4);
      options.budget_bytes = std::uint64_t{32} << 20;
      Report report;
      for (int round = 0; round < 3 && problem.empty(); ++round) {
        const auto got = read_in_waves(array, whole(d.shape), report, options);
        problem = !got ? got.error().message() : *got == values ? "" : "other bytes";
      }
    });
  for (std::thread& reader : readers) reader.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

// Workers for whom no staging memory is left do not wait for what their own read holds until it ends.
TEST(Waves, MoreWorkersThanTheRingHasRoomFor) {
  const Dataset d = dataset({64, 64, 64}, {8, 16, 16}, {bytes_codec(), zstd_codec()});
  Array array = make_array(d, memory_store());
  std::mt19937_64 random(12);
  const auto values = random_values(whole(d.shape), 2, random);
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  for (const CodecPlace place : {CodecPlace::device, CodecPlace::cpu}) {
    Options options = threads(14);
    options.decode = place;
    std::vector<std::string> problems(4);
    std::vector<std::thread> readers;
    for (std::string& problem : problems)
      readers.emplace_back([&] {
        Report report;
        const auto got = read_in_waves(array, whole(d.shape), report, options);
        problem = !got ? got.error().message() : *got == values ? "" : "other bytes";
      });
    for (std::thread& reader : readers) reader.join();
    for (const std::string& problem : problems) EXPECT_EQ(problem, "");
  }
}

TEST(Waves, CancelAndFailedReadsEndAllWorkers) {
  const Dataset d = dataset({64, 64, 64}, {8, 16, 16}, {bytes_codec(), zstd_codec()});
  const auto store = memory_store();
  Array array = make_array(d, store);
  std::mt19937_64 random(10);
  ASSERT_TRUE(test::write(array, whole(d.shape), random_values(whole(d.shape), 2, random)));
  Options options = threads(4);
  options.budget_bytes = std::uint64_t{32} << 20;
  Report report;
  options.progress = [&](const Progress&) { options.cancel.cancel(); };
  const auto cancelled = read_in_waves(array, whole(d.shape), report, options);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::cancelled);
  for (const char* key : {"c/0/0/0", "c/3/1/2", "c/7/3/3"}) {
    Bytes chunk;
    ASSERT_TRUE(store->get(key, chunk).value());
    ASSERT_TRUE(store->set(key, chunk.view().first(chunk.size() / 2)));
    options = threads(4);
    options.budget_bytes = std::uint64_t{32} << 20;
    const auto failed = read_in_waves(array, whole(d.shape), report, options);
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().message().find(key), std::string::npos) << failed.error().message();
    ASSERT_TRUE(store->set(key, chunk.view()));
  }
}

TEST(Waves, RawAndHostDecodedChunksGoThroughPieces) {
  std::mt19937_64 random(11);
  for (const auto& chain : {std::vector<CodecSpec>{bytes_codec()}, {bytes_codec(), zstd_codec()}}) {
    for (const auto& [shape, chunk] :
         {std::pair<Shape, Shape>{{40, 26, 30}, {8, 4, 6}}, {{3, 1 << 20}, {1, 1 << 20}}}) {
      const Dataset d = dataset(shape, chunk, chain);
      Array array = make_array(d, memory_store());
      ASSERT_TRUE(test::write(array, whole(d.shape), random_values(whole(d.shape), 2, random)));
      for (int round = 0; round < 6; ++round) {
        const Region region = round < 2 ? whole(d.shape) : random_region(d.shape, random);
        Report report;
        const auto got = read_in_waves(array, region, report, decoded_on_cpu(1 + round % 3));
        ASSERT_TRUE(got) << got.error().message();
        ASSERT_EQ(*got, test::read(array, region).value()) << to_string(region);
      }
    }
  }
}

// Two thousand regions of one inner chunk each, of a hundred arrays.
TEST(Waves, RegionsOfManyArraysShareWaves) {
  Options on_device = threads(4);
  on_device.decode = CodecPlace::device;
  const auto store = memory_store();
  const Dataset d = dataset({64, 64}, {32, 32}, {sharding("[8,8]")});
  std::mt19937_64 random(13);
  std::vector<Array> arrays;
  std::vector<Model> models;
  for (int a = 0; a < 100; ++a) {
    arrays.push_back(Array::create(store, "a" + std::to_string(a), d, Array::IfExists::fail).value());
    const auto values = random_values(whole(d.shape), 2, random);
    models.emplace_back(d).write(whole(d.shape), values);
    ASSERT_TRUE(test::write(arrays.back(), whole(d.shape), values));
  }
  std::vector<Region> regions;
  std::vector<std::vector<std::byte>> outs(2000);
  std::vector<ReadItem> items;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    regions.push_back({{8 * (random() % 8), 8, 1}, {8 * (random() % 8), 8, 1}});
    outs[i].assign(128, std::byte{0xEE});
  }
  for (std::size_t i = 0; i < outs.size(); ++i)
    items.push_back({&arrays[i % 100], regions[i], {outs[i].data(), {}, {}, {}}});
  const auto report = read_device(items, on_device);
  ASSERT_TRUE(report) << report.error().message();
  for (std::size_t i = 0; i < outs.size(); ++i) ASSERT_EQ(outs[i], models[i % 100].read(regions[i])) << i;
  EXPECT_LT(report->chunks, 2000u) << "what several regions want is decoded once";
  const auto waves = [](const Report& of) {
    for (const StageCount& c : decode_stage(of).counts)
      if (c.what == "waves") return c.count;
    return std::uint64_t{0};
  };
  EXPECT_GE(waves(*report), 1u);
  EXPECT_LE(waves(*report), 16u) << "as many as memory is given to, not one for each array or region";
  // Another kind of chunk has waves of its own.
  const Dataset other = dataset({64, 64}, {16, 16});
  Array last = Array::create(store, "other", other, Array::IfExists::fail).value();
  const auto values = random_values(whole(other.shape), 2, random);
  ASSERT_TRUE(test::write(last, whole(other.shape), values));
  std::vector<std::byte> out(values.size());
  items.push_back({&last, whole(other.shape), {out.data(), {}, {}, {}}});
  const auto both = read_device(items, on_device);
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ(out, values);
  EXPECT_GE(waves(*both), 2u);
}
