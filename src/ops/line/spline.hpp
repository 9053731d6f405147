// Spline coefficients along an axis, on the host's side.
#pragma once
#include <span>
#include <vector>

#include "ops/border.hpp"
#include "ops/isa.hpp"
#include "ops/line/line.hpp"
#include "ops/line/spline_kernel.hpp"
#include "ops/operator.hpp"

namespace penstock::line {

inline constexpr int kMaxSplineOrder = 5;

/// Poles of the filter of a spline of this order; none for 0 and 1, whose coefficients are the elements.
std::vector<double> spline_poles(int order);

/// How a line goes on beyond its ends: mirror, reflect or wrap.
enum class SplineBorder : std::uint8_t { mirror, reflect, wrap };
/// What scipy's prefilter takes for the mode of an interpolation or a filter.
SplineBorder spline_border(std::string_view mode);

/// Elements that a recursion begins with, for a line of n.
std::vector<Start<double>> forward_starts(double pole, std::uint64_t n, SplineBorder border);
std::vector<Start<double>> backward_starts(double pole, std::uint64_t n, SplineBorder border);

/// The coefficients of orders 2 and 3 as a sum of so many elements as float32 tells: what they are made by on a device.
Filter spline_sum(std::size_t axis, int order, SplineBorder border);

/// Coefficients along one axis.  `input` holds float32 or float64, which is computed in.
std::unique_ptr<Operator> make_spline(const ArrayInfo& input, std::size_t axis, int order, SplineBorder border);

/// Packed memory; in and out may be the same.
template <class C>
Status splines_on_cpu(const SplineJob<C>& job, Job& threads, Isa isa);
/// Errors: device_error; unsupported (built without CUDA).
template <class C>
Status splines_on_cuda(const SplineJob<C>& job, const Stream& stream);

}  // namespace penstock::line
