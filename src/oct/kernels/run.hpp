// Kernels of the steps, on the processor where a step works.
#pragma once
#include "oct/kernels/interface.hpp"
#include "oct/kernels/lay.hpp"
#include "oct/kernels/move.hpp"
#include "oct/kernels/planes.hpp"
#include "oct/kernels/products.hpp"
#include "ops/each.hpp"
#include "ops/operator.hpp"

namespace penstock::oct {

#define PENSTOCK_OCT_KERNELS(f)                                                                                     \
  f(LogOfPositive) f(ColumnHolds) f(ColumnPeak) f(MaskedCorrelation) f(AddBrightRows) f(MoveColumns) f(CountPlanes) \
      f(ScalePlanes) f(LayTile) f(AnyOf) f(DivideByCovers) f(FillZero) f(StackSlices) f(PlaneProducts) f(AddShares) \
          f(PlaneSums)

/// In the order of the stream.  Errors: device_error, unsupported (a build without CUDA).
template <class F>
Status run_on_cuda(const F& f, std::uint64_t count, const Stream& stream);

/// f(0) ... f(count - 1), in any order; on a device in the order of its stream.
template <class F>
Status run_kernel(const F& f, std::uint64_t count, const Workspace& work) {
  return work.on_device() ? run_on_cuda(f, count, work.stream) : run_each(*work.job, count, f);
}

/// `view`: three dimensions of float32, the last without gaps.
inline ConstBox const_box(const TensorView& view) {
  return {static_cast<const float*>(view.data),
          view.shape[0],
          view.shape[1],
          view.shape[2],
          view.strides_bytes[0] / 4,
          view.strides_bytes[1] / 4};
}
inline Box mutable_box(const TensorView& view) {
  return {static_cast<float*>(view.data), view.shape[0], view.shape[1], view.shape[2], view.strides_bytes[0] / 4,
          view.strides_bytes[1] / 4};
}

}  // namespace penstock::oct
