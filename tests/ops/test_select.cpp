// Percentiles, histograms and thresholds against a sort and plain counting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "device/teams.hpp"
#include "ops/select/statistics.hpp"

using namespace penstock;
using namespace penstock::select;

namespace {

template <class T>
DType type_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean();
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? DType::float32() : DType::float64();
  return DType::integer(sizeof(T), std::is_signed_v<T> ? Kind::signed_int : Kind::unsigned_int);
}

template <class T>
std::vector<T> values(std::size_t n) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(40, 25);
  std::vector<T> made(n);
  for (T& v : made) {
    const double x = normal(random);
    v = static_cast<T>(std::is_signed_v<T> || std::is_floating_point_v<T> ? x : std::abs(x));
  }
  return made;
}

double percentile_of(std::vector<double> sorted, double q) {
  std::sort(sorted.begin(), sorted.end());
  const double at = q / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double a = sorted[below], b = sorted[std::min(below + 1, sorted.size() - 1)];
  return a + (b - a) * (at - static_cast<double>(below));
}

template <class T>
void expect_statistics() {
  SCOPED_TRACE(type_of<T>().name());
  std::vector<T> data = values<T>(50001);
  StatisticsRequest request;
  request.percentiles = {0, 1, 12.5, 50, 99.5, 100};
  request.bins = 17;
  request.range = {{5.0, 90.0}};
  const TensorView view = TensorView::packed(data.data(), type_of<T>(), {3, 16667}).value();
  const Statistics made = statistics(view, request).value();
  const std::vector<double> plain(data.begin(), data.end());
  for (std::size_t i = 0; i < request.percentiles.size(); ++i)
    EXPECT_NEAR(made.percentiles[i], percentile_of(plain, request.percentiles[i]), 1e-9);
  std::vector<std::uint64_t> counts(17, 0);
  const std::vector<double> edges = bin_edges(5, 90, 17);
  for (const double v : plain) {
    if (v < 5 || v > 90) continue;
    const auto above = std::upper_bound(edges.begin(), edges.end(), v);
    ++counts[std::min<std::size_t>(static_cast<std::size_t>(above - edges.begin()) - 1, 16)];
  }
  EXPECT_EQ(made.histogram, counts);
  EXPECT_EQ(made.min, *std::min_element(plain.begin(), plain.end()));
  EXPECT_EQ(made.max, *std::max_element(plain.begin(), plain.end()));
  double sum = 0, squares = 0;
  for (const double v : plain) sum += v;
  for (const double v : plain) squares += (v - sum / 50001) * (v - sum / 50001);
  EXPECT_NEAR(made.mean, sum / 50001, 1e-9);
  EXPECT_NEAR(made.deviation, std::sqrt(squares / 50001), 1e-9);
}

}  // namespace

TEST(Statistics, EqualASortAndPlainCounting) {
  expect_statistics<std::uint8_t>();
  expect_statistics<std::int8_t>();
  expect_statistics<std::uint16_t>();
  expect_statistics<std::int16_t>();
  expect_statistics<std::uint32_t>();
  expect_statistics<std::int32_t>();
  expect_statistics<std::uint64_t>();
  expect_statistics<std::int64_t>();
  expect_statistics<float>();
  expect_statistics<double>();
}

TEST(Statistics, NanMakesPercentilesNanAndIsLeftOutElsewhere) {
  std::vector<float> data = {3, -INFINITY, std::numeric_limits<float>::quiet_NaN(), 8, INFINITY};
  StatisticsRequest request;
  request.percentiles = {50};
  const Statistics made = statistics(TensorView::packed(data.data(), DType::float32(), {5}).value(), request).value();
  EXPECT_TRUE(std::isnan(made.percentiles[0]));
  EXPECT_EQ(made.nans, 1u);
  EXPECT_EQ(made.min, -INFINITY);
  EXPECT_EQ(made.max, INFINITY);
}

TEST(Statistics, WithoutASummaryPercentilesAreTheSame) {
  std::vector<float> data = values<float>(3001);
  StatisticsRequest request;
  for (int q = 0; q <= 30; ++q) request.percentiles.push_back(q * 100 / 30.0);
  request.bins = 9;
  request.range = {{-20, 80}};
  const TensorView view = TensorView::packed(data.data(), DType::float32(), {3001}).value();
  const Statistics with = statistics(view, request).value();
  request.summary = false;
  const Statistics without = statistics(view, request).value();
  EXPECT_EQ(without.percentiles, with.percentiles);
  EXPECT_EQ(without.histogram, with.histogram);
  EXPECT_TRUE(std::isnan(without.mean));
  data[17] = std::numeric_limits<float>::quiet_NaN();
  const Statistics nothing = statistics(view, request).value();
  for (const double p : nothing.percentiles) EXPECT_TRUE(std::isnan(p));
  request.range.reset();  // then the least and the largest are needed
  EXPECT_EQ(statistics(view, request)->nans, 1u);
}

