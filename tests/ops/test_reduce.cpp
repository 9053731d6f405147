// Reductions: on memory by both executors, and of stores, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "device/teams.hpp"
#include "ops/reduce/rows.hpp"
#include "penstock/ops.hpp"

using namespace penstock;
using namespace penstock::reduce;

namespace {

const std::vector<std::string> kNames = {"sum", "mean", "minimum", "maximum", "variance", "standard_deviation"};

Dataset dataset(const DType& dtype) {
  Dataset d;
  d.shape = {21, 13, 17};
  d.chunk_shape = {8, 4, 5};
  d.dtype = dtype;
  d.codecs = {{"bytes", R"({"endian":"little"})"}, {"zstd", R"({"level":1,"checksum":false})"}};
  d.fill.assign(dtype.size_bytes, std::byte{0});
  return d;
}

/// The definition, in double.
double reduced(const std::vector<double>& values, const std::string& what) {
  double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
  for (const double v : values) {
    sum += v;
    least = std::isnan(v) || v < least ? v : least;
    most = std::isnan(v) || v > most ? v : most;
  }
  const auto n = static_cast<double>(values.size());
  for (const double v : values) squares += (v - sum / n) * (v - sum / n);
  if (what == "sum") return sum;
  if (what == "mean") return sum / n;
  if (what == "minimum") return least;
  if (what == "maximum") return most;
  return what == "variance" ? squares / n : std::sqrt(squares / n);
}

/// What each output of a reduction is made of.
template <class T>
std::vector<std::vector<double>> groups_of(const std::vector<T>& values, const Shape& shape,
                                           const std::vector<std::size_t>& axes) {
  std::map<std::vector<std::uint64_t>, std::vector<double>> groups;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<std::uint64_t> key;
    std::uint64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (std::ranges::find(axes, d) == axes.end()) key.insert(key.begin(), rest % shape[d]);
      rest /= shape[d];
    }
    groups[key].push_back(static_cast<double>(values[i]));
  }
  std::vector<std::vector<double>> made;
  for (auto& [key, group] : groups) made.push_back(std::move(group));
  return made;
}

std::vector<double> numbers_of(const TensorView& view) {
  std::vector<double> made(view.elements().value());
  with_type(view.dtype, [&]<class T>(TypeTag<T>) {
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<double>(static_cast<const T*>(view.data)[i]);
  });
  return made;
}

template <class T>
std::vector<T> sample(bool with_nan) {
  std::mt19937_64 random(4);
  std::vector<T> values(21 * 13 * 17);
  for (T& v : values) v = static_cast<T>(static_cast<std::int64_t>(random() % 251) - (std::is_signed_v<T> ? 125 : 0));
  if constexpr (std::is_floating_point_v<T>)
    if (with_nan) values[1234] = std::numeric_limits<T>::quiet_NaN();
  return values;
}

void expect_same(const std::vector<double>& made, const std::vector<std::vector<double>>& groups,
                 const std::string& what) {
  ASSERT_EQ(made.size(), groups.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double want = reduced(groups[i], what);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(made[i])) << what << " " << i << ": NaN stays";
    else
      ASSERT_NEAR(made[i], want, 1e-6 * (1 + std::abs(want))) << what << " " << i;
  }
}

const std::vector<std::vector<std::size_t>> kAxes = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};

template <class T>
void expect_reductions(const DType& dtype, bool with_nan = false) {
  SCOPED_TRACE(dtype.name());
  const Dataset d = dataset(dtype);
  auto store = open_store("memory://", StoreMode::create).value();
  Array array = Array::create(store, "", d, Array::IfExists::fail).value();
  std::vector<T> values = sample<T>(with_nan);
  ASSERT_TRUE(array.write(whole(d.shape), Target{values.data(), {}, {}, {}}, {}));
  const TensorView view = TensorView::packed(values.data(), dtype, d.shape, {}).value();
  for (const auto& axes : kAxes) {
    const auto groups = groups_of(values, d.shape, axes);
    std::string list;
    for (const std::size_t axis : axes) list += (list.empty() ? "" : ",") + std::to_string(axis);
    for (const std::string& what : kNames) {
      const OpCall call{what, "{\"axes\":[" + list + "]}"};
      const auto in_memory = apply_operators({&call, 1}, view, Options());
      ASSERT_TRUE(in_memory) << in_memory.error().message();
      expect_same(numbers_of(in_memory->view()), groups, what);
      for (const std::uint64_t budget : {80000ull, 1ull << 30}) {  // many tiles, one
        Options options;
        options.budget_bytes = budget;
        const auto stored = reduce_array(array, what, axes, {}, options);
        ASSERT_TRUE(stored) << stored.error().message();
        expect_same(numbers_of(stored->view()), groups, what);
      }
    }
  }
}

