// Writing from device memory, with the CPU as the device: the same cuts, slabs and copies.  The same on a GPU:
// tests/device/test_cuda.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "array/device/write.hpp"
#include "device/pinned_ring.hpp"
#include "model.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

Target at(const std::vector<std::byte>& values) {
  Target source;
  source.data = const_cast<std::byte*>(values.data());
  return source;
}

/// Encoders of the device, whatever is thought to be quicker.
Options encoded(std::uint64_t count, CodecPlace place = CodecPlace::device) {
  Options options = threads(count);
  options.encode = place;
  return options;
}

const StageReport& stage(const Report& report, std::string_view name) {
  return *std::ranges::find(report.stages, name, &StageReport::stage);
}

const CodecSpec kLz4{"numcodecs.lz4", "{}"}, kCrc{"crc32c", "{}"}, kShuffle{"numcodecs.shuffle", "{}"};

}  // namespace

TEST(WriteDevice, AgreesWithAPlainCopy) {
  const std::vector<Dataset> datasets = {dataset({20, 13, 17}, {7, 4, 5}),
                                         dataset({20, 13, 17}, {8, 4, 6}, {sharding("[4,2,3]")}),
                                         dataset({300}, {7}, {bytes_codec()}, DType::float64()),
                                         dataset({5, 6, 7}, {50, 60, 70}),
                                         dataset({1, 9, 1, 8}, {1, 4, 3, 3}, {bytes_codec()}),
                                         dataset({}, {}, {bytes_codec()})};
  for (const Dataset& d : datasets) {
    // From a few bytes, which cut every chunk into pieces, to more than everything.
    for (const std::uint64_t slab_bytes : {8, 48, 200, 1000, 1 << 20}) {
      SCOPED_TRACE(to_string(d.shape) + " in slabs of " + std::to_string(slab_bytes));
      std::mt19937_64 random(slab_bytes);
      Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
      Model model(d);
      for (int round = 0; round < 20; ++round) {
        const Region region = random_region(d.shape, random);
        const auto values = random_values(region, model.item, random);
        model.write(region, values);
        const auto written = write_from_device(array, region, at(values), threads(1 + round % 3), slab_bytes);
        ASSERT_TRUE(written) << written.error().message();
        EXPECT_EQ(written->decoded_bytes, values.size());
        ASSERT_EQ(test::read(array, whole(d.shape)).value(), model.data) << to_string(region);
      }
    }
  }
  EXPECT_EQ(shared_pinned_ring(Device::Type::cpu).value()->loaned_bytes(), 0u) << "every slab went back";
}

TEST(WriteDevice, TakesAnyStrides) {
  const Dataset d = dataset({20, 13, 17}, {7, 4, 5});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  Model model(d);
  std::mt19937_64 random(5);
  // Fortran order, the last dimension backwards, with room between elements.
  const Region region = {{1, 6, 3}, {0, 13, 1}, {16, 17, -1}};
  const Strides strides = {4, 24, -24 * 13};
  const auto block = random_values({{0, 6 * 13 * 17 * 2, 1}}, 2, random);
  std::vector<std::byte> values;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 13; ++j)
      for (int k = 0; k < 17; ++k)
        for (int b = 0; b < 2; ++b)
          values.push_back(block[static_cast<std::size_t>(24 * 13 * 16 + 4 * i + 24 * j - 24 * 13 * k + b)]);
  model.write(region, values);
  Target source = at(block);
  source.data = static_cast<std::byte*>(source.data) + 24 * 13 * 16;
  source.strides = strides;
  ASSERT_TRUE(write_from_device(array, region, source, threads(2), 300));
  EXPECT_EQ(test::read(array, whole(d.shape)).value(), model.data);
  // One element for all (strides of 0), as NumPy broadcasts.
  source = at(block);
  source.strides = {0, 0, 0};
  ASSERT_TRUE(write_from_device(array, whole(d.shape), source, threads(2), 300));
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < 20 * 13 * 17; ++i) all.insert(all.end(), block.begin(), block.begin() + 2);
  EXPECT_EQ(test::read(array, whole(d.shape)).value(), all);
}

