// Small boxes and longer axes in one pass: the loops of the CPU for every set of instructions and what a device runs,
// against one axis after the other.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/chain.hpp"
#include "ops/line/box.hpp"
#include "ops/line/extend.hpp"
#include "ops/line/types.hpp"

using namespace penstock;
using namespace penstock::line;

namespace {

constexpr Border kBorders[] = {Border::reflect, Border::mirror, Border::nearest, Border::constant, Border::wrap};

template <class T>
std::vector<T> random_values(std::uint64_t count) {
  std::mt19937 random(9);
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(static_cast<double>(random() % 200));
  return values;
}

struct BoxCase {
  std::uint64_t outer = 1, inner = 1;
  std::uint64_t extent[3] = {1, 1, 1};
  std::uint32_t taps[3] = {1, 1, 1};
  std::int64_t before[3] = {};
  Border border[3] = {};
};

/// The definition, element by element.
template <class T>
T best_at(const BoxCase& c, const std::vector<T>& in, bool least, std::uint64_t i) {
  const std::uint64_t inner = i % c.inner, x = i / c.inner % c.extent[2], y = i / c.inner / c.extent[2] % c.extent[1];
  const std::uint64_t z = i / c.inner / c.extent[2] / c.extent[1] % c.extent[0];
  const std::uint64_t outer = i / c.inner / c.extent[2] / c.extent[1] / c.extent[0];
  const std::uint64_t at[3] = {z, y, x};
  T best = T(0);
  bool any = false;
  std::int64_t k[3];
  for (k[0] = 0; k[0] < c.taps[0]; ++k[0])
    for (k[1] = 0; k[1] < c.taps[1]; ++k[1])
      for (k[2] = 0; k[2] < c.taps[2]; ++k[2]) {
        std::int64_t from[3];
        bool constant = false;
        for (int d = 0; d < 3; ++d) {
          from[d] = border_index(static_cast<std::int64_t>(at[d]) - c.before[d] + k[d],
                                 static_cast<std::int64_t>(c.extent[d]), c.border[d]);
          constant = constant || from[d] < 0;
        }
        const T v = constant ? T(7)
                             : in[(((outer * c.extent[0] + static_cast<std::uint64_t>(from[0])) * c.extent[1] +
                                    static_cast<std::uint64_t>(from[1])) *
                                       c.extent[2] +
                                   static_cast<std::uint64_t>(from[2])) *
                                      c.inner +
                                  inner];
        best = !any ? v : least ? std::min(best, v) : std::max(best, v);
        any = true;
      }
  return best;
}

template <class T>
void expect_box(const BoxCase& c) {
  const std::uint64_t count = c.outer * c.inner * c.extent[0] * c.extent[1] * c.extent[2];
  const std::vector<T> in = random_values<T>(count);
  const auto out = std::make_unique<T[]>(count);
  std::vector<std::int32_t> tables[3];
  BoxJob<T> job;
  job.in = in.data(), job.out = out.get();
  job.outer = c.outer, job.inner = c.inner;
  job.constant = T(7);
  for (std::size_t d = 0; d < 3; ++d) {
    job.in_extent[d] = job.out_extent[d] = c.extent[d];
    job.taps[d] = c.taps[d];
    tables[d] = border_table(-c.before[d], c.extent[d] + c.taps[d] - 1, c.extent[d], 0, c.border[d]).value();
    job.table[d] = tables[d].data();
  }
  Options options;
  options.threads = 2;
  Job threads(options, "test", 0, 2);
  for (const bool least : {false, true}) {
    const auto compare = [&](const std::string& by) {
      for (std::uint64_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], best_at(c, in, least, i)) << by << (least ? " least" : " most") << " element " << i;
      std::fill_n(out.get(), count, T(1));
    };
    for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
      ASSERT_TRUE(run_box_on_cpu(job, least, threads, static_cast<Isa>(isa)));
      compare("instructions " + std::to_string(isa));
    }
    const auto columns = [&](const auto& lanes) {
      for (std::uint64_t i = lanes.lanes(); i-- > 0;) lanes(i);
    };
    least ? columns(BoxColumn<T, true>{job}) : columns(BoxColumn<T, false>{job});
    compare("columns");
    if (testing::Test::HasFatalFailure()) return;
  }
}

Tensor numbers(const Shape& shape) {
  Tensor made = Tensor::empty(DType::float32(), shape).value();
  const auto values = random_values<float>(made.view().elements().value());
  std::copy(values.begin(), values.end(), static_cast<float*>(made.view().data));
  return made;
}

}  // namespace

TEST(Box, EqualsItsDefinitionOnEveryExecutor) {
  std::size_t k = 0;
  for (const BoxCase& shape : {BoxCase{1, 1, {1, 1, 1}}, BoxCase{1, 1, {20, 9, 35}}, BoxCase{2, 3, {5, 4, 130}},
                               BoxCase{1, 1, {1, 40, 33}}, BoxCase{3, 2, {70, 2, 3}}, BoxCase{1, 5, {33, 1, 2}}})
    for (const std::uint32_t z : {1u, 2u, 3u})
      for (const std::uint32_t y : {1u, 3u})
        for (const std::uint32_t x : {1u, 2u, 3u}) {
          BoxCase c = shape;
          c.taps[0] = z, c.taps[1] = y, c.taps[2] = x;
          for (std::size_t d = 0; d < 3; ++d) {
            c.before[d] = static_cast<std::int64_t>(k % c.taps[d]);
            c.border[d] = kBorders[k++ % std::size(kBorders)];
          }
          SCOPED_TRACE(testing::Message() << "shape " << c.extent[0] << "," << c.extent[1] << "," << c.extent[2]
                                          << " taps " << z << y << x << " borders " << static_cast<int>(c.border[0])
                                          << static_cast<int>(c.border[1]) << static_cast<int>(c.border[2]));
          expect_box<float>(c);
          expect_box<std::uint8_t>(c);
          expect_box<std::int64_t>(c);
          if (HasFatalFailure()) return;
        }
}

