// Fits of a voxel give the same bits on every executor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "device/teams.hpp"
#include "tracto/fields.hpp"
#include "tracto/fit/voxels.hpp"
#include "tracto/sh/basis.hpp"

namespace penstock::tracto {
namespace {

struct Fitted {
  std::vector<double> tensor;
  std::vector<float> sh, scale;
  std::vector<std::uint16_t> pmf;
  bool operator==(const Fitted&) const = default;
};

/// Signals of a noisy phantom, and voxels whose signals are 0, NaN or huge.
PhantomData noisy_phantom() {
  testing::Phantom phantom = testing::crossing_phantom();
  phantom.dims = {6, 6, 3};
  phantom.noise = 30;
  PhantomData data(phantom);
  for (std::uint64_t t = 0; t < data.volume.volumes; ++t) {
    data.volume.data[t] = 0;
    data.volume.data[data.volume.volumes + t] = std::nanf("");
    data.volume.data[2 * data.volume.volumes + t] = 3e38f;
  }
  return data;
}

/// All fits of a phantom's voxels; run(fit, n, scratch, room) runs them.
template <class Run>
Fitted fit_all(const PhantomData& data, DwiModel model, TensorMethod method, const Run& run) {
  Fitted out;
  const std::uint64_t n = data.volume.voxels();
  TrackOptions how;
  how.model = model;
  how.sh_order = 6;
  const ModelPlan plan = plan_model(data.gradients, how, model).value();
  FitTables tables = model_tables(data.gradients, plan, {{1.7e-3, 0.3e-3, 0.3e-3}, 1000, 1}, how).value();
  const auto sphere = repulsion_sphere(100);
  const Eigen::MatrixXd sampling = sh_matrix(sphere->vertices, plan.order);
  tables.sampling.assign(sampling.data(), sampling.data() + sampling.size());
  tables.params.directions = 100;
  tables.params.stride = 128;
  out.tensor.resize(12 * n);
  out.sh.resize(n * tables.params.coefficients);
  out.pmf.resize(n * tables.params.stride);
  out.scale.resize(n);
  const FitVoxels voxels = {data.volume.data.data(), nullptr,        out.tensor.data(),
                            out.sh.data(),           out.pmf.data(), out.scale.data()};
  const TensorFit tensor(data.gradients, method);
  FitScratch<kSmallFit> scratch;
  std::vector<double> room(std::max(fit_room(tables.params), fit_room(tensor.tables().params)));
  const TensorVoxels tensors{tensor.tables().params, tensor.tables().buffers(), voxels};
  const HarmonicVoxels harmonics{tables.params, tables.buffers(), voxels};
  run(tensors, static_cast<std::uint32_t>(n), scratch, room.data());
  run(harmonics, static_cast<std::uint32_t>(n), scratch, room.data());
  return out;
}

template <class Team>
auto with_team(const Team& team) {
  return [&team](const auto& fit, std::uint32_t n, auto& scratch, double* room) {
    for (std::uint32_t i = 0; i < n; ++i) fit(team, i, scratch, room);
  };
}

struct FitTeams : ::testing::TestWithParam<DwiModel> {};

TEST_P(FitTeams, EveryExecutorGivesTheSameBits) {
  const PhantomData data = noisy_phantom();
  for (const TensorMethod method : {TensorMethod::wls, TensorMethod::ols}) {
    const Fitted host = fit_all(data, GetParam(), method, with_team(HostTeam<32>()));
    double largest = 0;
    for (const double e : host.tensor) largest = std::max(largest, std::abs(e));
    EXPECT_GT(largest, 0.5);
    for (const double e : host.tensor) ASSERT_TRUE(std::isfinite(e));
    for (const float f : host.sh) ASSERT_TRUE(std::isfinite(f));
    for (const std::uint32_t order : {1u, 2u, 77u})
      EXPECT_TRUE(fit_all(data, GetParam(), method, with_team(PermTeam<32>(order))) == host) << order;
    const Fitted fibres =
        fit_all(data, GetParam(), method, [](const auto& fit, std::uint32_t n, auto& scratch, double* room) {
          const auto warp = std::make_unique<FiberWarp<32>>();
          for (std::uint32_t i = 0; i < n; i += 11)
            EXPECT_EQ(warp->run([&](auto& fibre) { fit(FiberTeam<32>(fibre), i, scratch, room); }), "");
        });
    for (std::uint32_t i = 0; i < data.volume.voxels(); i += 11) {
      EXPECT_EQ(std::memcmp(&fibres.tensor[12 * i], &host.tensor[12 * i], 96), 0) << i;
      EXPECT_EQ(std::memcmp(&fibres.pmf[128 * i], &host.pmf[128 * i], 256), 0) << i;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Models, FitTeams, ::testing::Values(DwiModel::csd, DwiModel::csa, DwiModel::opdt));

TEST(FitMath, LogarithmAndPowerAreThoseOfTheLibrary) {
  for (double x = 1e-9; x < 1e9; x *= 1.37)
    EXPECT_NEAR(log_of(x), std::log(x), 4e-15 * std::max(1.0, std::abs(std::log(x)))) << x;
  for (double x = -300; x < 300; x += 0.73) EXPECT_NEAR(exp_of(x) / std::exp(x), 1, 1e-14) << x;
}

TEST(FitMath, EigenvaluesOfATensor) {
  double d[3][3] = {{2, 1, 0}, {1, 2, 0}, {0, 0, 5}};
  const Eigen3 e = eigen3(d);
  EXPECT_NEAR(e.value[0], 5, 1e-14);
  EXPECT_NEAR(e.value[1], 3, 1e-14);
  EXPECT_NEAR(e.value[2], 1, 1e-14);
  EXPECT_NEAR(std::abs(e.vector[1][0] + e.vector[1][1]), std::sqrt(2), 1e-14);
}

}  // namespace
}  // namespace penstock::tracto
