// Diffusion volumes that are made: bundles of one tensor each, as NIfTI with gradients beside it.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace penstock::testing {

using Point3 = std::array<double, 3>;

struct Phantom {
  std::array<int, 3> dims = {12, 12, 6};
  std::array<double, 12> world_from_voxel = {2, 0, 0, -10, 0, 2, 0, 5, 0, 0, 2, 1};
  double b = 2000;
  int directions = 64;
  double noise = 0;  ///< standard deviation of what is added; the signal without weighting is 1000
  /// The fibres of a voxel, each a unit vector; none: isotropic.
  std::function<std::vector<Point3>(int x, int y, int z)> fibres;

  [[nodiscard]] std::vector<Point3> gradients() const {
    std::vector<Point3> out = {{0, 0, 0}};
    for (int i = 0; i < directions; ++i) {
      const double z = (i + 0.5) / directions, r = std::sqrt(1 - z * z), phi = 2.399963229728653 * i;
      out.push_back({r * std::cos(phi), r * std::sin(phi), z});
    }
    return out;
  }
  /// Volume t of voxel v at [v * volumes + t], x fastest among voxels.
  [[nodiscard]] std::vector<std::int16_t> signal() const {
    const std::vector<Point3> g = gradients();
    std::vector<std::int16_t> out;
    std::mt19937 random(1);
    const auto normal = [&] {  // of twelve uniform numbers, the same on every machine
      double sum = -6;
      for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
      return sum;
    };
    for (int z = 0; z < dims[2]; ++z)
      for (int y = 0; y < dims[1]; ++y)
        for (int x = 0; x < dims[0]; ++x) {
          const std::vector<Point3> here = fibres(x, y, z);
          for (std::size_t t = 0; t < g.size(); ++t) {
            double s = here.empty() ? std::exp(-(t == 0 ? 0 : b) * 0.9e-3) : 0;
            for (const Point3& d : here) {
              const double dot = d[0] * g[t][0] + d[1] * g[t][1] + d[2] * g[t][2];
              s += std::exp(-(t == 0 ? 0 : b) * (0.3e-3 + 1.4e-3 * dot * dot)) / static_cast<double>(here.size());
            }
            if (noise > 0) s = std::max(0.0, s + noise / 1000 * normal());
            out.push_back(static_cast<std::int16_t>(std::lround(1000 * s)));
          }
        }
    return out;
  }
  /// NAME.nii, NAME.bval, NAME.bvec.
  void write(const std::filesystem::path& name) const {
    std::vector<char> head(352, 0);
    const auto put = [&](std::size_t at, auto value) { std::memcpy(head.data() + at, &value, sizeof value); };
    put(0, std::int32_t{348});
    put(40, std::int16_t{4});
    for (std::size_t d = 0; d < 3; ++d) put(42 + 2 * d, static_cast<std::int16_t>(dims[d]));
    put(48, static_cast<std::int16_t>(directions + 1));
    put(70, std::int16_t{4});
    put(72, std::int16_t{16});
    for (std::size_t d = 0; d < 5; ++d) put(76 + 4 * d, 1.0f);
    put(108, 352.0f);
    put(254, std::int16_t{1});
    for (std::size_t i = 0; i < 12; ++i) put(280 + 4 * i, static_cast<float>(world_from_voxel[i]));
    std::memcpy(head.data() + 344, "n+1", 4);
    std::ofstream file(name.string() + ".nii", std::ios::binary);
    file.write(head.data(), static_cast<std::streamsize>(head.size()));
    const std::vector<std::int16_t> all = signal();
    const auto volumes = static_cast<std::size_t>(directions + 1);
    for (std::size_t t = 0; t < volumes; ++t)
      for (std::size_t v = 0; v < all.size() / volumes; ++v)
        file.write(reinterpret_cast<const char*>(&all[v * volumes + t]), sizeof(std::int16_t));
    std::ofstream bval(name.string() + ".bval"), bvec(name.string() + ".bvec");
    bvec.precision(17);
    for (const Point3& g : gradients()) {
      const bool weighted = g != Point3{0, 0, 0};
      bval << (weighted ? b : 0) << ' ';
      bvec << g[0] << ' ' << g[1] << ' ' << g[2] << '\n';
    }
    bval << '\n';
  }
};

/// A bundle along x and one along y that cross in the middle.
inline Phantom crossing_phantom() {
  Phantom p;
  p.fibres = [](int x, int y, int z) {
    std::vector<Point3> out;
    if (z < 1 || z > 4) return out;
    if (y >= 4 && y <= 7) out.push_back({1, 0, 0});
    if (x >= 4 && x <= 7) out.push_back({0, 1, 0});
    return out;
  };
  return p;
}

}  // namespace penstock::testing