/// (21, 13, 17) without the axes that are reduced: 0 and 2, which do not lie together; 2; 0.
BoxShape shape_without(const std::vector<std::size_t>& axes) {
  BoxShape shape;
  shape.kept = 1, shape.target_stride[0] = 1;
  shape.reduced = static_cast<std::uint32_t>(axes.size());
  const std::uint64_t extents[] = {21, 13, 17}, strides[] = {13 * 17, 17, 1};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape.reduced_extent[i] = extents[axes[i]], shape.reduced_stride[i] = strides[axes[i]];
    shape.count *= extents[axes[i]];
  }
  shape.outputs = 21 * 13 * 17 / shape.count;
  shape.kept_extent[0] = shape.outputs;
  shape.kept_stride[0] = axes.front() == 2 ? 17 : axes.size() == 2 ? 17 : 1;
  return shape;
}

/// What a device runs: lanes in any order, or a team for each accumulator.
enum class By : std::uint8_t { lanes, teams };
template <class Op>
void run_by(By by, ReduceJob<Op> job) {
  // What was there before counts unless the box is the first.
  const auto before = job.first ? static_cast<typename Op::Held>(77) : Op::nothing();
  std::fill_n(job.into.held, job.into.targets * job.into.parts, before);
  typename Op::Held shared[32];
  for (std::uint64_t i = job.lanes(); i-- > 0;) {
    if (by == By::lanes)
      job(i);
    else
      reduce_tile(PermTeam<32>(7), job, i, shared);
  }
}

/// Outputs made at once, by a team each.
template <class Op>
void expect_whole(const ReduceJob<Op>& box, const std::vector<std::vector<double>>& groups, const std::string& what) {
  using Held = typename Op::Held;
  std::vector<Held> sums(box.shape.outputs);
  std::vector<double> made(box.shape.outputs);
  Held shared[32];
  const double divide_by = what == "variance" ? static_cast<double>(box.shape.count) : 1;
  for (std::uint64_t i = box.shape.outputs; i-- > 0;) {
    make_tile(PermTeam<32>(7), WholeJob<Op, Held>{box, {1, false}, sums.data()}, i, shared);
    make_tile(PermTeam<32>(7), WholeJob<Op, double>{box, {divide_by, false}, made.data()}, i, shared);
  }
  expect_same(made, groups, what);
  if (divide_by == 1) expect_same(std::vector<double>(sums.begin(), sums.end()), groups, what);
}

/// Any number of accumulators, which are joined by the same.
template <class Op>
void expect_lanes(const std::string& what) {
  using T = typename Op::In;
  using Held = typename Op::Held;
  using Joined = Join<Op>;
  const std::vector<T> values = sample<T>(false);
  for (const std::vector<std::size_t>& axes : std::vector<std::vector<std::size_t>>{{0, 2}, {2}, {0}}) {
    const BoxShape shape = shape_without(axes);
    const auto groups = groups_of(values, {21, 13, 17}, axes);
    std::vector<double> means;
    for (const auto& group : groups) means.push_back(reduced(group, "mean"));
    for (const std::uint32_t parts : {1u, 3u, 400u})
      for (const bool together : {false, true}) {
        const By by = together ? By::teams : By::lanes;
        const bool first = parts != 3;
        std::vector<Held> held(shape.outputs * parts), joined(shape.outputs);
        run_by(by,
               ReduceJob<Op>{shape, values.data(), {held.data(), shape.outputs, parts, together}, means.data(), first});
        BoxShape rest;
        rest.kept = rest.reduced = 1;
        rest.outputs = shape.outputs, rest.count = parts;
        rest.kept_extent[0] = shape.outputs, rest.reduced_extent[0] = parts;
        rest.kept_stride[0] = together ? parts : 1, rest.reduced_stride[0] = together ? 1 : shape.outputs;
        rest.target_stride[0] = 1;
        run_by(by, ReduceJob<Joined>{rest, held.data(), {joined.data(), shape.outputs, 1, together}, nullptr, first});
        std::vector<double> made(joined.begin(), joined.end());
        if (what == "variance")
          for (std::size_t i = 0; i < made.size(); ++i)
            FinishJob<double, double>{made.data(), made.data(), {static_cast<double>(shape.count), false}}(i);
        expect_same(made, groups, what);
      }
    expect_whole<Op>(ReduceJob<Op>{shape, values.data(), {}, means.data(), true}, groups, what);
  }
}

