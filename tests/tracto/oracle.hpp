// A plain tracker in double precision, written from the formulas, without a Team: what each step is compared with.
// Of the library it takes the sphere, the spherical harmonics, the field's numbers and the random words.
#pragma once
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "tracto/fields.hpp"
#include "tracto/sh/basis.hpp"

namespace penstock::tracto {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

struct OracleState {
  Vector3d t, n1, n2;  ///< only t, but for parallel transport
};

class Oracle {
 public:
  Oracle(const HostField& field, TrackMethod method) : f_(field), method_(method) {
    const TrackParams& t = f_.params;
    for (std::uint32_t i = 0; i < t.directions; ++i)
      v_.emplace_back(f_.vertices[i], f_.vertices[t.stride + i], f_.vertices[2 * t.stride + i]);
  }
  virtual ~Oracle() = default;

  /// Points of the streamline from `seed` along peak number `peak`, as the file has them; in voxels.
  std::vector<Vector3d> streamline(const Vector3d& seed, std::uint64_t number, std::uint32_t peak) {
    const DrawKey begin = {{0, 0}, number, 0, kBeginHalf};
    const std::vector<std::size_t> peaks = peaks_of(start_amplitudes(seed, begin));
    if (peak >= peaks.size()) return {};
    DrawKey key = {{0, 0}, number, peak, 0};
    std::vector<Vector3d> out = {seed};
    OracleState state{v_[peaks[peak]], {}, {}};
    if (!set_out(state, seed, key)) return out;
    half(seed, state, key, f_.params.max_points - 1, out);
    std::reverse(out.begin(), out.end());
    state.t = -state.t;
    state.n1 = -state.n1;
    key.half = 1;
    half(seed, state, key, f_.params.max_points - out.size(), out);
    std::reverse(out.begin(), out.end());
    return out;
  }

 protected:
  [[nodiscard]] bool in_volume(const Vector3d& p) const {
    for (int d = 0; d < 3; ++d)
      if (p[d] < -0.5 || p[d] >= f_.params.dims[d] - 0.5) return false;
    return true;
  }
  /// Trilinear; `at(voxel)` is a number or a vector.
  template <class At>
  auto interpolate(const Vector3d& p, const At& at) const {
    decltype(at(0)) sum = at(0) * 0.0;
    for (int k = 0; k < 8; ++k) {
      double part = 1;
      std::size_t voxel = 0, stride = 1;
      for (int d = 0; d < 3; ++d) {
        const double low = std::floor(p[d]), w = p[d] - low, last = f_.params.dims[d] - 1.0;
        part *= (k >> d & 1) != 0 ? w : 1 - w;
        voxel += stride * static_cast<std::size_t>(std::min(std::max(low + (k >> d & 1), 0.0), last));
        stride *= f_.params.dims[d];
      }
      sum = sum + at(voxel) * part;
    }
    return sum;
  }
  [[nodiscard]] VectorXd amplitudes(const Vector3d& p) const {
    const TrackParams& t = f_.params;
    VectorXd a = interpolate(p, [&](std::size_t voxel) {
      VectorXd out = VectorXd::Zero(t.directions);
      const std::int32_t row = f_.row[voxel];
      for (std::uint32_t i = 0; row >= 0 && i < t.directions; ++i)
        out[i] = f_.pmf[static_cast<std::size_t>(row) * t.stride + i] * static_cast<double>(f_.scale[row]);
      return out;
    });
    return strong(a);
  }
  [[nodiscard]] VectorXd strong(VectorXd a) const {
    a = a.cwiseMax(0);
    const double least = static_cast<double>(f_.params.pmf_threshold) * a.maxCoeff();
    for (double& x : a)
      if (x < least) x = 0;
    return a;
  }
  [[nodiscard]] std::vector<std::size_t> peaks_of(const VectorXd& a) const {
    const TrackParams& t = f_.params;
    std::vector<std::size_t> tops, out;
    for (std::size_t i = 0; i < t.directions; ++i) {
      bool highest = true, above = false;
      for (std::size_t k = 0; k < kNeighbourSlots; ++k) {
        const std::size_t other = f_.neighbours[i * kNeighbourSlots + k];
        if (other == kNoNeighbour) break;
        highest = highest && a[i] >= a[other];
        above = above || a[i] > a[other];
      }
      if (highest && above) tops.push_back(i);
    }
    std::ranges::stable_sort(tops, [&](std::size_t x, std::size_t y) { return a[x] > a[y]; });
    if (tops.empty()) return out;
    const double low = std::max(0.0, a.minCoeff()), least = t.relative_peak * (a[tops[0]] - low);
    for (const std::size_t i : tops) {
      if (a[i] - low < least || out.size() == t.max_peaks) break;
      const bool far = std::ranges::all_of(
          out, [&](std::size_t o) { return std::abs(v_[i].dot(v_[o])) <= static_cast<double>(t.cos_separation); });
      if (far) out.push_back(i);
    }
    return out;
  }
  /// The way along vertex i that goes on from `t`.
  [[nodiscard]] Vector3d onward(std::size_t i, const Vector3d& t) const { return v_[i].dot(t) < 0 ? -v_[i] : v_[i]; }
  [[nodiscard]] std::optional<Vector3d> closest(const std::vector<std::size_t>& peaks, const Vector3d& t) const {
    double best = -1;
    std::size_t chosen = 0;
    for (const std::size_t i : peaks)
      if (std::abs(v_[i].dot(t)) > best) {
        best = std::abs(v_[i].dot(t));
        chosen = i;
      }
    if (best < static_cast<double>(f_.params.cos_max_angle)) return {};
    return onward(chosen, t);
  }

