// The depth at which the tissue of a slice begins: one for the whole slice.
#pragma once
#include <optional>

#include "oct/file/volume.hpp"
#include "oct/work.hpp"

namespace penstock::oct {

/// How the interface is looked for.
struct InterfaceOptions {
  double sigma_xy = 3, sigma_z = 2;      ///< voxels
  std::optional<double> percentile_max;  ///< intensities above this percentile count as it
  bool logarithm = false;                ///< of what is above 0
};
/// The steepest rise along depth, in planes; fractions from the parabola through the three largest.
struct Interface {
  double depth = 0;
  std::uint64_t plane = 0;  ///< of the steepest rise; the first of equals
  bool no_rise = false;     ///< nothing rises as steeply as it falls: tissue begins above the first plane
};
/// Derivative of a Gaussian along depth, Gaussian across, summed over the columns that are bright enough (above the 5th
/// percentile of those that are above 0); band by band of rows, on the device.
Result<Interface> find_interface(const Volume& slice, const InterfaceOptions& how, Device device,
                                 const Options& options);

/// The parts of the search, of some rows at a time: of a band of a slice, or of a tile.
class RiseSearch {
 public:
  /// Errors: invalid_argument (sigmas).
  static Result<RiseSearch> make(const InterfaceOptions& how, std::uint64_t depth);
  [[nodiscard]] std::uint64_t pad_planes() const { return pad_; }
  /// Rows around a band that its filters reach.
  [[nodiscard]] std::uint64_t halo_rows() const { return halo_; }
  /// What is brighter counts as this.
  void limit(double intensity);
  /// Elements (pad_planes() + depth, rows, columns), packed, of which the first planes are filled here; they may
  /// change.  Sums the
  /// derivative of each plane over the columns that `bright` says (rows, columns).  Complete on return.
  [[nodiscard]] Result<std::vector<double>> rise(const Tensor& padded, const std::vector<std::uint8_t>& bright,
                                                 const Tools& tools) const;
  /// Of the sums over all.
  static Result<Interface> steepest(const std::vector<double>& rise);

 private:
  std::uint64_t depth_ = 0, pad_ = 0, halo_ = 0;
  bool logarithm_ = false;
  std::vector<OpCall> calls_;
};
/// The columns of a projection that are bright enough.
Result<std::vector<std::uint8_t>> bright_columns(const std::vector<float>& projection, const Options& options);

/// Where the parabola through a value and its two neighbours is highest; `at` itself at the ends.
double peak_near(const std::vector<double>& values, std::size_t at);

}  // namespace penstock::oct
