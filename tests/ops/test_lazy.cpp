// Operators in memory, in parts and tile by tile give the same; the walk reads nothing twice that it can keep.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "array/tiles/walk.hpp"
#include "penstock/ops.hpp"

using namespace penstock;

namespace {

struct Source {
  std::shared_ptr<Store> store = open_store("memory://", StoreMode::create).value();
  std::vector<float> values;
  Dataset d;
  Array array;

  explicit Source(const Shape& shape = {45, 38, 29}, const Shape& chunks = {8, 16, 10}) {
    d.shape = shape;
    d.chunk_shape = chunks;
    d.dtype = DType::float32();
    d.codecs = {{"bytes", R"({"endian":"little"})"}};
    d.fill.assign(4, std::byte{0});
    values.resize(element_count(shape).value());
    std::mt19937 random(3);
    for (float& v : values) v = static_cast<float>(random() % 1000);
    array = Array::create(store, "from", d, Array::IfExists::fail).value();
    EXPECT_TRUE(array.write(whole(shape), Target{values.data(), {}, {}, {}}, {}));
  }
  TensorView view() { return TensorView::packed(values.data(), d.dtype, d.shape).value(); }
};

std::vector<float> elements(const Tensor& tensor) {
  const Tensor packed = tensor.contiguous().value();
  std::vector<float> made(packed.view().elements().value());
  std::memcpy(made.data(), packed.view().data, made.size() * sizeof(float));
  return made;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-3) << i;
}

std::vector<OpCall> calls_of(const std::vector<std::string>& texts) {
  std::vector<OpCall> calls;
  for (const std::string& text : texts) calls.push_back(parse_op_call(text).value());
  return calls;
}

const std::vector<std::vector<std::string>> kChains = {
    {"gaussian_filter sigma=1.5"},
    {"gaussian_filter sigma=2,0,1 mode=wrap", "resize scale=0.5"},
    {"maximum_filter size=5 mode=constant cval=1200", "gaussian_filter sigma=1 order=1,0,0 mode=mirror"},
    {"resize output_shape=50,20,29 align=corners", "uniform_filter size=4 origin=-1"},
    {"resize scale=1.5 order=0"},
};

}  // namespace

TEST(Apply, InPartsGivesWhatTheWholeGives) {
  Source s;
  for (const auto& texts : kChains) {
    SCOPED_TRACE(texts.front());
    const auto calls = calls_of(texts);
    const auto whole_made = elements(apply_operators(calls, s.view()).value());
    Options small;
    small.budget_bytes = 60000;
    expect_near(elements(apply_operators(calls, s.view(), small).value()), whole_made);
  }
}

TEST(Apply, TakesViewsAndOverlappingOutputs) {
  Source s;
  const auto calls = calls_of({"gaussian_filter sigma=1"});
  const TensorView flipped = s.view().slice({Slice{{}, {}, -1}, Slice{{}, {}, 2}}).value();
  const auto expected = elements(apply_operators(calls, flipped).value());
  std::vector<float> packed(expected.size());
  const TensorView copy = TensorView::packed(packed.data(), s.d.dtype, flipped.shape).value();
  ASSERT_TRUE(copy_elements(flipped, copy));
  expect_near(elements(apply_operators(calls, copy).value()), expected);
  ASSERT_TRUE(apply_operators(calls, copy, copy));
  expect_near(packed, expected);
}

TEST(Apply, SaysWhatDoesNotFit) {
  Source s;
  const auto code = [&](const std::string& text) { return apply_operators(calls_of({text}), s.view()).error().code(); };
  for (const char* bad :
       {"gausian_filter sigma=1", "gaussian_filter", "gaussian_filter sigma=-1", "gaussian_filter sigma=nan",
        "gaussian_filter sigma=1,2", "gaussian_filter sigma=1 mode=x", "gaussian_filter sigma=1 axes=3",
        "gaussian_filter sigma=1 axes=0,0", "gaussian_filter sigma=1 truncat=2", "gaussian_filter sigma=1e12",
        "uniform_filter size=0", "uniform_filter size=3 origin=2", "correlate1d weights=1,2,3 axis=7", "resize",
        "resize scale=0", "resize scale=1 output_shape=3", "resize output_shape=0", "resize scale=2 order=3",
        "gaussian_filter sigma=1 output=float33"})
    EXPECT_EQ(code(bad), ErrorCode::invalid_argument) << bad;
  std::vector<float> small(10);
  const TensorView out = TensorView::packed(small.data(), DType::float32(), {10}).value();
  EXPECT_EQ(apply_operators(calls_of({"gaussian_filter sigma=1"}), s.view(), out).error().code(),
            ErrorCode::invalid_argument);
  TensorView complex = TensorView::packed(s.values.data(), DType::complex64(), {45, 38}).value();
  EXPECT_EQ(apply_operators(calls_of({"gaussian_filter sigma=1"}), complex).error().code(), ErrorCode::unsupported);
}

