// Deconvolution with DIPY's own directions gives DIPY's numbers (tests/golden/tracto/generate.py makes them).  With
// ours, which are not its symmetric362, coefficients are 1e-3 away: tests/python/test_tracto_golden.py.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tracto/fit/csd.hpp"

namespace penstock::tracto {
namespace {

struct GoldenCsd {
  FibreResponse response;
  std::vector<double> b;
  std::vector<Direction> weighted, constraint;
  struct Fitted {
    std::vector<float> signal;
    std::uint32_t order = 0;
    std::vector<double> coefficients;
  };
  std::vector<Fitted> fits;
};

GoldenCsd read_golden() {
  GoldenCsd out;
  std::ifstream file(PENSTOCK_TEST_DIR "/golden/tracto/csd.txt");
  std::vector<float> signal;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    std::vector<double> n;
    for (double number = 0; words >> number;) n.push_back(number);
    if (word == "response") out.response = {{n[0], n[1], n[1]}, n[2], 0};
    if (word == "weighted") {
      out.b.push_back(n[0]);
      out.weighted.push_back({n[1], n[2], n[3]});
    }
    if (word == "constraint") out.constraint.push_back({n[0], n[1], n[2]});
    if (word == "voxel") signal.assign(n.begin() + 3, n.end());
    if (word == "order") out.fits.push_back({signal, static_cast<std::uint32_t>(n[0]), {n.begin() + 1, n.end()}});
  }
  return out;
}

TEST(GoldenCsd, WithDipysDirectionsCoefficientsAreDipys) {
  const GoldenCsd golden = read_golden();
  ASSERT_EQ(golden.fits.size(), 18u);
  ASSERT_EQ(golden.constraint.size(), 181u);
  for (const GoldenCsd::Fitted& fit : golden.fits) {
    CsdOptions how;
    how.order = fit.order;
    const auto csd = CsdFit::make(golden.b, golden.weighted, golden.response, golden.constraint, how);
    ASSERT_TRUE(csd) << csd.error().message();
    const std::vector<double> got = csd->fit(fit.signal);
    ASSERT_EQ(got.size(), fit.coefficients.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], fit.coefficients[i], 1e-9) << fit.order << ' ' << i;
  }
  // Golden rows as they are published, voxel (5, 5, 5).
  const double rows[3][6] = {{.234233, .166869, .099547, -.220064, .265777, .081575},
                             {.235155, .152675, .098061, -.188426, .215905, .083692},
                             {.235776, .144885, .094188, -.170873, .185167, .083901}};
  for (std::size_t l = 0; l < 3; ++l)
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(golden.fits[l].coefficients[i], rows[l][i], 6e-7);
}

}  // namespace
}  // namespace penstock::tracto
