// Tensor, response and deconvolution of signals that are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tracto/fit/csd.hpp"
#include "tracto/fit/response.hpp"
#include "tracto/phantom.hpp"
#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

Gradients gradients_of(int directions, double b) {
  testing::Phantom phantom;
  phantom.directions = directions;
  Gradients g;
  for (const auto& v : phantom.gradients()) {
    const bool weighted = g.size() > 0;
    g.b.push_back(weighted ? b : 0);
    g.vector.push_back(v);
    g.unweighted.push_back(!weighted);
  }
  return g;
}

double tensor_signal(double b, const Direction& g, const Direction& along, double l1, double l2) {
  const double dot = g[0] * along[0] + g[1] * along[1] + g[2] * along[2];
  return std::exp(-b * (l2 + (l1 - l2) * dot * dot));
}

class TensorMethods : public ::testing::TestWithParam<TensorMethod> {};
TEST_P(TensorMethods, FindTheTensor) {
  const Gradients g = gradients_of(30, 1000);
  const Direction along = {0.6, 0, 0.8};
  std::vector<float> s;
  for (std::size_t i = 0; i < g.size(); ++i)
    s.push_back(static_cast<float>(500 * tensor_signal(g.b[i], g.vector[i], along, 1.7e-3, 0.3e-3)));
  const Tensor3 t = TensorFit(g, GetParam()).fit(s);
  EXPECT_NEAR(t.evals[0], 1.7e-3, 1e-8);
  EXPECT_NEAR(t.evals[1], 0.3e-3, 1e-8);
  EXPECT_NEAR(t.evals[2], 0.3e-3, 1e-8);
  EXPECT_NEAR(std::abs(t.evecs[0][0] * along[0] + t.evecs[0][2] * along[2]), 1, 1e-6);
  EXPECT_NEAR(t.fa(), 0.79899, 1e-4);
  EXPECT_NEAR(t.md(), 2.3e-3 / 3, 1e-8);
}
INSTANTIATE_TEST_SUITE_P(Both, TensorMethods, ::testing::Values(TensorMethod::ols, TensorMethod::wls));

TEST(Tensor, BadSignalsGiveNumbers) {
  const Gradients g = gradients_of(30, 1000);
  const TensorFit fit(g);
  for (const float bad : {0.0f, -5.0f, std::nanf("")}) {
    const Tensor3 t = fit.fit(std::vector<float>(g.size(), bad));
    EXPECT_TRUE(std::isfinite(t.fa())) << bad;
    EXPECT_GE(t.fa(), 0) << bad;
    EXPECT_LE(t.fa(), 1) << bad;
  }
}

TEST(Response, BoxFitsSmallVolumes) {
  const Box box = centre_box({5, 40, 1}, 10);
  EXPECT_EQ(box.first, (std::array<std::uint64_t, 3>{0, 10, 0}));
  EXPECT_EQ(box.last[1], 30u);
  EXPECT_EQ(box.last[2], 1u);
}

TEST(Response, SaysWhatIsMissing) {
  const std::vector<Tensor3> flat(8, Tensor3{{1e-3, 1e-3, 1e-3}, {}});
  const std::vector<float> b0(8, 100);
  const auto r = mean_response(flat, b0, 0.7);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message().find("above 0.7"), std::string::npos) << r.error().message();
}

/// Of order 8: for each true direction the angle in degrees to the strongest of those near it.
std::vector<double> peak_errors(const std::vector<double>& coefficients, const std::vector<Direction>& truth) {
  static const auto sphere = repulsion_sphere(1000);
  static const Eigen::MatrixXd sampling = sh_matrix(sphere->vertices, 8);
  const Eigen::VectorXd f =
      Eigen::Map<const Eigen::VectorXd>(coefficients.data(), static_cast<Eigen::Index>(coefficients.size()));
  const Eigen::VectorXd a = sampling * f;
  std::vector<double> errors;
  for (const Direction& t : truth) {
    double best_amplitude = -1, error = 180;
    for (std::size_t i = 0; i < sphere->vertices.size(); ++i) {
      const Direction& v = sphere->vertices[i];
      const double cosine = std::min(1.0, std::abs(v[0] * t[0] + v[1] * t[1] + v[2] * t[2]));
      if (cosine < std::cos(0.5) || a[static_cast<Eigen::Index>(i)] < best_amplitude) continue;
      best_amplitude = a[static_cast<Eigen::Index>(i)];
      error = std::acos(cosine) * 180 / std::acos(-1.0);
    }
    errors.push_back(error);
  }
  return errors;
}