  virtual VectorXd start_amplitudes(const Vector3d& seed, const DrawKey&) { return amplitudes(seed); }
  virtual bool set_out(OracleState&, const Vector3d&, const DrawKey&) { return true; }
  /// The next state, and where the point goes (unit).
  virtual bool next(const Vector3d& p, OracleState& s, Vector3d& moved, const DrawKey& key, std::uint32_t step) {
    VectorXd a = amplitudes(p);
    if (method_ == TrackMethod::closest) {
      const auto to = closest(peaks_of(a), s.t);
      if (!to) return false;
      moved = s.t = *to;
      return true;
    }
    for (std::size_t i = 0; i < v_.size(); ++i)
      if (std::abs(v_[i].dot(s.t)) < static_cast<double>(f_.params.cos_max_angle)) a[i] = 0;
    if (!(a.maxCoeff() > 0)) return false;
    Eigen::Index chosen = 0;
    if (method_ == TrackMethod::det) {
      a.maxCoeff(&chosen);
    } else {
      const double u = draw(key, step, 0).word[0] / 4294967296.0 * a.sum();
      for (double up_to = a[0]; up_to <= u; up_to += a[chosen]) ++chosen;
    }
    moved = s.t = onward(static_cast<std::size_t>(chosen), s.t);
    return true;
  }

  const HostField& f_;
  TrackMethod method_;
  std::vector<Vector3d> v_;

