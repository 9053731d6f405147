// Random numbers, gradients, spheres, spherical harmonics.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tracto/gradients/gradients.hpp"
#include "tracto/random.hpp"
#include "tracto/sh/basis.hpp"
#include "tracto/sphere/sphere.hpp"

namespace penstock::tracto {
namespace {

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Random, PhiloxGivesTheKnownAnswers) {
  const Philox zero = philox({{0, 0, 0, 0}}, 0, 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
  const std::uint32_t ones = 0xffffffffu;
  const Philox all = philox({{ones, ones, ones, ones}}, ones, ones);
  EXPECT_EQ(all.word[0], 0x408f276du);
  EXPECT_EQ(all.word[1], 0x41c83b0eu);
  EXPECT_EQ(all.word[2], 0xa20bc7c6u);
  EXPECT_EQ(all.word[3], 0x6d5451fdu);
}

TEST(Random, UnitFloatsAreBelowOne) {
  EXPECT_EQ(unit_float(0), 0.0f);
  EXPECT_LT(unit_float(std::numeric_limits<std::uint32_t>::max()), 1.0f);
}

TEST(Gradients, RowsAndColumnsAreTheSame) {
  const auto rows = make_gradients("0 1000 1000 1000", "0 1 0 0\n0 0 1 0\n0 0 0 1\n", 4, 50);
  const auto columns = make_gradients("0\n1000\n1000\n1000\n", "0,0,0\r\n1 0 0\n0 1 0\n0\t0 1", 4, 50);
  ASSERT_TRUE(rows) << rows.error().message();
  ASSERT_TRUE(columns) << columns.error().message();
  EXPECT_EQ(rows->vector[2], (std::array<double, 3>{0, 1, 0}));
  EXPECT_EQ(rows->vector, columns->vector);
  EXPECT_EQ(rows->b, columns->b);
  EXPECT_EQ(rows->weighted(), 3u);
}

TEST(Gradients, UnweightedVectorsMayBeMissing) {
  const auto g = make_gradients("0 1000 1000 1000", "nan nan nan\n1 0 0\n0 1 0\n0 0 1\n", 4, 50);
  ASSERT_TRUE(g) << g.error().message();
  EXPECT_TRUE(g->unweighted[0]);
  EXPECT_EQ(g->vector[0], (std::array<double, 3>{0, 0, 0}));
}

struct Bad {
  const char *bval, *bvec, *says;
};
class BadGradients : public ::testing::TestWithParam<Bad> {};
TEST_P(BadGradients, AreRefused) {
  const auto g = make_gradients(GetParam().bval, GetParam().bvec, 4, 50);
  ASSERT_FALSE(g);
  EXPECT_NE(g.error().message().find(GetParam().says), std::string::npos) << g.error().message();
}
INSTANTIATE_TEST_SUITE_P(
    All, BadGradients,
    ::testing::Values(Bad{"0 1000 1000", "0 0 0\n1 0 0\n0 1 0\n0 0 1", "4 volumes, 3 b values, 4 vectors"},
                      Bad{"0 1 x 3", "0 0 0\n1 0 0\n0 1 0\n0 0 1", "line 1: 'x' is no number"},
                      Bad{"0 -5 1000 1000", "0 0 0\n1 0 0\n0 1 0\n0 0 1", "b value 1 is -5"},
                      Bad{"0 nan 1000 1000", "0 0 0\n1 0 0\n0 1 0\n0 0 1", "b value 1 is nan"},
                      Bad{"0 1000 1000 1000", "0 0 0\n1 0 0\n0 2 0\n0 0 1", "vector 2 (0, 2, 0)"},
                      Bad{"0 1000 1000 1000", "0 0 0\n1 0 0\nnan nan nan\n0 0 1", "vector 2"},
                      Bad{"0 1000 1000 1000", "0 0\n1 0\n0 1\n0 0", "row 0 has 2"},
                      Bad{"0 0 0 0", "0 0 0\n1 0 0\n0 1 0\n0 0 1", "nothing is weighted"},
                      Bad{"900 1000 1000 1000", "1 0 0\n1 0 0\n0 1 0\n0 0 1", "an unweighted volume is needed"}));

TEST(Gradients, ShellsAreRounded) {
  const auto g = make_gradients("0 995 1005 2010 1990 1998", "0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 0 0\n0 1 0", 6, 50);
  ASSERT_TRUE(g) << g.error().message();
  const std::vector<Shell> found = shells(*g);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].b, 1000);
  EXPECT_EQ(found[1].volumes, (std::vector<std::size_t>{3, 4, 5}));
}

