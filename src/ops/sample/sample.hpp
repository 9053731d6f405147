// Values at coordinates, on the host's side.
#pragma once
#include "ops/chain.hpp"
#include "ops/isa.hpp"
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
/// `input` holds what sampled_type says.
std::unique_ptr<Operator> make_affine(const ArrayInfo& input, const Shape& out_shape, Affinity affinity, int order,
                                      Mode mode, double constant);

/// Adds what makes spline coefficients of the elements: in float32 or float64, with a margin where the mode needs one.
/// Returns how many elements that is, at every end.
std::int64_t add_coefficients(Chain& chain, int order, std::string_view mode, double constant, bool in_double,
                              bool prefilter);

/// What elements of `dtype` are sampled as: order 0 as they are, order 1 in the plane and in space too where they are
/// computed in the type that holds them (compute.hpp), all else as float32 or float64.
DType sampled_type(const DType& dtype, int order, std::size_t rank, bool in_double);
/// Error of a job whose elements are of no such type.
Error unfit();

/// Memory of the stream's device; returns before it is done.  Errors: device_error; unsupported (built without CUDA).
template <class T, class C>
Status run_on_cuda(const SampleJob<T, C>& job, const Stream& stream);
template <class T, class C>
Status run_on_cpu(const SampleJob<T, C>& job, Job& threads, Isa isa);
/// Of an affine map whose matrix is diagonal: what is weighted along an axis is found once for all rows.
template <class T, class C>
Status run_grid_on_cpu(const SampleJob<T, C>& job, Job& threads, Isa isa);
template <class C>
bool is_grid(const C& job) {
  bool grid = job.from == From::matrix && job.dimensions == job.out_dimensions;
  for (std::uint32_t d = 0; grid && d < job.dimensions; ++d)
    for (std::uint32_t k = 0; k < job.dimensions; ++k)
      grid = grid && (d == k || job.matrix[d * kMaxDimensions + k] == 0);
  return grid;
}

}  // namespace penstock::sample
