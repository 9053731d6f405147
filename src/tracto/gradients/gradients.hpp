// The gradients of a diffusion volume: b values and unit vectors.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/dataset.hpp"
#include "penstock/error.hpp"
#include "penstock/tracto.hpp"

namespace penstock::tracto {

struct Gradients {
  std::vector<double> b;                      ///< s/mm2
  std::vector<std::array<double, 3>> vector;  ///< unit; zero where unweighted
  std::vector<bool> unweighted;
  [[nodiscard]] std::size_t size() const { return b.size(); }
  [[nodiscard]] std::size_t weighted() const;
};

/// The numbers of the unweighted volumes.
std::vector<std::uint32_t> unweighted_volumes(const Gradients& gradients);

/// Numbers in rows.  Errors: invalid_metadata naming line and word.
Result<std::vector<std::vector<double>>> parse_rows(std::string_view text);
/// From the texts of a bval and a bvec file (3 x N or N x 3).  Vectors are taken as they are, in the axes of the
/// voxels, as DIPY does.  Those of unweighted volumes may be zero or NaN. Errors: invalid_metadata (numbers of volumes,
/// negative b, a vector that is not unit, nothing (un)weighted).
Result<Gradients> make_gradients(std::string_view bval, std::string_view bvec, std::uint64_t volumes,
                                 double b0_threshold);
/// Turns vectors that are given in `frame` into the axes of the voxels.
void to_voxel_axes(Gradients& gradients, GradientFrame frame, const Affine& world_from_voxel);
/// A small text file.  Errors: not_found, io_error, invalid_metadata (over 16 MiB).
Result<std::string> read_text(const std::string& path);

struct Shell {
  double b = 0;
  std::vector<std::size_t> volumes;
};
/// The weighted volumes by their b value rounded to two places, lowest first.
std::vector<Shell> shells(const Gradients& gradients);

}  // namespace penstock::tracto