 private:
  void half(Vector3d p, OracleState s, const DrawKey& key, std::size_t most, std::vector<Vector3d>& out) {
    const TrackParams& t = f_.params;
    for (std::uint32_t step = 0; step < most * t.substeps; ++step) {
      Vector3d moved;
      if (!next(p, s, moved, key, step)) return;
      for (int d = 0; d < 3; ++d) p[d] += moved[d] * static_cast<double>(t.step_voxel[d]);
      if (!in_volume(p)) return;
      const double stop = interpolate(p, [&](std::size_t v) { return static_cast<double>(f_.stop[v]); });
      if (!(stop > static_cast<double>(t.stop_below))) return;
      if ((step + 1) % t.substeps == 0) out.push_back(p);
    }
  }
};

/// The bootstrap with its matrices written out: H and R of n x n, the models by their definitions.
class BootOracle : public Oracle {
 public:
  BootOracle(const HostField& field, const PhantomData& data, const ModelPlan& plan, double smooth)
      : Oracle(field, TrackMethod::boot), data_(data), plan_(plan) {
    const MatrixXd b = sh_matrix(shell_directions(data.gradients, plan), plan.order);
    const auto n = b.rows();
    hat_ = b * (b.transpose() * b).inverse() * b.transpose();
    residual_ = MatrixXd::Identity(n, n) - hat_;
    for (Eigen::Index i = 0; i < n; ++i) residual_.row(i) /= std::sqrt(1 - hat_(i, i));
    residual_.rowwise() -= residual_.colwise().mean().eval();
    VectorXd l2(b.cols());
    funk_.resize(b.cols());
    laplace_.resize(b.cols());
    constexpr double kAtZero[] = {1, -1.0 / 2, 3.0 / 8, -5.0 / 16, 35.0 / 128, -63.0 / 256, 231.0 / 1024};
    for (Eigen::Index i = 0; i < b.cols(); ++i) {
      const double l = sh_degree(static_cast<std::uint32_t>(i));
      laplace_[i] = -l * (l + 1);
      l2[i] = smooth * laplace_[i] * laplace_[i];
      funk_[i] = kAtZero[static_cast<std::size_t>(l) / 2];
    }
    inverse_ = (b.transpose() * b + MatrixXd(l2.asDiagonal())).inverse() * b.transpose();
    sampling_.resize(static_cast<Eigen::Index>(v_.size()), b.cols());
    std::vector<Direction> vertices;
    for (const Vector3d& v : v_) vertices.push_back({v[0], v[1], v[2]});
    sampling_ = sh_matrix(vertices, plan.order);
  }
  [[nodiscard]] const MatrixXd& hat() const { return hat_; }
  [[nodiscard]] const MatrixXd& residual() const { return residual_; }

 protected:
  VectorXd start_amplitudes(const Vector3d& seed, const DrawKey& key) override {
    const VectorXd d = signal(seed);
    return model(f_.params.boot.retry != 0 ? shuffled(d, key, 0, 0) : d, unweighted(seed));
  }
  bool next(const Vector3d& p, OracleState& s, Vector3d& moved, const DrawKey& key, std::uint32_t step) override {
    const VectorXd d = signal(p);
    for (std::uint32_t attempt = 0; attempt < 5; ++attempt) {
      const auto peaks = peaks_of(model(shuffled(d, key, step, attempt), unweighted(p)));
      const auto to = closest(peaks, s.t);
      if (!to && (peaks.empty() || f_.params.boot.retry != 0)) continue;
      if (!to) return false;
      moved = s.t = *to;
      return true;
    }
    return false;
  }

 private:
  [[nodiscard]] VectorXd signal(const Vector3d& p) const {
    return interpolate(p, [&](std::size_t voxel) {
      VectorXd d(plan_.shell.volumes.size());
      for (Eigen::Index i = 0; i < d.size(); ++i)
        d[i] = data_.volume.data[voxel * data_.volume.volumes + plan_.shell.volumes[static_cast<std::size_t>(i)]];
      return d;
    });
  }
  [[nodiscard]] double unweighted(const Vector3d& p) const {
    return interpolate(p, [&](std::size_t voxel) {
      double sum = 0, n = 0;
      for (std::size_t t = 0; t < data_.gradients.size(); ++t) {
        if (!data_.gradients.unweighted[t]) continue;
        sum += std::max(1.0, static_cast<double>(data_.volume.data[voxel * data_.volume.volumes + t]));
        n += 1;
      }
      return static_cast<double>(static_cast<float>(sum / n));
    });
  }
  [[nodiscard]] VectorXd shuffled(const VectorXd& d, const DrawKey& key, std::uint32_t step,
                                  std::uint32_t attempt) const {
    const VectorXd fitted = hat_ * d, r = residual_ * d;
    VectorXd out(d.size());
    const auto n = static_cast<std::uint32_t>(d.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t word = draw(key, step, attempt * ((n + 3) / 4) + i / 4).word[i % 4];
      out[i] = fitted[i] + r[static_cast<Eigen::Index>(std::uint64_t{word} * n >> 32)];
    }
    return out;
  }
  [[nodiscard]] VectorXd model(const VectorXd& d, double b0) const {
    const VectorXd e = d.cwiseMax(1.0) / std::max(b0, 1.0);
    VectorXd c;
    if (plan_.model == DwiModel::opdt) {
      const VectorXd l = -e.array().log();
      c = (4 * funk_).asDiagonal() * inverse_ * VectorXd(l.array() * (1.5 - l.array()) * e.array());
      c -= funk_.cwiseProduct(laplace_).asDiagonal() * inverse_ * e;
    } else {
      const VectorXd l = (-(e.cwiseMax(0.001).cwiseMin(0.999).array().log())).log();
      c = (funk_.cwiseProduct(laplace_) / (8 * std::numbers::pi)).asDiagonal() * inverse_ * l;
      c[0] = 1 / (2 * std::sqrt(std::numbers::pi));
    }
    return strong(sampling_ * c);
  }