/// Two fibres of 500 each that cross, with Rician noise of this deviation.
std::vector<float> crossing_signal(const std::vector<Direction>& v, const std::vector<Direction>& fibres, double b,
                                   double noise, std::mt19937& random) {
  const auto normal = [&] {  // of twelve uniform numbers, the same on every machine
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    return noise * sum;
  };
  std::vector<float> s;
  for (const Direction& g : v) {
    double clean = 0;
    for (const Direction& f : fibres) clean += 500 * tensor_signal(b, g, f, 1.7e-3, 0.3e-3);
    const double real = clean + normal(), imaginary = normal();
    s.push_back(static_cast<float>(std::sqrt(real * real + imaginary * imaginary)));
  }
  return s;
}

TEST(Csd, ResolvesCrossings) {
  const double b_value = 3000;
  const Gradients g = gradients_of(90, b_value);
  const std::vector<double> b(g.b.begin() + 1, g.b.end());
  const std::vector<Direction> v(g.vector.begin() + 1, g.vector.end());
  const auto csd = CsdFit::make(b, v, {{1.7e-3, 0.3e-3, 0.3e-3}, 1000, 1}, geodesic_directions(6), {});
  ASSERT_TRUE(csd) << csd.error().message();
  for (const double degrees : {90.0, 60.0, 45.0}) {
    const double half = degrees / 2 * std::acos(-1.0) / 180;
    const std::vector<Direction> fibres = {{std::cos(half), std::sin(half), 0}, {std::cos(half), -std::sin(half), 0}};
    std::mt19937 random(1);
    for (const double error : peak_errors(csd->fit(crossing_signal(v, fibres, b_value, 0, random)), fibres))
      EXPECT_LE(error, 4) << degrees;
    std::vector<double> errors;  // at a signal of 20 times the noise
    for (int i = 0; i < 200; ++i)
      for (const double error : peak_errors(csd->fit(crossing_signal(v, fibres, b_value, 50, random)), fibres))
        errors.push_back(error);
    std::nth_element(errors.begin(), errors.begin() + 200, errors.end());
    EXPECT_LE(errors[200], 6) << degrees;
  }
}

TEST(Csd, BadSignalsGiveNothing) {
  const Gradients g = gradients_of(64, 2000);
  const std::vector<double> b(g.b.begin() + 1, g.b.end());
  const std::vector<Direction> v(g.vector.begin() + 1, g.vector.end());
  const auto csd = CsdFit::make(b, v, {{1.7e-3, 0.3e-3, 0.3e-3}, 1000, 1}, geodesic_directions(6), {});
  ASSERT_TRUE(csd);
  std::vector<float> s(64, 100);
  s[3] = std::nanf("");
  for (const double f : csd->fit(s)) EXPECT_EQ(f, 0);
  for (const double f : csd->fit(std::vector<float>(64))) EXPECT_TRUE(std::isfinite(f));
}

TEST(Csd, RefusesTooFewDirections) {
  const Gradients g = gradients_of(30, 2000);
  const std::vector<double> b(g.b.begin() + 1, g.b.end());
  const std::vector<Direction> v(g.vector.begin() + 1, g.vector.end());
  EXPECT_FALSE(CsdFit::make(b, v, {{1.7e-3, 0.3e-3, 0.3e-3}, 1000, 1}, geodesic_directions(6), {}));
}

}  // namespace
}  // namespace penstock::tracto
