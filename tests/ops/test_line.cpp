// Work along an axis: the loops of the CPU for every set of instructions, and the tile of a device over teams that run
// in order and out of it, against the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device/teams.hpp"
#include "ops/line/line.hpp"
#include "ops/line/rows.hpp"
#include "ops/line/types.hpp"

using namespace penstock;
using namespace penstock::line;

namespace {

struct Case {
  Operation operation;
  Shape3 shape;
  std::int64_t before;
  std::uint32_t taps;
  Border border;
};

/// The job's data, and what it should give: the definition, in double.
template <class T, class C>
struct Work {
  std::vector<T> in, out;
  std::vector<std::int32_t> table;
  std::vector<double> weights, expected;
  std::unique_ptr<C[]> values;
  LineJob<T, C> job;

  explicit Work(const Case& c, std::uint32_t seed = 1) {
    std::mt19937 random(seed);
    in.resize(c.shape.outer * c.shape.in * c.shape.inner);
    for (T& v : in) v = static_cast<T>(static_cast<double>(random() % 200));
    out.resize(c.shape.outputs());
    table = border_table(-c.before, c.shape.out + c.taps - 1, c.shape.in, 0, c.border).value();
    values = std::make_unique<C[]>(c.taps);
    for (std::uint32_t t = 0; t < c.taps; ++t) {
      weights.push_back(static_cast<double>(random() % 9) / 8);
      values[t] = static_cast<C>(weights.back());
    }
    job.operation = c.operation;
    job.shape = c.shape;
    job.in = in.data();
    job.out = out.data();
    job.table = table.data();
    if constexpr (kWeighs<C>) job.weights = values.get();
    job.taps = c.taps;
    job.constant = static_cast<C>(7);
    for (std::uint64_t i = 0; i < out.size(); ++i) expected.push_back(value(c, i));
  }

  double value(const Case& c, std::uint64_t i) const {
    const std::uint64_t inner = i % c.shape.inner, row = i / c.shape.inner % c.shape.out;
    const std::uint64_t outer = i / c.shape.inner / c.shape.out;
    double sum = 0, least = INFINITY, most = -INFINITY;
    for (std::uint32_t t = 0; t < c.taps; ++t) {
      const std::int64_t at =
          border_index(static_cast<std::int64_t>(row + t) - c.before, static_cast<std::int64_t>(c.shape.in), c.border);
      const double v = at < 0 ? static_cast<double>(static_cast<C>(7))
                              : static_cast<double>(in[(outer * c.shape.in + at) * c.shape.inner + inner]);
      sum += c.operation == Operation::correlate ? weights[t] * v : v;
      least = std::min(least, v), most = std::max(most, v);
    }
    if (c.operation == Operation::minimum) return least;
    if (c.operation == Operation::maximum) return most;
    return c.operation == Operation::uniform ? sum / c.taps : sum;
  }

  void expect(const char* what) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto want = static_cast<double>(truncated<T>(expected[i]));
      const double slack = std::is_floating_point_v<T> ? 1e-4 * (1 + std::abs(want)) : std::is_same_v<C, float> ? 1 : 0;
      ASSERT_NEAR(static_cast<double>(out[i]), want, slack) << what << " element " << i;
    }
    std::fill(out.begin(), out.end(), T(0));
  }
};

template <class T, class C>
void run_case(const Case& c) {
  Work<T, C> work(c);
  Options options;
  options.threads = 2;
  Job job(options, "test", 0, 2);
  for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
    ASSERT_TRUE(run_on_cpu(work.job, job, static_cast<Isa>(isa)));
    work.expect("loops");
  }
  TileShape tile;
  tile.rows = 16;
  tile.taps = c.taps;
  std::vector<C> memory(0);
  const auto shared = std::make_unique<C[]>(tile.elements(c.shape));
  const auto on_team = [&](const auto& team, const char* what) {
    for (std::uint64_t t = 0; t < tile.tiles(c.shape); ++t) line_tile(team, work.job, tile, t, shared.get());
    work.expect(what);
  };
  on_team(HostTeam<32>(), "in order");
  on_team(PermTeam<32>(2), "backwards");
  on_team(PermTeam<32>(7), "scattered");
  for (std::uint64_t i = 0; i < c.shape.outputs(); ++i) LineElement<T, C>{work.job}(i);
  work.expect("one by one");
}

std::vector<Case> cases() {
  std::vector<Case> cases;
  const std::vector<Shape3> shapes = {{1, 40, 40, 1},   {3, 17, 17, 5},  {5, 1, 1, 3},
                                      {2, 33, 33, 130}, {37, 20, 20, 1}, {1, 300, 300, 1}};
  const std::vector<Border> borders = {Border::reflect, Border::mirror, Border::nearest, Border::constant,
                                       Border::wrap};
  std::uint32_t k = 0;
  for (const Shape3& shape : shapes)
    for (const std::uint32_t taps : {1u, 2u, 3u, 8u, 17u, 70u})
      for (const Operation operation :
           {Operation::correlate, Operation::uniform, Operation::minimum, Operation::maximum})
        cases.push_back({operation, shape, (taps / 2 + k) % taps, taps, borders[k++ % borders.size()]});
  return cases;
}

}  // namespace

TEST(Line, EqualsItsDefinitionOnEveryExecutor) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(testing::Message() << "operation " << static_cast<int>(c.operation) << " shape " << c.shape.outer
                                    << "," << c.shape.in << "," << c.shape.inner << " taps " << c.taps << " border "
                                    << static_cast<int>(c.border));
    if (c.operation == Operation::minimum || c.operation == Operation::maximum) {
      run_case<float, float>(c);
      run_case<std::uint8_t, std::uint8_t>(c);
      run_case<std::int64_t, std::int64_t>(c);
      continue;
    }
    run_case<float, float>(c);
    run_case<float, double>(c);
    run_case<double, double>(c);
    run_case<std::uint16_t, float>(c);
    run_case<std::int32_t, double>(c);
    if (HasFatalFailure()) return;
  }
}

TEST(Line, WeightsOfDerivativesSumUpToWhatTheyMust) {
  for (const double sigma : {0.5, 1.0, 3.3}) {
    const auto radius = static_cast<std::int64_t>(4 * sigma + 0.5);
    double sum = 0, slope = 0;
    const auto smooth = gaussian_weights(sigma, 0, radius), first = gaussian_weights(sigma, 1, radius);
    for (std::size_t i = 0; i < smooth.size(); ++i) {
      sum += smooth[i];
      slope += first[i] * (static_cast<double>(i) - static_cast<double>(radius));
      EXPECT_DOUBLE_EQ(smooth[i], smooth[smooth.size() - 1 - i]);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(slope, 1, sigma < 1 ? 0.3 : 0.02) << "of a ramp";
  }
}

TEST(Border, RangesHoldWhatTablesNeed) {
  for (const Border border : {Border::reflect, Border::mirror, Border::nearest, Border::constant, Border::wrap})
    for (std::uint64_t extent = 1; extent < 9; ++extent)
      for (std::int64_t first = -20; first < 20; ++first)
        for (std::int64_t last = first; last < first + 24; ++last) {
          const Range range = border_range(first, last, extent, border);
          ASSERT_LE(range.start + range.count, extent);
          for (std::int64_t at = first; at <= last; ++at) {
            const std::int64_t index = border_index(at, static_cast<std::int64_t>(extent), border);
            if (index < 0) continue;
            ASSERT_GE(index, static_cast<std::int64_t>(range.start)) << first << " " << last << " " << extent;
            ASSERT_LT(index, static_cast<std::int64_t>(range.start + range.count));
          }
        }
}
