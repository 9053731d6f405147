// Writing from device memory, with the CPU as the device: the same cuts, slabs and copies.  The same on a GPU:
// tests/device/test_cuda.cpp.
#include <gtest/gtest.h>

#include "array/write_device.hpp"
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