TEST(WriteDevice, EmptyRegionsWriteNothing) {
  const Dataset d = dataset({4, 5}, {2, 2});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  const Report report = write_from_device(array, {{0, 0, 1}, {0, 5, 1}}, Target{}, threads(2)).value();
  EXPECT_EQ(report.chunks, 0u);
  EXPECT_EQ(array.store_ptr()->list("").value(), std::vector<std::string>{"zarr.json"});
}

TEST(WriteDevice, SaysWhatDoesNotWork) {
  const Dataset d = dataset({64, 64}, {64, 64});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  const std::vector<std::byte> values(64 * 64 * 2);
  Options small = threads(1);
  small.budget_bytes = 5000;
  const auto refused = write_from_device(array, whole(d.shape), at(values), small);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::budget_too_small);
  Target wrong = at(values);
  wrong.device = {Device::Type::cuda, 0};
  EXPECT_EQ(array.write(whole(d.shape), wrong, {}).error().code(), ErrorCode::invalid_argument) << "stream of the CPU";
  Options cancelled = threads(1);
  cancelled.cancel.cancel();
  EXPECT_EQ(write_from_device(array, whole(d.shape), at(values), cancelled).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(write_from_device(array, {{0, 65, 1}, {0, 1, 1}}, at(values), {}).error().code(), ErrorCode::out_of_range);
}

TEST(WriteDevice, ShardsStayWithinTheBudget) {
  // Small shards, of which many come down together, and large ones, which come down in pieces and are held beside them.
  const std::string codecs = R"([{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}])";
  for (const std::uint64_t edge : {32, 64}) {
    const Dataset d = dataset({256, 256}, {edge, edge}, {sharding("[32,32]", "end", codecs)});
    for (const std::uint64_t slab_bytes : {2000, 1 << 20}) {
      for (const std::uint64_t budget : {30000, 50000, 200000}) {
        SCOPED_TRACE(std::to_string(edge) + ", slabs of " + std::to_string(slab_bytes) + ", " + std::to_string(budget));
        Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
        std::mt19937_64 random(9);
        const auto values = random_values(whole(d.shape), 2, random);
        Options options = threads(4);
        options.budget_bytes = budget;
        const auto written = write_from_device(array, whole(d.shape), at(values), options, slab_bytes);
        ASSERT_TRUE(written) << written.error().message();
        const auto ring_bytes = shared_pinned_ring(Device::Type::cpu).value()->allocated_bytes();
        EXPECT_LE(written->peak_host_bytes - ring_bytes, budget);
        EXPECT_EQ(test::read(array, whole(d.shape)).value(), values);
      }
    }
  }
}

TEST(WriteDevice, ManySmallObjectsComeDownTogether) {
  const Dataset d = dataset({256, 256}, {16, 16});
  Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
  std::mt19937_64 random(9);
  const auto values = random_values(whole(d.shape), 2, random);
  const Report report = write_from_device(array, whole(d.shape), at(values), threads(2)).value();
  EXPECT_EQ(report.chunks, 256u);
  ASSERT_FALSE(report.stages.empty());
  EXPECT_EQ(report.stages[0].stage, "download");
  EXPECT_EQ(test::read(array, whole(d.shape)).value(), values);
}