  const PhantomData& data_;
  const ModelPlan& plan_;
  MatrixXd hat_, residual_, inverse_, sampling_;
  VectorXd funk_, laplace_;
};

/// Parallel transport by its propagator.
class PttOracle : public Oracle {
 public:
  explicit PttOracle(const HostField& field) : Oracle(field, TrackMethod::ptt) {}

  /// The frame after an arc, and the displacement in mm.
  static Vector3d propagate(OracleState& s, double k1, double k2, double length) {
    const double k = std::hypot(k1, k2), c = std::cos(k * length), si = std::sin(k * length);
    if (k < 1e-4) return length * s.t;
    const OracleState f = s;
    const Vector3d moved = si / k * f.t + k1 * (1 - c) / (k * k) * f.n1 + k2 * (1 - c) / (k * k) * f.n2;
    s.t = c * f.t + k1 * si / k * f.n1 + k2 * si / k * f.n2;
    s.n2 = -k2 * si / k * f.t + k1 * k2 * (c - 1) / (k * k) * f.n1 + (k1 * k1 + k2 * k2 * c) / (k * k) * f.n2;
    s.t.normalize();
    s.n1 = s.n2.cross(s.t);
    s.n2 = s.t.cross(s.n1);
    return moved;
  }
  [[nodiscard]] double support(Vector3d p, OracleState s, double k1, double k2) const {
    const ProbeParams& probe = f_.params.probe;
    double sum = 0;
    for (std::uint32_t i = 0; i < probe.quality; ++i) {
      if (i > 0) p += in_voxels(propagate(s, k1, k2, static_cast<double>(probe.step_mm)));
      for (std::uint32_t a = 0; a < probe.count; ++a) {
        const double angle = 2 * std::numbers::pi * a / probe.count;
        const Vector3d aside = static_cast<double>(probe.radius_mm) * (std::cos(angle) * s.n1 + std::sin(angle) * s.n2);
        sum += amplitude(probe.count > 1 ? Vector3d(p + in_voxels(aside)) : p, s.t);
      }
    }
    const double mean = sum / (probe.quality * probe.count);
    return mean >= static_cast<double>(f_.params.pmf_threshold) ? mean : 0;
  }
  /// The mean of the curvatures towards n1 that are drawn at `p`: each triangle's is that of its middle.
  [[nodiscard]] double mean_curvature(const Vector3d& p, const OracleState& s) const {
    const double k = f_.params.probe.max_curvature;
    const std::vector<double> weights = triangle_weights(p, s);
    double sum = 0, total = 0;
    for (std::size_t i = 0; i < kDiscTriangles; ++i) {
      for (std::size_t c = 0; c < 3; ++c) sum += weights[i] * k * f_.disc[f_.triangle[3 * i + c]] / 3;
      total += weights[i];
    }
    return total > 0 ? sum / total : 0;
  }

