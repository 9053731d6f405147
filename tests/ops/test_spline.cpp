// Splines: coefficients by the loops of the CPU for every set of instructions and by what a device runs, line by line;
// and that the spline of them goes through the elements it was made of.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/chain.hpp"
#include "ops/line/spline.hpp"
#include "ops/sample/spline.hpp"

using namespace penstock;
using namespace penstock::line;

namespace {

template <class C>
struct Work {
  std::vector<C> in, out;
  std::vector<Start<C>> starts;
  SplineJob<C> job;

  Work(const Shape3& shape, int order, SplineBorder border) {
    std::mt19937 random(5);
    in.resize(shape.outputs());
    for (C& v : in) v = static_cast<C>(random() % 200) / 8;
    out.resize(in.size());
    double gain = 1;
    for (const double z : spline_poles(order)) {
      gain *= (1 - z) * (1 - 1 / z);
      const auto add = [&](const std::vector<Start<double>>& from) {
        for (const auto& s : from) starts.push_back({s.row, static_cast<C>(s.weight)});
        return static_cast<std::uint32_t>(from.size());
      };
      job.pole[job.poles] = static_cast<C>(z);
      job.forwards[job.poles] = add(forward_starts(z, shape.in, border));
      job.backwards[job.poles++] = add(backward_starts(z, shape.in, border));
    }
    job.gain = static_cast<C>(gain);
    job.shape = shape;
    job.in = in.data();
    job.out = out.data();
    job.starts = starts.data();
  }

  /// The spline at the elements is the elements: the definition of its coefficients.
  void expect(const char* what, int order, SplineBorder border) {
    const auto n = static_cast<std::int64_t>(job.shape.in);
    const Border beyond = border == SplineBorder::mirror    ? Border::mirror
                          : border == SplineBorder::reflect ? Border::reflect
                                                            : Border::wrap;
    const auto inner = static_cast<std::int64_t>(job.shape.inner);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i) {
      const std::int64_t row = i / inner % n, first = i - row * inner;
      double sum = 0;
      for (std::int64_t k = -3; k <= 3; ++k)
        sum += sample::b_spline<double>(order, static_cast<double>(k)) *
               static_cast<double>(out[static_cast<std::size_t>(first + border_index(row + k, n, beyond) * inner)]);
      const double slack = sizeof(C) == 4 ? 1e-3 : 1e-9;
      ASSERT_NEAR(sum, static_cast<double>(in[static_cast<std::size_t>(i)]), slack)
          << what << " element " << i << " order " << order << " border " << static_cast<int>(border) << " n " << n;
    }
    std::fill(out.begin(), out.end(), C(0));
  }
};

template <class C>
void expect_coefficients() {
  Options options;
  options.threads = 2;
  Job threads(options, "test", 0, 2);
  for (const Shape3& shape : {Shape3{1, 40, 40, 1}, Shape3{37, 11, 11, 1}, Shape3{3, 2, 2, 5}, Shape3{2, 150, 150, 200},
                              Shape3{2, 1, 1, 3}, Shape3{1, 3, 3, 1}})
    for (int order = 2; order <= kMaxSplineOrder; ++order)
      for (const SplineBorder border : {SplineBorder::mirror, SplineBorder::reflect, SplineBorder::wrap}) {
        Work<C> work(shape, order, border);
        for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
          ASSERT_TRUE(splines_on_cpu(work.job, threads, static_cast<Isa>(isa)));
          work.expect("loops", order, border);
        }
        for (std::uint64_t line = shape.outer * shape.inner; line-- > 0;) SplineLine<C>{work.job}(line);
        work.expect("line by line", order, border);
        if (testing::Test::HasFatalFailure()) return;
      }
}

}  // namespace

TEST(Spline, GoesThroughTheElements) {
  expect_coefficients<float>();
  expect_coefficients<double>();
}

TEST(Spline, WeightsSumUpToOne) {
  for (int order = 2; order <= kMaxSplineOrder; ++order)
    for (double x = -0.5; x <= 0.5; x += 1.0 / 64) {
      double sum = 0, centre = 0;
      for (int k = -4; k <= 4; ++k) {
        sum += sample::b_spline<double>(order, x - k);
        centre += k * sample::b_spline<double>(order, x - k);
      }
      EXPECT_NEAR(sum, 1, 1e-14) << order;
      EXPECT_NEAR(centre, x, 1e-14) << order << ": a ramp stays one";
    }
}

TEST(Spline, ASumIsWhatFloat32TellsOfBothRecursions) {
  for (const int order : {2, 3})
    for (const SplineBorder border : {SplineBorder::mirror, SplineBorder::reflect, SplineBorder::wrap})
      for (const std::uint64_t n : {2u, 5u, 40u, 100u}) {
        const Tensor in = Tensor::empty(DType::float32(), {3, n, 4}).value();
        auto* values = static_cast<float*>(in.view().data);
        std::mt19937 random(3);
        for (std::uint64_t i = 0; i < 12 * n; ++i) values[i] = static_cast<float>(random() % 2000) / 8;
        const auto apply = [&](std::unique_ptr<Operator> op) {
          Chain chain(ArrayInfo{DType::float32(), in.view().shape});
          chain.add(std::move(op));
          const Tensor made = Tensor::empty(DType::float32(), in.view().shape).value();
          EXPECT_TRUE(apply_chain(chain, in.view(), made.view(), {}));
          const auto* data = static_cast<const float*>(made.view().data);
          return std::vector<float>(data, data + 12 * n);
        };
        const ArrayInfo info{DType::float32(), in.view().shape};
        const auto wanted = apply(make_spline(info, 1, order, border));
        const auto made = apply(make_filter(info, spline_sum(1, order, border)).value());
        for (std::size_t i = 0; i < wanted.size(); ++i)
          ASSERT_NEAR(made[i], wanted[i], 2e-4) << "order " << order << " n " << n << " element " << i;
      }
}
