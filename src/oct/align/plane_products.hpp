// Sums of products of the planes of two slices.
#pragma once
#include <vector>

#include "oct/walk/walk.hpp"

namespace penstock::oct {

/// Sums over pixels of `planes` planes of each of two slices.
struct PlaneSumsOfTwo {
  std::uint64_t planes = 0;
  std::vector<double> a, aa, b, bb;  ///< of each plane: of its elements, of their squares
  std::vector<double> ab;            ///< (planes of a, planes of b): of products
  double pixels = 0;

  explicit PlaneSumsOfTwo(std::uint64_t planes_)
      : planes(planes_), a(planes), aa(planes), b(planes), bb(planes), ab(planes * planes) {}
  /// Mean product of the last `o` planes of a with the first `o` of b, each plane with mean 0 and deviation 1.
  [[nodiscard]] double score_by_plane(std::uint64_t o) const;
  /// The same where all `o` planes together have mean 0 and deviation 1: what grows dark with depth counts, too.
  [[nodiscard]] double score_as_one(std::uint64_t o) const;
};

/// Adds what boxes hold up, where a step works.
class ProductAdder {
 public:
  ProductAdder(PlaneSumsOfTwo& sums, bool on_device) : sums_(sums), on_device_(on_device) {}
  /// Sums on a device begin at 0.
  Status begin(const Workspace& work);
  /// `box`: the planes of a, then those of b; any strides between rows.
  Status add(const TensorView& box, const Workspace& work);
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint64_t pixels) const;
  /// What a device has summed up is in the sums.
  Status end(const Workspace& work);

 private:
  Status add_on_host(const float* a, const float* b, std::uint64_t pixels, const Workspace& work);
  Status add_on_device(const float* a, const float* b, std::uint64_t pixels, const Workspace& work);
  PlaneSumsOfTwo& sums_;
  bool on_device_;
  Numbers<double> there_;  ///< ab, a, aa, b, bb
};

}  // namespace penstock::oct