TEST(Statistics, ThreadsAndSharesChangeNothing) {
  std::vector<float> data = values<float>(600001);  // one thread's share is counted in several tables
  StatisticsRequest request;
  request.percentiles = {0, 30, 50, 99.9, 100};
  request.bins = 33;
  const TensorView view = TensorView::packed(data.data(), DType::float32(), {600001}).value();
  Options one, many;
  one.threads = 1, many.threads = 8;
  const Statistics a = statistics(view, request, one).value(), b = statistics(view, request, many).value();
  EXPECT_EQ(a.percentiles, b.percentiles);
  EXPECT_EQ(a.histogram, b.histogram);
  EXPECT_EQ(std::accumulate(a.histogram.begin(), a.histogram.end(), std::uint64_t{0}), 600001u);
  const std::vector<double> plain(data.begin(), data.end());
  for (std::size_t i = 0; i < request.percentiles.size(); ++i)
    EXPECT_NEAR(a.percentiles[i], percentile_of(plain, request.percentiles[i]), 1e-9);
}

TEST(Statistics, OfAViewAreThoseOfItsElements) {
  std::vector<std::int32_t> data = values<std::int32_t>(6000);
  TensorView view = TensorView::packed(data.data(), DType::int32(), {60, 100}).value();
  view = view.slice({Slice{{}, {}, -3}, Slice{5, {}, 2}}).value();
  std::vector<double> plain;
  for (std::int64_t i = 59; i >= 0; i -= 3)
    for (std::int64_t k = 5; k < 100; k += 2) plain.push_back(data[static_cast<std::size_t>(i * 100 + k)]);
  StatisticsRequest request;
  request.percentiles = {37};
  EXPECT_NEAR(statistics(view, request)->percentiles[0], percentile_of(plain, 37), 1e-9);
}

TEST(Statistics, RefusesWhatHasNone) {
  std::vector<float> data(4);
  const auto of = [&](const Shape& shape, const StatisticsRequest& request) {
    return statistics(TensorView::packed(data.data(), DType::float32(), shape).value(), request).error().code();
  };
  StatisticsRequest bad_percentile, bad_range, many;
  bad_percentile.percentiles = {101};
  bad_range.bins = 3;
  bad_range.range = {{2, 1}};
  many.percentiles.assign(32, 50);
  EXPECT_EQ(of({4}, many), ErrorCode::invalid_argument);
  EXPECT_EQ(of({0}, {}), ErrorCode::invalid_argument);
  EXPECT_EQ(of({4}, bad_percentile), ErrorCode::invalid_argument);
  EXPECT_EQ(of({4}, bad_range), ErrorCode::invalid_argument);
}

/// What a device does: the tiles of teams.
TEST(Select, TeamsCountAndSumUpAsLoops) {
  const std::vector<float> data = values<float>(3001);
  DigitTable table;
  table.digit_bits = 11;
  table.shift = 21;
  BinTable bins{-20, 80, 33, nullptr};
  const std::vector<double> edges = bin_edges(-20, 80, 33);
  bins.edges = edges.data();
  const auto check = [&](const auto& team, const auto& counted) {
    std::vector<std::uint64_t> plain(counted.size(), 0), made(counted.size(), 0);
    for (const float v : data)
      if (counted.index(v) < counted.size()) ++plain[counted.index(v)];
    std::vector<std::uint32_t> shared(counted.size());
    for (std::uint32_t t = 0; t < 5; ++t)
      count_tile(team, data.data(), Share::of(data.size(), t, 5), counted, shared.data(), made.data());
    EXPECT_EQ(made, plain);
  };
  const auto both = [&](const auto& team) {
    check(team, table);
    check(team, bins);
    std::vector<Summary> shared(team.lanes), parts(4);
    for (std::uint32_t t = 0; t < 4; ++t)
      summary_tile(team, data.data(), Share::of(data.size(), t, 4), 40.0, shared.data(), &parts[t]);
    Summary all, plain;
    for (const Summary& part : parts) join(all, part);
    for (const float v : data) add_to(plain, v, 40.0);
    EXPECT_EQ(all.least, plain.least);
    EXPECT_EQ(all.most, plain.most);
    EXPECT_NEAR(all.sum, plain.sum, 1e-6);
    EXPECT_NEAR(all.squares, plain.squares, 1e-3);
  };
  both(HostTeam<32>());
  both(PermTeam<32>(2));
  both(PermTeam<32>(7));
}