/// Packs of outputs, or of the elements of one, at every alignment: a box of (6, 5, 64) of which an axis goes.
template <class Op>
void expect_packs(const std::string& what) {
  using T = typename Op::In;
  using Held = typename Op::Held;
  constexpr std::uint64_t n[] = {6, 5, 64}, stride[] = {320, 64, 1};
  std::vector<T> values = sample<T>(false);
  for (const std::size_t axis : {0u, 1u, 2u})
    for (const std::uint32_t parts : {1u, 3u})
      for (const std::size_t offset : {0u, 1u}) {
        BoxShape shape;
        for (std::size_t d = 0; d < 3; ++d) {
          if (d == axis) continue;
          shape.kept_extent[shape.kept] = n[d], shape.kept_stride[shape.kept] = stride[d];
          shape.target_stride[shape.kept++] = 1;
        }
        shape.target_stride[0] = shape.kept_extent[1];
        shape.reduced = 1, shape.reduced_extent[0] = shape.count = n[axis], shape.reduced_stride[0] = stride[axis];
        shape.outputs = 6 * 5 * 64 / shape.count;
        std::vector<Held> held(shape.outputs * parts, static_cast<Held>(77));
        const bool together = axis == 2;
        std::vector<std::byte> memory(6 * 5 * 64 * sizeof(T) + 64);  // vectors begin at multiples of 16
        auto* const at = reinterpret_cast<T*>(memory.data()) + offset;
        std::copy_n(values.begin(), 6 * 5 * 64, at);
        const ReduceJob<Op> job{shape, at, {held.data(), shape.outputs, parts, together}, nullptr, true};
        const ReduceColumns<Op> columns{job};
        EXPECT_EQ(columns.fits(job), axis != 2 && offset == 0);
        if (!together && !columns.fits(job)) continue;
        if (together)
          run_by(By::teams, job);
        else
          for (std::uint64_t i = columns.lanes(); i-- > 0;) columns(i);
        std::vector<double> made(shape.outputs);
        for (std::uint64_t i = 0; i < shape.outputs; ++i) {
          Held all = held[job.into.index(i, 0)];
          for (std::uint32_t part = 1; part < parts; ++part)
            all = Join<Op>::with(all, held[job.into.index(i, part)], 0);
          made[i] = static_cast<double>(all);
        }
        values.resize(6 * 5 * 64);
        expect_same(made, groups_of(values, {6, 5, 64}, {axis}), what);
      }
}

}  // namespace

TEST(Reduce, EqualsAPlainLoop) {
  expect_reductions<std::uint8_t>(DType::uint8());
  expect_reductions<std::uint16_t>(DType::uint16());
  expect_reductions<std::int32_t>(DType::int32());
  expect_reductions<std::int64_t>(DType::int64());
  expect_reductions<float>(DType::float32());
  expect_reductions<double>(DType::float64(), true);
}

TEST(Reduce, LanesAndTeamsOfADeviceMakeTheSame) {
  expect_lanes<Sum<std::int16_t>>("sum");
  expect_lanes<Sum<float>>("sum");
  expect_lanes<Squares<double>>("variance");
  expect_lanes<Least<float>>("minimum");
  expect_lanes<Most<std::uint8_t>>("maximum");
}

TEST(Reduce, PacksOfADeviceMakeTheSame) {
  expect_packs<Sum<std::int8_t>>("sum");
  expect_packs<Sum<float>>("sum");
  expect_packs<Least<float>>("minimum");
  expect_packs<Most<std::uint16_t>>("maximum");
}

TEST(Reduce, SaysWhatItCannotDo) {
  auto store = open_store("memory://", StoreMode::create).value();
  Array array = Array::create(store, "", dataset(DType::complex64()), Array::IfExists::fail).value();
  const auto code = [&](const char* what, std::vector<std::size_t> axes, Device device = {}, Options options = {}) {
    return reduce_array(array, what, axes, device, options).error().code();
  };
  EXPECT_EQ(code("maximum", {0}), ErrorCode::unsupported);
  EXPECT_EQ(code("maximum", {3}), ErrorCode::invalid_argument);
  EXPECT_EQ(code("most", {0}), ErrorCode::invalid_argument);
  EXPECT_EQ(code("maximum", {0}, Device{Device::Type::cuda, 99}), ErrorCode::unsupported)
      << "the data type is looked at first";
  array = Array::create(open_store("memory://", StoreMode::create).value(), "b", dataset(DType::uint8()),
                        Array::IfExists::fail)
              .value();
  Options small;
  small.budget_bytes = 100;
  EXPECT_EQ(code("maximum", {0}, {}, small), ErrorCode::budget_too_small);
  const OpCall call{"minimum", "{}"};
  const TensorView nothing = TensorView::packed(nullptr, DType::uint8(), {3, 0}, {}).value();
  EXPECT_EQ(apply_operators({&call, 1}, nothing, Options()).error().code(), ErrorCode::invalid_argument);
}
