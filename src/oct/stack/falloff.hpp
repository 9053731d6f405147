// How fast slices grow dark with depth, from what neighbours share.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oct/stack/kernel.hpp"
#include "oct/walk/walk.hpp"

namespace penstock::oct {

/// Planes of all slices that the slice before shows too.
std::vector<stack::SharedPlane> shared_planes(std::span<const stack::SliceInStack> slices);

/// The same tissue deep in the upper slice and shallow in the lower: the logarithm of lower over upper brightness, by
/// the planes that one lies deeper than the other; the median of all planes, which agarose and a rough surface do not
/// move.  `sums`: of the upper and the lower plane, one after another.  At least 0; nullopt: nothing is shared.
std::optional<double> falloff_of(std::span<const stack::SharedPlane> planes, std::span<const double> sums);

/// Reads all slices (`source`: one after another along depth) once.  Errors: those of reading, budget_too_small.
Result<std::optional<double>> measure_falloff(const Source& source, std::span<const stack::SliceInStack> slices,
                                              Device device, const Options& options);

/// What planes 0, 1, ... of a slice are multiplied by; at most 100, beyond which there is nothing but noise.
std::vector<float> depth_gains(double falloff, std::uint64_t planes);

}  // namespace penstock::oct