 protected:
  bool set_out(OracleState& s, const Vector3d& seed, const DrawKey& key) override {
    const Vector3d along = s.t;
    for (std::uint32_t way = 0; way < 2; ++way)
      for (std::uint32_t round = 0; round < kPttRounds; ++round) {
        double best = 0;
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
          const Philox r = draw({{0, 0}, key.seed_number, key.peak, kBeginHalf}, way, round * 32 + lane);
          const OracleState tried = turned_frame(way == 0 ? along : -along, 2 * std::numbers::pi * unit(r.word[0]));
          const double k = f_.params.probe.max_curvature * std::sqrt(unit(r.word[2]));
          const double angle = 2 * std::numbers::pi * unit(r.word[1]);
          const double found = support(seed, tried, k * std::cos(angle), k * std::sin(angle));
          if (found <= best) continue;
          best = found;
          s = tried;
        }
        if (best > 0) return true;
      }
    return false;
  }
  bool next(const Vector3d& p, OracleState& s, Vector3d& moved, const DrawKey& key, std::uint32_t step) override {
    const double k = f_.params.probe.max_curvature;
    std::vector<double> up_to;
    double total = 0;
    for (const double weight : triangle_weights(p, s)) up_to.push_back(total += weight);
    if (!(total > 0)) return false;
    for (std::uint32_t attempt = 0; attempt < 32 * kPttRounds; ++attempt) {
      const Philox r = draw(key, step, attempt);
      std::size_t chosen = 0;
      while (up_to[chosen] <= r.word[0] / 4294967296.0 * total) ++chosen;
      double u = unit(r.word[1]), v = unit(r.word[2]);
      if (u + v > 1) u = 1 - u, v = 1 - v;
      double k1 = 0, k2 = 0;
      const double part[3] = {1 - u - v, u, v};
      for (std::size_t i = 0; i < 3; ++i) {
        k1 += k * part[i] * f_.disc[f_.triangle[3 * chosen + i]];
        k2 += k * part[i] * f_.disc[kDiscPoints + f_.triangle[3 * chosen + i]];
      }
      if (!(support(p, s, k1, k2) > 0)) continue;
      moved = propagate(s, k1, k2, f_.params.step_voxel[0] / static_cast<double>(f_.params.probe.voxel_per_mm[0]));
      moved.normalize();
      return true;
    }
    return false;
  }

 private:
  /// Areas times the mean support of their corners, 0 where one has none.
  [[nodiscard]] std::vector<double> triangle_weights(const Vector3d& p, const OracleState& s) const {
    const double k = f_.params.probe.max_curvature;
    std::vector<double> at(kDiscPoints), out;
    for (std::size_t i = 0; i < kDiscPoints; ++i) at[i] = support(p, s, k * f_.disc[i], k * f_.disc[kDiscPoints + i]);
    for (std::size_t i = 0; i < kDiscTriangles; ++i) {
      const std::uint16_t* c = f_.triangle.data() + 3 * i;
      const bool all = at[c[0]] > 0 && at[c[1]] > 0 && at[c[2]] > 0;
      out.push_back(all ? (at[c[0]] + at[c[1]] + at[c[2]]) * static_cast<double>(f_.disc[2 * kDiscPoints + i]) : 0);
    }
    return out;
  }
  static double unit(std::uint32_t word) { return (word >> 8) / 16777216.0; }
  [[nodiscard]] Vector3d in_voxels(const Vector3d& mm) const {
    Vector3d out;
    for (int d = 0; d < 3; ++d) out[d] = mm[d] * static_cast<double>(f_.params.probe.voxel_per_mm[d]);
    return out;
  }
  static OracleState turned_frame(const Vector3d& t, double angle) {
    Eigen::Index least = 0;
    t.cwiseAbs().minCoeff(&least);
    const Vector3d a = t.cross(Vector3d::Unit(least)).normalized(), b = t.cross(a);
    OracleState s{t, std::cos(angle) * a + std::sin(angle) * b, {}};
    s.n2 = t.cross(s.n1);
    return s;
  }
  /// As the library: the direction nearest to the middle of a cell.
  [[nodiscard]] double amplitude(const Vector3d& p, const Vector3d& d) const {
    if (!in_volume(p)) return 0;
    const std::size_t i =
        f_.nearest[cell_of({static_cast<float>(d[0]), static_cast<float>(d[1]), static_cast<float>(d[2])})];
    return interpolate(p,
                       [&](std::size_t voxel) {
                         const std::int32_t row = f_.row[voxel];
                         return row < 0 ? 0.0
                                        : double{f_.pmf[static_cast<std::size_t>(row) * f_.params.stride + i] * 1.0};
                       }) /
           65535;
  }
};

}  // namespace penstock::tracto