TEST(Box, FiltersOfAnArrayBecomeOneOperator) {
  const Shape shape = {4, 6, 5, 3};
  const ArrayInfo info{DType::float32(), shape};
  const auto filter = [](std::size_t axis, std::uint32_t taps) {
    Filter f;
    f.operation = Operation::maximum;
    f.axis = axis, f.taps = taps, f.before = taps / 2;
    f.border = Border::mirror;
    f.compute = Compute::element;
    return f;
  };
  EXPECT_EQ(make_box(info, {filter(0, 3)}), nullptr);
  EXPECT_EQ(make_box(info, {filter(0, 3), filter(3, 3)}), nullptr);  // four axes
  EXPECT_EQ(make_box(info, {filter(0, 5), filter(1, 3)}), nullptr);
  Filter least = filter(1, 3);
  least.operation = Operation::minimum;
  EXPECT_EQ(make_box(info, {filter(0, 3), least}), nullptr);
  const Tensor in = numbers(shape);
  for (const std::vector<Filter>& filters :
       {std::vector{filter(0, 3), filter(1, 2)}, std::vector{filter(1, 3), filter(3, 3)},
        std::vector{filter(2, 3), filter(0, 2), filter(1, 3)}, std::vector{filter(2, 2), filter(3, 3)}}) {
    auto box = make_box(info, filters);
    ASSERT_NE(box, nullptr);
    Chain one(info), many(info);
    one.add(std::move(box));
    for (const Filter& f : filters) many.add(make_filter(info, f).value());
    const Tensor made = Tensor::empty(DType::float32(), shape).value();
    const Tensor wanted = Tensor::empty(DType::float32(), shape).value();
    ASSERT_TRUE(apply_chain(many, in.view(), wanted.view(), {}));
    Options little;  // in parts, so that boxes begin in the middle
    for (const std::uint64_t budget : {std::uint64_t{0}, std::uint64_t{100}}) {
      little.budget_bytes = budget;
      ASSERT_TRUE(apply_chain(one, in.view(), made.view(), little));
      for (std::uint64_t i = 0; i < 360; ++i)
        ASSERT_EQ(static_cast<const float*>(made.view().data)[i], static_cast<const float*>(wanted.view().data)[i])
            << "element " << i;
    }
  }
}

TEST(Extend, EqualsItsDefinitionOnEveryExecutor) {
  const Shape shape = {3, 4, 7};
  const Tensor in = numbers(shape);
  for (const Border border : kBorders) {
    const std::vector<Extension> each = {{2, 5, border}, {0, 0, Border::reflect}, {9, 1, border}};
    Chain chain(ArrayInfo{DType::float32(), shape});
    chain.add(make_extend(chain.output(), each, 11.0));
    const Shape wide = {10, 4, 17};
    ASSERT_EQ(chain.output().shape, wide);
    const Tensor made = Tensor::empty(DType::float32(), wide).value();
    ASSERT_TRUE(apply_chain(chain, in.view(), made.view(), {}));
    // What a device runs.
    ExtendJob<std::uint32_t> job;
    std::vector<std::int32_t> tables;
    std::vector<std::uint32_t> out(10 * 4 * 17);
    for (std::size_t d = 0; d < 3; ++d) {
      job.begins[d] = tables.size();
      job.in_extent[d] = shape[d], job.out_extent[d] = wide[d];
      const auto table = border_table(-static_cast<std::int64_t>(each[d].before), wide[d], shape[d], 0, each[d].border);
      tables.insert(tables.end(), table->begin(), table->end());
    }
    job.dimensions = 3;
    job.table = tables.data();
    job.in = static_cast<const std::uint32_t*>(in.view().data);
    job.out = out.data();
    const float eleven = 11;
    std::memcpy(&job.constant, &eleven, sizeof eleven);
    for (std::uint64_t i = job.lanes(); i-- > 0;) job(i);
    for (std::int64_t z = 0; z < 10; ++z)
      for (std::int64_t y = 0; y < 4; ++y)
        for (std::int64_t x = 0; x < 17; ++x) {
          const std::int64_t a = border_index(z - 2, 3, border), b = border_index(x - 9, 7, border);
          const float want = a < 0 || b < 0 ? 11 : static_cast<const float*>(in.view().data)[(a * 4 + y) * 7 + b];
          const std::int64_t i = (z * 4 + y) * 17 + x;
          ASSERT_EQ(static_cast<const float*>(made.view().data)[i], want) << static_cast<int>(border) << " " << i;
          float lane = 0;
          std::memcpy(&lane, &out[static_cast<std::size_t>(i)], sizeof lane);
          ASSERT_EQ(lane, want) << "lane, " << static_cast<int>(border) << " " << i;
        }
  }
}
