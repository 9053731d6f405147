#include <gtest/gtest.h>

#include "model.hpp"
#include "penstock/copy.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

struct Source {
  std::shared_ptr<Store> store = memory();
  Dataset d = dataset({40, 26, 34}, {8, 4, 6}, {sharding("[4,2,3]")});
  Model model{d};
  Array array;
  Source() {
    array = Array::create(store, "from", d, Array::IfExists::fail).value();
    std::mt19937_64 random(2);
    const auto values = random_values(whole(d.shape), 2, random);
    model.write(whole(d.shape), values);
    EXPECT_TRUE(test::write(array, whole(d.shape), values));
  }
};

}  // namespace

TEST(Copy, RechunksReshardsAndConverts) {
  const Source s;
  CopyChanges rechunk, plain, v2, part, reshard;
  rechunk.chunk_shape = Shape{5, 5, 5};
  rechunk.shard_shape = Shape{};
  plain.compressors = std::vector<CodecSpec>{};
  v2.zarr_format = 2;
  part.region = Region{{2, 6, 3}, {25, 26, -1}, {1, 3, 1}};
  reshard.chunk_shape = Shape{2, 2, 2};
  reshard.shard_shape = Shape{4, 8, 16};
  for (const CopyChanges& changes : {CopyChanges{}, rechunk, plain, v2, part, reshard}) {
    auto to = memory();
    const auto report = copy(s.array, to, "to", changes, Array::IfExists::fail, Resume::no, threads(2));
    ASSERT_TRUE(report) << report.error().message();
    const Array array = Array::open(to, "to").value();
    const Region region = changes.region.value_or(whole(s.d.shape));
    EXPECT_EQ(array.dataset().shape, shape_of(region));
    EXPECT_EQ(test::read(array, whole(shape_of(region))).value(), s.model.read(region));
    EXPECT_EQ(report->decoded_bytes, Model::count(shape_of(region)) * 2);
    EXPECT_FALSE(to->exists("to/.penstock-copy.json").value());
  }
  EXPECT_EQ(copied_dataset(s.d, v2).value().codecs.size(), 2u) << "v2 has no shards: the inner chunks become chunks";
  CopyChanges impossible = v2;
  impossible.shard_shape = Shape{8, 4, 6};
  EXPECT_FALSE(copied_dataset(s.d, impossible));
  CopyChanges uneven;
  uneven.shard_shape = Shape{7, 4, 6};
  EXPECT_FALSE(copied_dataset(s.d, uneven));
}

TEST(Copy, FieldsOfMixedByteOrderGetOneInZarr3) {
  const std::vector<Field> fields = {Field{"a", DType::uint16(), 0, {}}, Field{"b", DType::uint16(), 2, {}}};
  Dataset d =
      dataset({4}, {2}, {{"bytes", R"({"endian":["big","little"]})"}}, DType{Kind::structure, 4, {}, 1, fields});
  d.format.version = 2;
  d.placement = KeyEncoding{KeyEncoding::Kind::v2, '.'};
  const auto store = memory();
  Array from = Array::create(store, "from", d, Array::IfExists::fail).value();
  std::vector<std::byte> values(16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(test::write(from, whole(d.shape), values));
  for (const bool sharded : {false, true}) {
    CopyChanges changes;
    changes.zarr_format = 3;
    if (sharded) changes.shard_shape = Shape{4};
    const std::string to = sharded ? "sharded" : "plain";
    const auto report = copy(from, store, to, changes, Array::IfExists::fail, Resume::no, threads(1));
    ASSERT_TRUE(report) << report.error().message();
    const Array array = Array::open(store, to).value();
    EXPECT_EQ(array.dataset().codecs[0].configuration.find(R"(["big")"), std::string::npos);
    EXPECT_EQ(test::read(array, whole(d.shape)).value(), values);
  }
}

TEST(Copy, ABrokenCopyIsNoArrayAndCanBeResumed) {
  const Source s;
  auto to = memory();
  CopyChanges changes;
  changes.shard_shape = Shape{};
  Options options = threads(1);
  options.budget_bytes = 20000;  // many blocks
  options.progress = [&](const Progress& p) {
    if (p.done > p.total / 2) options.cancel.cancel();
  };
  const auto broken = copy(s.array, to, "to", changes, Array::IfExists::fail, Resume::no, options);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), ErrorCode::cancelled);
  EXPECT_EQ(Array::open(to, "to").error().code(), ErrorCode::not_found) << "metadata comes last";
  const std::size_t objects = to->list("to").value().size();
  EXPECT_GT(objects, 1u);

  EXPECT_EQ(copy(s.array, to, "to", changes, Array::IfExists::fail, Resume::no, threads(1)).error().code(),
            ErrorCode::already_exists);
  CopyChanges other = changes;
  other.chunk_shape = Shape{5, 5, 5};
  EXPECT_FALSE(copy(s.array, to, "to", other, Array::IfExists::fail, Resume::yes, threads(1)));
  Options small = threads(1);
  small.budget_bytes = 20000;
  const auto resumed = copy(s.array, to, "to", changes, Array::IfExists::fail, Resume::yes, small);
  ASSERT_TRUE(resumed) << resumed.error().message();
  EXPECT_EQ(test::read(Array::open(to, "to").value(), whole(s.d.shape)).value(), s.model.data);
  const auto complete = copy(s.array, memory(), "to", changes, Array::IfExists::fail, Resume::no, small);
  EXPECT_LT(resumed->requests, complete.value().requests) << "what was there was kept";
  EXPECT_EQ(copy(s.array, to, "to", changes, Array::IfExists::fail, Resume::yes, small).value().requests, 0u);
}

TEST(Copy, CountsTheRequestsOfAllBlocks) {
  const Source s;
  Options small = threads(1);
  small.budget_bytes = 20000;
  const Report whole = copy(s.array, memory(), "to", {}, Array::IfExists::fail, Resume::no, threads(1)).value();
  const Report blocks = copy(s.array, memory(), "to", {}, Array::IfExists::fail, Resume::no, small).value();
  for (const Report& report : {whole, blocks}) {
    const StageReport& fetch = report.stages.front();
    ASSERT_EQ(fetch.stage, "fetch");
    ASSERT_EQ(fetch.counts.size(), 1u);
    EXPECT_EQ(fetch.counts[0].count + 5 * 7 * 6, report.requests) << "each shard is written by one";
  }
}

TEST(Copy, StaysWithinItsBudget) {
  const Source s;
  for (const std::uint64_t budget : {20000u, 60000u, 400000u}) {
    Options options = threads(2);
    options.budget_bytes = budget;
    CopyChanges changes;
    changes.shard_shape = Shape{};
    const auto report = copy(s.array, memory(), "to", changes, Array::IfExists::fail, Resume::no, options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_LE(report->peak_host_bytes, budget + 65536);
  }
  Options options;
  options.budget_bytes = 64;
  EXPECT_EQ(copy(s.array, memory(), "to", {}, Array::IfExists::fail, Resume::no, options).error().code(),
            ErrorCode::budget_too_small);
}
