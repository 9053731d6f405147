// Every step beside the plain tracker in double precision (oracle.hpp), on a phantom with noise.
#include "tracto/oracle.hpp"

#include <gtest/gtest.h>

#include <random>

namespace penstock::tracto {
namespace {

testing::Phantom phantom() {
  testing::Phantom p = testing::crossing_phantom();
  p.noise = 30;
  return p;
}

struct Compared {
  std::size_t lines = 0, same = 0;
  double points = 0, oracle_points = 0;
};

/// Streamlines that have as many points, each within 0.01 voxels.
Compared compare(const HostField& field, Oracle& oracle, std::uint64_t seeds) {
  Compared out;
  const Streamlines all = tracked(field, 0, seeds);
  std::size_t at = 0;
  std::uint32_t peak = 0;
  for (std::size_t i = 0; i < all.lengths.size(); ++i) {
    peak = i > 0 && all.seeds[i] == all.seeds[i - 1] ? peak + 1 : 0;
    const Vec3 seed = seed_point(field.seed_params, field.seed_list.data(), all.seeds[i]);
    const auto want = oracle.streamline(Vector3d(seed.x, seed.y, seed.z), all.seeds[i], peak);
    bool same = want.size() == all.lengths[i];
    for (std::size_t k = 0; same && k < want.size(); ++k) {
      const Vec3 p = all.points[at + k];
      same = (Vector3d(p.x, p.y, p.z) - want[k]).norm() < 0.01;
    }
    ++out.lines;
    out.same += same ? 1 : 0;
    out.points += all.lengths[i];
    out.oracle_points += static_cast<double>(want.size());
    at += all.lengths[i];
  }
  return out;
}

/// Points of the field are voxels, and every streamline counts.
HostField in_voxels(HostField field) {
  for (std::size_t i = 0; i < 12; ++i) field.params.world_from_voxel[i] = i % 5 == 0 ? 1.0f : 0.0f;
  field.min_points = 1;
  return field;
}

TrackOptions options(TrackMethod method) {
  TrackOptions how;
  how.method = method;
  how.sphere = 181;
  how.seeds = 1;  // at random voxels
  how.max_length_mm = 60;
  return how;
}

void expect_same(const Compared& c, double part) {
  EXPECT_GT(c.lines, 50u);
  EXPECT_GE(static_cast<double>(c.same), part * static_cast<double>(c.lines)) << c.same << " of " << c.lines;
  EXPECT_NEAR(c.points / c.oracle_points, 1, 0.02);
}

class Amplitudes : public ::testing::TestWithParam<TrackMethod> {};
TEST_P(Amplitudes, AreTrackedAsTheOracleDoes) {
  const PhantomData data(phantom());
  const HostField field = in_voxels(phantom_field(data, options(GetParam())));
  Oracle oracle(field, GetParam());
  expect_same(compare(field, oracle, 150), 0.98);
}
INSTANTIATE_TEST_SUITE_P(Steps, Amplitudes,
                         ::testing::Values(TrackMethod::prob, TrackMethod::det, TrackMethod::closest));

struct BootCase {
  DwiModel model;
  std::uint32_t order;
  bool retry;
};
class Bootstrap : public ::testing::TestWithParam<BootCase> {};
TEST_P(Bootstrap, IsTrackedAsTheOracleDoes) {
  const PhantomData data(phantom());
  TrackOptions how = options(TrackMethod::boot);
  how.model = GetParam().model;
  how.sh_order = GetParam().order;
  how.boot_retry = GetParam().retry;
  how.stop_below = 0.2;
  const ModelPlan plan = plan_model(data.gradients, how, *how.model).value();
  const HostField field = in_voxels(phantom_field(data, how));
  BootOracle oracle(field, data, plan, how.smooth);
  expect_same(compare(field, oracle, 80), 0.95);
}
INSTANTIATE_TEST_SUITE_P(Models, Bootstrap,
                         ::testing::Values(BootCase{DwiModel::opdt, 4, false}, BootCase{DwiModel::opdt, 6, true},
                                           BootCase{DwiModel::csa, 4, false}));

TEST(BootOracle, MatricesAreThoseOfALeastSquaresFit) {
  const PhantomData data(phantom());
  TrackOptions how = options(TrackMethod::boot);
  for (const std::uint32_t order : {4u, 6u, 8u}) {
    how.sh_order = order;
    const ModelPlan plan = plan_model(data.gradients, how, DwiModel::opdt).value();
    const HostField field = phantom_field(data, how);
    const BootOracle oracle(field, data, plan, how.smooth);
    EXPECT_NEAR(oracle.hat().trace(), sh_count(order), 1e-8);
    EXPECT_LT(oracle.residual().colwise().mean().cwiseAbs().maxCoeff(), 1e-12);
  }
}

class Transport : public ::testing::TestWithParam<std::uint32_t> {};
TEST_P(Transport, IsTrackedAsTheOracleDoes) {
  const PhantomData data(phantom());
  TrackOptions how = options(TrackMethod::ptt);
  how.substeps = 5;
  how.probe_count = GetParam();
  how.stop_below = 0.2;
  const HostField field = in_voxels(phantom_field(data, how));
  PttOracle oracle(field);
  expect_same(compare(field, oracle, 40), 0.9);
}
INSTANTIATE_TEST_SUITE_P(Probes, Transport, ::testing::Values(1u, 4u));

TEST(Arc, IsThePropagatorsArc) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> any(-2, 2);
  for (int i = 0; i < 200; ++i) {
    const double k1 = any(random), k2 = any(random), length = 0.3;
    Frame f = frame_about({0.6f, 0, 0.8f}, static_cast<float>(any(random)));
    const auto v = [](const Vec3& a) { return Vector3d(a.x, a.y, a.z); };
    OracleState s{v(f.t), v(f.n1), v(f.n2)};
    const Vec3 moved = move_along(f, arc_along(curve_of(static_cast<float>(k1), static_cast<float>(k2)), 0.3f));
    const Vector3d want = PttOracle::propagate(s, k1, k2, length);
    EXPECT_LT((v(moved) - want).norm(), 1e-6);
    EXPECT_LT((v(f.t) - s.t).norm(), 2e-6);
    EXPECT_LT((v(f.n1) - s.n1).norm(), 4e-6);
    EXPECT_LT((v(f.n2) - s.n2).norm(), 4e-6);
  }
}

TEST(Math, LogarithmSineAndCosineAreExactEnough) {
  for (float x = 1e-6f; x < 1e6f; x *= 1.01f)
    EXPECT_NEAR(log_of(x), std::log(static_cast<double>(x)),
                2e-7 * std::max(1.0, std::abs(std::log(static_cast<double>(x)))))
        << x;
  for (float x = -20; x < 20; x += 0.01f) {
    EXPECT_NEAR(sin_cos(x).sine, std::sin(static_cast<double>(x)), 3e-7) << x;
    EXPECT_NEAR(sin_cos(x).cosine, std::cos(static_cast<double>(x)), 3e-7) << x;
  }
}

TEST(Nearest, IsTheNearestDirectionButForACell) {
  TrackOptions how = options(TrackMethod::ptt);
  const HostField f = phantom_field(PhantomData(phantom()), how);
  std::mt19937 random(5);
  std::normal_distribution<float> any;
  for (int i = 0; i < 5000; ++i) {
    const Vec3 d = normalized({any(random), any(random), any(random)});
    float best = 0;
    for (std::uint32_t k = 0; k < f.params.directions; ++k)
      best = std::max(best, absolute(dot(vertex(f.params, f.buffers(), k), d)));
    const float found = absolute(dot(vertex(f.params, f.buffers(), f.nearest[cell_of(d)]), d));
    EXPECT_LT(std::acos(std::min(found, 1.0f)) - std::acos(std::min(best, 1.0f)), 0.045f);
    EXPECT_EQ(cell_of(d), cell_of(negated(d)));
  }
}

}  // namespace
}  // namespace penstock::tracto
