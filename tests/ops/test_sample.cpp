// Values at coordinates: row by row on the CPU, and one by one as a device makes them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/sample/spline.hpp"
#include "ops/sample/types.hpp"

using namespace penstock;
using namespace penstock::sample;

namespace {

template <class T, class C>
struct Work {
  std::vector<T> in, out;
  SampleJob<T, C> job;

  Work(std::uint32_t dimensions, int order, Mode mode) {
    std::mt19937 random(dimensions + static_cast<unsigned>(order));
    const std::uint64_t extents[] = {4, 9, 7, 11}, outs[] = {3, 8, 5, 13};
    job.dimensions = job.out_dimensions = dimensions;
    std::uint64_t stride = 1;
    job.outputs = 1;
    for (std::uint32_t d = dimensions; d-- > 0; stride *= extents[d]) {
      job.shape[d] = extents[d];
      job.stride[d] = stride;
      job.out_extent[d] = outs[d];
      job.out_origin[d] = d == 0 ? 2 : -1;
      job.outputs *= outs[d];
      job.offset[d] = static_cast<double>(random() % 100) / 40 - 1;
      for (std::uint32_t k = 0; k < dimensions; ++k)
        job.matrix[d * kMaxDimensions + k] = (d == k ? 1 : 0) + static_cast<double>(random() % 100) / 300;
    }
    in.resize(stride);
    for (T& v : in) v = static_cast<T>(random() % 200);
    out.resize(job.outputs);
    job.in = in.data();
    job.out = out.data();
    job.order = order;
    job.mode = mode;
    job.constant = C(7);
  }
};

template <class T, class C>
void expect_rows(int max_order) {
  Options options;
  options.threads = 2;
  Job threads(options, "test", 0, 2);
  const Workspace place{&threads, {}, nullptr};
  for (std::uint32_t dimensions = 1; dimensions <= 4; ++dimensions)
    for (int order = 0; order <= max_order; ++order)
      for (const Mode mode : {Mode::reflect, Mode::mirror, Mode::nearest, Mode::constant, Mode::wrap, Mode::grid_wrap,
                              Mode::grid_constant}) {
        Work<T, C> work(dimensions, order, mode);
        ASSERT_TRUE(run_job(work.job, place));
        const std::vector<T> rows = work.out;
        std::fill(work.out.begin(), work.out.end(), T(0));
        const auto each = [&](const auto& element) {
          for (std::uint64_t i = work.job.outputs; i-- > 0;) element(i);
          const bool whole = std::is_integral_v<T>, narrow = sizeof(C) == 4;
          const double slack = whole ? 1 : narrow ? 1e-3 : 1e-10;
          for (std::size_t i = 0; i < rows.size(); ++i)
            ASSERT_NEAR(static_cast<double>(rows[i]), static_cast<double>(work.out[i]), slack)
                << "element " << i << " order " << order << " mode " << static_cast<int>(mode) << " of " << dimensions;
        };
        if (order <= 1) each(SampleElement<T, C>{work.job});
        if (order >= 1) with_spline(work.job, each);
        if (testing::Test::HasFatalFailure()) return;
      }
}

}  // namespace

TEST(Sample, RowsAreTheElementsOneByOne) {
  expect_rows<float, float>(5);
  expect_rows<double, double>(5);
  expect_rows<std::uint8_t, float>(1);
  expect_rows<std::int32_t, double>(1);
}