TEST(EncodedByTheDevice, AgreesWithAPlainCopy) {
  const std::string inner =
      R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.lz4"},{"name":"crc32c"}])";
  const CodecSpec big{"bytes", R"({"endian":"big"})"};
  const std::vector<Dataset> datasets = {
      dataset({20, 13, 17}, {7, 4, 5}, {bytes_codec(), kShuffle, kLz4, kCrc}),
      dataset({20, 13, 17}, {8, 4, 6}, {{"transpose", R"({"order":[2,0,1]})"}, big, kLz4}),
      dataset({20, 13, 17}, {8, 4, 6}, {sharding("[4,2,3]", "end", inner)}),
      dataset({20, 13, 17}, {8, 4, 6}, {sharding("[4,2,3]", "start", inner)}),
      dataset({300}, {7}, {bytes_codec(), kCrc}, DType::float64()),
      dataset({20, 13, 17}, {9, 8, 7}, {bytes_codec(), kShuffle, zstd_codec()}),
      dataset({5, 6, 7}, {10, 9, 8}, {bytes_codec(), kLz4}),
      dataset({}, {}, {bytes_codec(), kLz4})};
  for (const Dataset& d : datasets) {
    SCOPED_TRACE(to_string(d.shape) + " " + d.codecs.back().name);
    std::mt19937_64 random(d.shape.size());
    Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
    Model model(d);
    for (int round = 0; round < 20; ++round) {
      const Region region = round % 4 == 0 ? whole(d.shape) : random_region(d.shape, random);
      auto values = random_values(region, model.item, random);
      if (round % 3 == 0) std::ranges::fill(values, std::byte{7});
      model.write(region, values);
      Options options = encoded(1 + round % 3);
      if (round % 2 != 0) options.budget_bytes = 200000;  // several waves
      const auto written = write_from_device(array, region, at(values), options);
      ASSERT_TRUE(written) << written.error().message();
      EXPECT_EQ(stage(*written, "encode").path.substr(0, 5), "cpu, ") << "the name of the device";
      EXPECT_EQ(stage(*written, "encode").reason, "encode=device");
      EXPECT_EQ(written->decoded_bytes, values.size());
      ASSERT_EQ(test::read(array, whole(d.shape)).value(), model.data) << to_string(region);
    }
  }
  EXPECT_EQ(shared_pinned_ring(Device::Type::cpu).value()->loaned_bytes(), 0u) << "every slab went back";
}

TEST(EncodedByTheDevice, FillValuesAreNotStored) {
  for (const bool sharded : {false, true}) {
    const Dataset d =
        sharded
            ? dataset({8, 8}, {4, 4},
                      {sharding("[2,2]", "end",
                                R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.lz4"}])")})
            : dataset({8, 8}, {4, 4}, {bytes_codec(), kLz4});
    auto store = memory();
    Array array = Array::create(store, "", d, Array::IfExists::fail).value();
    Model model(d);
    std::vector<std::byte> values = model.data;  // fill values
    values[0] = std::byte{1};
    const Report report = write_from_device(array, whole(d.shape), at(values), encoded(2)).value();
    EXPECT_EQ(report.absent_chunks, sharded ? 15u : 3u);
    EXPECT_EQ(store->list("").value(), (std::vector<std::string>{"c/0/0", "zarr.json"}));
    EXPECT_EQ(test::read(array, whole(d.shape)).value(), values);
    ASSERT_TRUE(write_from_device(array, whole(d.shape), at(model.data), encoded(2)));
    EXPECT_EQ(store->list("").value(), std::vector<std::string>{"zarr.json"}) << "what was there is erased";
    if (sharded) continue;
    Options all = encoded(2);
    all.store_fill_chunks = true;
    ASSERT_TRUE(write_from_device(array, whole(d.shape), at(model.data), all));
    EXPECT_EQ(store->list("").value().size(), 5u);
  }
}

TEST(EncodedByTheDevice, SaysWhyTheCpuEncodes) {
  const auto reason = [](const Dataset& d, std::uint64_t budget_bytes = 0, CodecPlace place = CodecPlace::device) {
    Array array = Array::create(memory(), "", d, Array::IfExists::fail).value();
    Options options = encoded(1, place);
    options.budget_bytes = budget_bytes;
    const std::vector<std::byte> values(2 * 64 * 64);
    const Report report = write_from_device(array, whole(d.shape), at(values), options).value();
    EXPECT_NE(stage(report, "encode").path.find("thread"), std::string::npos);
    return stage(report, "encode").reason;
  };
  const Dataset lz4 = dataset({64, 64}, {64, 64}, {bytes_codec(), kLz4});
  EXPECT_EQ(reason(dataset({64, 64}, {64, 64}, {bytes_codec()})), "there is nothing to encode");
  EXPECT_EQ(reason(dataset({64, 64}, {64, 64}, {bytes_codec(), {"gzip", "{}"}})), "gzip has no device encoder");
  EXPECT_EQ(reason(lz4, 45000).substr(0, 22), "a wave of one chunk ta");
  EXPECT_EQ(reason(lz4, 0, CodecPlace::cpu), "encode=cpu");
  EXPECT_EQ(reason(lz4, 0, CodecPlace::automatic), "the device is the CPU");
}