double angle_to_nearest(const std::vector<Direction>& v, std::size_t i) {
  double most = -1;
  for (std::size_t k = 0; k < v.size(); ++k)
    if (k != i) most = std::max(most, std::abs(v[i][0] * v[k][0] + v[i][1] * v[k][1] + v[i][2] * v[k][2]));
  return std::acos(most) * 180 / std::acos(-1.0);
}

TEST(Sphere, RepulsionSpreadsEvenly) {
  const auto sphere = repulsion_sphere(362);
  ASSERT_TRUE(sphere);
  double least = 180, most = 0;
  for (std::size_t i = 0; i < 362; ++i) {
    const double angle = angle_to_nearest(sphere->vertices, i);
    least = std::min(least, angle);
    most = std::max(most, angle);
  }
  EXPECT_GT(least, 6.5);
  EXPECT_LT(most, 9);
}

// A triangulation of the sphere's 2 n points that is the same for antipodes: V - E + F = 2, 3 F = 2 E.
TEST(Sphere, NeighboursTriangulateTheSphere) {
  for (const std::uint32_t count : {16u, 100u, 362u, 724u}) {
    const auto sphere = repulsion_sphere(count);
    ASSERT_TRUE(sphere);
    std::size_t degrees = 0;
    for (std::size_t i = 0; i < count; ++i) {
      degrees += sphere->neighbours[i].size();
      for (const std::uint16_t other : sphere->neighbours[i]) {
        const auto& back = sphere->neighbours[other];
        EXPECT_NE(std::find(back.begin(), back.end(), i), back.end());
      }
    }
    EXPECT_EQ(degrees, 2 * (3 * count - 3)) << count;
  }
}

TEST(Sphere, GeodesicHasItsNumberOfDirections) {
  EXPECT_EQ(geodesic_directions(6).size(), 181u);
  EXPECT_EQ(geodesic_directions(8).size(), 321u);
}

TEST(Sphere, RefusesCounts) {
  EXPECT_FALSE(repulsion_sphere(15));
  EXPECT_FALSE(repulsion_sphere(1025));
}

Direction at(double theta, double phi) {
  return {std::sin(theta) * std::cos(phi), std::sin(theta) * std::sin(phi), std::cos(theta)};
}

// theta 0.7, phi 1.1, order 4: values of DIPY 1.6.0.
TEST(SphericalHarmonics, AreThoseOfDipy) {
  const std::vector<Direction> v = {at(0.7, 1.1)};
  const double legacy[] = {.282095,  -.133421, -.244182, .238105,  -.47976, .183296, -.033128, .35744,
                           -.357601, -.163719, -.272113, -.321668, .49128,  .0571,   -.102576};
  const double tournier[] = {.282095, .183296,  -.47976,  .238105,  -.244182, -.133421, -.102576, .0571,
                             .49128,  -.321668, -.272113, -.163719, -.357601, .35744,   -.033128};
  const Eigen::MatrixXd a = sh_matrix(v, 4), b = sh_matrix(v, 4, ShBasis::tournier07);
  ASSERT_EQ(a.cols(), 15);
  for (int i = 0; i < 15; ++i) {
    EXPECT_NEAR(a(0, i), legacy[i], 1e-6) << i;
    EXPECT_NEAR(b(0, i), tournier[i], 1e-6) << i;
  }
}

TEST(SphericalHarmonics, AreOrthonormal) {
  const auto sphere = repulsion_sphere(724);
  ASSERT_TRUE(sphere);
  const Eigen::MatrixXd y = sh_matrix(sphere->vertices, 8);
  const Eigen::MatrixXd gram = y.transpose() * y * (4 * std::acos(-1.0) / 724);
  EXPECT_LT((gram - Eigen::MatrixXd::Identity(45, 45)).cwiseAbs().maxCoeff(), 0.02);
}

}  // namespace
}  // namespace penstock::tracto