TEST(Lazy, TilesGiveWhatTheWholeGives) {
  for (const Shape& chunks : {Shape{8, 16, 10}, Shape{45, 7, 29}, Shape{1, 38, 29}}) {
    Source s({45, 38, 29}, chunks);
    for (const auto& texts : kChains)
      for (const std::uint64_t threads : {1, 3}) {
        SCOPED_TRACE(testing::Message() << texts.front() << " chunks " << to_string(chunks) << " threads " << threads);
        const auto calls = calls_of(texts);
        const auto expected = elements(apply_operators(calls, s.view()).value());
        const LazyArray lazy = LazyArray::make(s.array, calls).value();
        Options options;
        options.budget_bytes = 1500000;
        options.threads = threads;
        const auto to = open_store("memory://", StoreMode::create).value();
        const auto report = lazy.write(to, "to", {}, Array::IfExists::fail, {}, options);
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_LE(report->peak_host_bytes, options.budget_bytes);
        const Array made = Array::open(to, "to").value();
        expect_near(elements(made.read(whole(lazy.shape())).value()), expected);
        // A part of it, too.
        Region part = whole(lazy.shape());
        part[0] = {3, lazy.shape()[0] - 7, 1};
        const Tensor all = apply_operators(calls, s.view()).value();
        const auto wanted = elements(all.slice({Slice{3, static_cast<std::int64_t>(lazy.shape()[0]) - 4, {}}}).value());
        expect_near(elements(lazy.read(part, options).value()), wanted);
      }
  }
}

TEST(Lazy, AnswersABudgetThatIsTooSmallAndAnArrayThatIsThere) {
  Source s;
  const LazyArray lazy = LazyArray::make(s.array, calls_of({"gaussian_filter sigma=1"})).value();
  Options options;
  options.budget_bytes = 10000;
  const auto to = open_store("memory://", StoreMode::create).value();
  const auto small = lazy.write(to, "to", {}, Array::IfExists::fail, {}, options);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code(), ErrorCode::budget_too_small);
  EXPECT_NE(small.error().hint().find("at least"), std::string::npos);
  EXPECT_FALSE(Array::open(to, "to")) << "nothing that opens is left";
  EXPECT_EQ(lazy.write(s.store, "from", {}, Array::IfExists::overwrite, {}, {}).error().code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(lazy.write(s.array, {}, {}).error().code(), ErrorCode::invalid_argument);
  ASSERT_TRUE(lazy.write(to, "to", {}, Array::IfExists::fail, {}, {}));
  EXPECT_EQ(lazy.write(to, "to", {}, Array::IfExists::fail, {}, {}).error().code(), ErrorCode::already_exists);
}

TEST(Tiles, HalosAlongTheWalkAreReadOnce) {
  Source s({64, 16, 16}, {8, 16, 16});
  TileWork work;
  work.what = "test";
  work.in_dtype = work.out_dtype = DType::float32();
  work.source_shape = work.out_shape = s.d.shape;
  work.source_chunks = work.out_objects = s.d.chunk_shape;
  work.needs = [&](const Region& tile) {
    Region box = tile;
    const std::uint64_t first = tile[0].start - std::min<std::uint64_t>(tile[0].start, 3);
    box[0] = {first, std::min<std::uint64_t>(tile[0].start + tile[0].count + 3, 64) - first, 1};
    return box;
  };
  Options options;
  options.budget_bytes = 2 * (2 * (8 + 16) + 2 * 8) * 16 * 16 * 4;
  const TilePlan plan = TilePlan::make(work, options).value();
  EXPECT_EQ(plan.tiles.size(), 8u);
  EXPECT_EQ(plan.read_bytes, 64u * 16 * 16 * 4);
  EXPECT_EQ(plan.twice_bytes, 0u);
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < plan.tiles.size(); ++i) {
    const TilePlan::Box box = plan.box(work, i);
    EXPECT_EQ(box.fresh[0].start, next) << "reading goes on where it ended";
    EXPECT_EQ(box.fresh[0].start % 8, 0u) << "whole chunks";
    next += box.fresh[0].count;
  }
  EXPECT_EQ(next, 64u);
}

TEST(Lazy, AnotherTypeGetsCodecsOfItsOwn) {
  const auto store = open_store("memory://", StoreMode::create).value();
  Dataset d;
  d.shape = {12, 10};
  d.chunk_shape = {6, 5};
  d.dtype = DType::uint8();
  d.codecs = {{"sharding_indexed",
               R"({"chunk_shape":[3,5],"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":)"
               R"({"endian":"little"}},{"name":"crc32c"}]})"}};
  d.fill.assign(1, std::byte{0});
  Array from = Array::create(store, "from", d, Array::IfExists::fail).value();
  std::vector<std::uint8_t> values(120);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 2);
  ASSERT_TRUE(from.write(whole(d.shape), Target{values.data(), {}, {}, {}}, {}));
  const auto calls = calls_of({"uniform_filter size=3 output=float32"});
  ASSERT_TRUE(LazyArray::make(from, calls)->write(store, "to", {}, Array::IfExists::fail, {}, {}));
  const Array to = Array::open(store, "to").value();
  EXPECT_EQ(to.dataset().chunk_shape, (Shape{6, 5}));
  EXPECT_EQ(to.dataset().inner_chunk_shape().value(), (Shape{3, 5}));
  const TensorView view = TensorView::packed(values.data(), d.dtype, d.shape).value();
  expect_near(elements(to.read(whole(d.shape)).value()), elements(apply_operators(calls, view).value()));
}
