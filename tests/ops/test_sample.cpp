// Values at coordinates: by the loops of the CPU, and one by one as a device makes them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/sample/lane.hpp"
#include "ops/sample/types.hpp"

using namespace penstock;
using namespace penstock::sample;

namespace {

/// What a job is made of.
struct Shapes {
  std::vector<std::uint64_t> in = {4, 9, 7, 11}, out = {3, 8, 5, 13};
  bool diagonal = false;
  double turn = 1 / 3.0;  ///< the most that is added to the matrix of ones
  bool slides = false;    ///< only the last coordinate changes along a row, by one
};

template <class T, class C>
struct Work {
  std::vector<T> in, out;
  std::vector<double> coordinates;
  SampleJob<T, C> job;

  Work(const Shapes& shapes, std::uint32_t dimensions, int order, Mode mode) {
    std::mt19937 random(dimensions + static_cast<unsigned>(order));
    job.dimensions = job.out_dimensions = dimensions;
    std::uint64_t stride = 1;
    job.outputs = 1;
    for (std::uint32_t d = dimensions; d-- > 0; stride *= shapes.in[d]) {
      job.shape[d] = shapes.in[d];
      job.stride[d] = stride;
      job.out_extent[d] = shapes.out[d];
      job.out_origin[d] = d == 0 ? 2 : -1;
      job.outputs *= shapes.out[d];
      job.offset[d] = static_cast<double>(random() % 100) / 40 - 1;
      for (std::uint32_t k = 0; k < dimensions; ++k)
        job.matrix[d * kMaxDimensions + k] = d == k ? 0.9 + static_cast<double>(random() % 100) / 500
                                             : shapes.diagonal
                                                 ? 0
                                                 : static_cast<double>(random() % 100) / 100 * shapes.turn;
    }
    for (std::uint32_t d = 0; shapes.slides && d < dimensions; ++d)
      job.matrix[d * kMaxDimensions + dimensions - 1] = d + 1 == dimensions ? 1 : 0;
    job.elements = stride;
    in.resize(stride);
    for (T& v : in) v = static_cast<T>(random() % 200);
    out.resize(job.outputs);
    job.in = in.data();
    job.out = out.data();
    job.order = order;
    job.mode = mode;
    job.constant = C(7);
  }
  /// The same coordinates, from memory.
  void list_coordinates(From from) {
    std::vector<double> made(job.dimensions * job.outputs);
    for (std::uint64_t i = 0; i < job.outputs; ++i) {
      double at[kMaxDimensions];
      job.coordinates_of(i, at);
      std::uint64_t rest = i;
      for (std::uint32_t d = job.dimensions; d-- > 0; rest /= job.out_extent[d]) {
        const auto index = static_cast<double>(static_cast<std::int64_t>(rest % job.out_extent[d]) + job.out_origin[d]);
        made[d * job.outputs + i] = at[d] - job.offset[d] - (from == From::displacement ? index : 0);
      }
    }
    coordinates = std::move(made);
    job.coordinates = coordinates.data();
    job.from = from;
    if (from == From::list) job.out_dimensions = 1, job.out_extent[0] = job.outputs, job.out_origin[0] = 0;
  }
};

constexpr Mode kModes[] = {Mode::reflect, Mode::mirror,    Mode::nearest,      Mode::constant,
                           Mode::wrap,    Mode::grid_wrap, Mode::grid_constant};

/// The loops of every set of instructions give what each output by itself is.
template <class T, class C>
void expect_same(Work<T, C>& work, const std::string& what) {
  Options options;
  options.threads = 2;
  Job threads(options, "test", 0, 2);
  std::vector<T> wanted;
  ASSERT_TRUE(with_element(work.job, [&](const auto& element) {
    for (std::uint64_t i = work.job.outputs; i-- > 0;) element(i);
    wanted = work.out;
  }));
  const auto compare = [&](double slack, const std::string& by) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(static_cast<double>(work.out[i]), static_cast<double>(wanted[i]), slack)
          << what << ", element " << i << by;
  };
  const bool weighed = !std::is_same_v<T, C> || std::is_floating_point_v<T>;
  const double slack = !weighed ? 0 : std::is_integral_v<T> ? 1 : sizeof(C) == 4 ? 1e-3 : 1e-10;
  std::fill(work.out.begin(), work.out.end(), T(0));
  ASSERT_TRUE(with_lanes(work.job, [&](const auto& lanes) {
    for (std::uint64_t i = lanes.lanes(); i-- > 0;) lanes(i);
  }));
  compare(slack, " by lanes of a device");
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) continue;
    for (const bool grid : {false, true}) {
      if (grid && !is_grid(work.job)) continue;
      std::fill(work.out.begin(), work.out.end(), T(0));
      ASSERT_TRUE(grid ? run_grid_on_cpu(work.job, threads, isa) : run_on_cpu(work.job, threads, isa));
      compare(slack, (grid ? " of a grid, instructions " : ", instructions ") + std::to_string(static_cast<int>(isa)));
    }
  }
}

template <class T, class C>
void expect_all(const Shapes& shapes, std::vector<int> orders, std::vector<std::uint32_t> ranks) {
  for (const std::uint32_t rank : ranks)
    for (const int order : orders)
      for (const Mode mode : kModes)
        for (const From from : {From::matrix, From::list, From::displacement}) {
          Work<T, C> work(shapes, rank, order, mode);
          if (from != From::matrix) work.list_coordinates(from);
          expect_same(work, "order " + std::to_string(order) + " mode " + std::to_string(static_cast<int>(mode)) +
                                " rank " + std::to_string(rank) + " from " + std::to_string(static_cast<int>(from)));
          if (testing::Test::HasFatalFailure()) return;
        }
}

/// Small, where most coordinates are beyond the ends; large, where most are not; along the axes; rows that
/// slide; rows of which a lane of a device makes many outputs.
const std::vector<Shapes> kShapes = {{},
                                     {{20, 30, 90}, {6, 7, 70}, false, 0.02},
                                     {{4, 9, 7, 11}, {3, 8, 5, 13}, true},
                                     {{20, 30, 90}, {6, 7, 70}, true},
                                     {{20, 30, 90}, {6, 7, 120}, false, 0.2, true},
                                     {{20, 30, 900}, {3, 4, 1100}, true}};

}  // namespace

TEST(Sample, LoopsGiveWhatEachOutputIs) {
  for (const Shapes& shapes : kShapes) {
    std::vector<std::uint32_t> ranks = {1, 2, 3};
    if (shapes.in.size() == 4) ranks.push_back(4);
    expect_all<float, float>(shapes, {1, 2, 3, 4, 5}, ranks);
    expect_all<double, double>(shapes, {1, 3, 5}, ranks);
    expect_all<std::uint8_t, float>(shapes, {1}, {2, 3});
    expect_all<std::int32_t, double>(shapes, {1}, {2, 3});
    expect_all<std::uint16_t, std::uint16_t>(shapes, {0}, ranks);
    if (HasFatalFailure()) return;
  }
}

TEST(Sample, AJobOfElementsThatNothingTakesIsAnError) {
  Work<std::uint8_t, float> work({}, 4, 3, Mode::mirror);
  Options options;
  Job threads(options, "test", 0, 1);
  const Status status = run_on_cpu(work.job, threads, Isa::baseline);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::unsupported);
}
