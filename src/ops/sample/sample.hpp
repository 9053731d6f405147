// Values at coordinates, on the host's side.
#pragma once
#include "ops/chain.hpp"
#include "ops/sample/kernel.hpp"

namespace penstock::sample {

/// Mode by scipy's name.  Errors: invalid_argument.
Result<Mode> parse_mode(std::string_view name);

/// Coordinates of the input from indices of the output: matrix (input's dimensions x output's) and offset.
struct Affinity {
  std::vector<double> matrix, offset;
  /// Of each dimension of the input: how far beyond its ends rounding may have carried a coordinate.
  std::vector<double> slack;
};
std::unique_ptr<Operator> make_affine(const ArrayInfo& input, const Shape& out_shape, Affinity affinity, int order,
                                      Mode mode, double constant, bool in_double);

/// Adds what makes spline coefficients of the elements: in float32 or float64, with a margin where the mode needs one.
/// Returns how many elements that is, at every end.
std::int64_t add_coefficients(Chain& chain, int order, std::string_view mode, double constant, bool in_double,
                              bool prefilter);

/// Memory of the stream's device; returns before it is done.  Errors: device_error; unsupported (built without CUDA).
template <class T, class C>
Status run_on_cuda(const SampleJob<T, C>& job, const Stream& stream);
template <class T, class C>
Status run_job(const SampleJob<T, C>& job, const Workspace& work);

/// Calls f(TypeTag<T>, TypeTag<C>) for a job of these elements.
template <class F>
void with_types(const DType& dtype, bool in_double, const F& f);

}  // namespace penstock::sample
