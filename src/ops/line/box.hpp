// The least or the most of small boxes, on the host's side.
#pragma once
#include "ops/line/box_kernel.hpp"
#include "ops/line/line.hpp"

namespace penstock::line {

/// The columns of a row of the third axis that follow each other in memory too: extended columns first ... first +
/// count - 1 are from, from + 1, ...; the others stand beyond the ends.
struct Run {
  std::size_t first = 0, from = 0, count = 0;
};
/// What one task makes: see run_box.
struct BoxPiece {
  std::size_t outer = 0, first = 0, last = 0, y = 0, y_end = 0;
};

/// Minima or maxima along neighbouring axes, of at most kMaxBoxTaps elements each, as one operator; nullptr: these
/// filters are not such.  Two of them or more.
std::unique_ptr<Operator> make_box(const ArrayInfo& input, const std::vector<Filter>& filters);

template <class T>
Status run_box_on_cpu(const BoxJob<T>& job, bool least, Job& threads, Isa isa);
/// Returns before it is done.  Errors: device_error; unsupported (built without CUDA).
template <class T>
Status run_box_on_cuda(const BoxJob<T>& job, bool least, const Stream& stream);

}  // namespace penstock::line
