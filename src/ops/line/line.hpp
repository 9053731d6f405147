// Operators along one axis, on the host's side: what they are made from, and their runs on each processor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/border.hpp"
#include "ops/compute.hpp"
#include "ops/isa.hpp"
#include "ops/line/kernel.hpp"
#include "ops/operator.hpp"

namespace penstock::line {

/// A filter: output i is made of the elements i - before ... i - before + taps - 1.
struct Filter {
  Operation operation = Operation::correlate;
  std::size_t axis = 0;
  std::int64_t before = 0;
  std::uint32_t taps = 1;
  std::vector<double> weights;  ///< correlate: taps of them
  Border border = Border::reflect;
  double constant = 0;
  Compute compute = Compute::float64;
};

/// Where the samples of a resized axis lie.
enum class Align : std::uint8_t {
  half_pixel,  ///< the edges of the first and the last element stay: (k + 1/2) in / out - 1/2
  corners,     ///< their centres stay: k (in - 1) / (out - 1)
};
struct Resample {
  std::size_t axis = 0;
  std::uint64_t extent = 1;  ///< of the output
  Align align = Align::half_pixel;
  int order = 1;  ///< 0: nearest, 1: linear
  Border border = Border::mirror;
  double constant = 0;
  Compute compute = Compute::float64;
};

/// Errors: out_of_range (a filter of 2^24 taps or more).
Result<std::unique_ptr<Operator>> make_filter(const ArrayInfo& input, Filter filter);
std::unique_ptr<Operator> make_resample(const ArrayInfo& input, Resample resample);

/// A part of a box that fits into the cache: `width` neighbours (of the inner dimension), outputs [first, last).
struct Piece {
  std::size_t outer = 0, column = 0, width = 1, first = 0, last = 0;
};

/// `isa`: the instructions to use, which the machine must have.
template <class T, class C>
Status run_on_cpu(const LineJob<T, C>& job, Job& threads, Isa isa);
/// Memory of the stream's device; returns before it is done.  Errors: device_error; unsupported (built without CUDA).
template <class T, class C>
Status run_on_cuda(const LineJob<T, C>& job, const Stream& stream);

}  // namespace penstock::line
