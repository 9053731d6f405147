// Writes that try whether zstd may search quicker than its level says.
#include <gtest/gtest.h>

#include <cstdlib>

#include "model.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr const char* kBytesAndZstd3 =
    R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":3,"checksum":true}}])";
CodecSpec zstd3() { return {"zstd", R"({"level":3,"checksum":true})"}; }

/// A dark image of a camera.  With the noise of four grey levels matches are short, with that of one they are longer.
std::vector<std::byte> noisy(const Shape& shape, double grey_levels) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(1200, grey_levels);
  std::vector<std::uint16_t> values(Model::count(shape));
  for (std::uint16_t& value : values) value = static_cast<std::uint16_t>(noise(random));
  std::vector<std::byte> bytes(values.size() * 2);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Written {
  std::shared_ptr<Store> store;
  std::uint64_t stored_bytes;
  std::string reason;
  std::vector<std::byte> objects;
};

Written write(const Dataset& d, const std::vector<std::byte>& values, std::uint64_t workers = 3) {
  Written w{open_store("memory://", StoreMode::create).value(), 0, {}, {}};
  Array array = Array::create(w.store, "a", d, Array::IfExists::fail).value();
  const auto report =
      array.write(whole(d.shape), Target{const_cast<std::byte*>(values.data()), {}, {}, {}}, threads(workers));
  EXPECT_TRUE(report) << report.error().message();
  for (const StageReport& stage : report->stages)
    if (stage.stage == "encode") w.reason = stage.reason;
  w.stored_bytes = report->stored_bytes;
  EXPECT_EQ(test::read(array, whole(d.shape)).value(), values);
  const std::vector<std::string> keys = w.store->list("").value();
  for (const std::string& key : keys) {
    if (!key.starts_with("a/c/")) continue;
    Bytes object;
    EXPECT_TRUE(w.store->get(key, object).value());
    w.objects.insert(w.objects.end(), object.data(), object.data() + object.size());
  }
  return w;
}

bool took_fast(const Written& w) { return w.reason.find("fast search") != std::string::npos; }

class EncodeTrial : public testing::Test {
 protected:
  void TearDown() override { unsetenv("PENSTOCK_ZSTD_SEARCH"); }
};

}  // namespace

TEST_F(EncodeTrial, NoisyImagesAreSearchedFast) {
  const Shape shape{128, 128, 256};
  const std::vector<std::byte> values = noisy(shape, 4);
  for (const Dataset& d : {dataset(shape, {64, 32, 32}, {bytes_codec(), zstd3()}),
                           dataset(shape, {128, 64, 64}, {sharding("[64,32,32]", "end", kBytesAndZstd3)})}) {
    unsetenv("PENSTOCK_ZSTD_SEARCH");
    const Written fast = write(d, values), again = write(d, values, 1);
    EXPECT_TRUE(took_fast(fast)) << fast.reason;
    EXPECT_EQ(fast.objects, again.objects) << "the same write makes the same bytes";
    setenv("PENSTOCK_ZSTD_SEARCH", "level", 1);
    const Written level = write(d, values);
    EXPECT_EQ(level.reason, "the source is host memory");
    EXPECT_NE(fast.objects, level.objects);
    EXPECT_LE(fast.stored_bytes, level.stored_bytes);
  }
}

TEST_F(EncodeTrial, WhatWouldGrowKeepsItsLevel) {
  const Shape shape{128, 128, 256};
  const std::vector<std::byte> values = noisy(shape, 1);
  const Dataset d = dataset(shape, {64, 32, 32}, {bytes_codec(), zstd3()});
  const Written tried = write(d, values);
  EXPECT_NE(tried.reason.find("the level's search: the fast one makes"), std::string::npos) << tried.reason;
  setenv("PENSTOCK_ZSTD_SEARCH", "level", 1);
  EXPECT_EQ(tried.objects, write(d, values).objects);
}

TEST_F(EncodeTrial, FewChunksAndOtherLevelsAreNotTried) {
  const Shape shape{32, 64, 64};
  const std::vector<std::byte> values = noisy(shape, 4);
  const CodecSpec level1{"zstd", R"({"level":1,"checksum":false})"}, level5{"zstd", R"({"level":5,"checksum":false})"};
  for (const Dataset& d :
       {dataset(shape, {16, 32, 32}, {bytes_codec(), zstd3()}), dataset(shape, {8, 16, 16}, {bytes_codec(), level1}),
        dataset(shape, {8, 16, 16}, {bytes_codec(), level5}), dataset(shape, {8, 16, 16}, {bytes_codec()})})
    EXPECT_EQ(write(d, values).reason, "the source is host memory");
}

TEST_F(EncodeTrial, FillValuesAndEdgesAreTriedToo) {
  const Shape shape{121, 120, 127};
  std::vector<std::byte> values = noisy(shape, 4);
  const Dataset d = dataset(shape, {32, 32, 32}, {bytes_codec(), zstd3()});
  EXPECT_TRUE(took_fast(write(d, values)));
  for (std::size_t i = 0; i < values.size(); i += 2) std::memcpy(&values[i], d.fill.data(), 2);
  EXPECT_EQ(write(d, values).reason, "the source is host memory");
}

TEST_F(EncodeTrial, SettingsAreChecked) {
  setenv("PENSTOCK_ZSTD_SEARCH", "quick", 1);
  const Shape shape{64, 128, 128};
  auto store = open_store("memory://", StoreMode::create).value();
  Array array =
      Array::create(store, "a", dataset(shape, {16, 32, 32}, {bytes_codec(), zstd3()}), Array::IfExists::fail).value();
  std::vector<std::byte> values = noisy(shape, 4);
  const auto report = array.write(whole(shape), Target{values.data(), {}, {}, {}}, threads(2));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message().find("PENSTOCK_ZSTD_SEARCH: 'quick' is none of auto, level"), std::string::npos)
      << report.error().message();
}
