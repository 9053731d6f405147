#include "device/cuda/launch.cuh"
#include "ops/reduce/reduce.hpp"

namespace penstock::reduce {

Status add_on_cuda(const BoxPass& box, const Stream& stream) {
  Status status;
  with_pass(box.pass, box.dtype, [&]<class Op>(TypeTag<Op>) {
    const ReduceJob<Op> job{box.shape, static_cast<const typename Op::In*>(box.in), accumulators<Op>(box), box.means};
    static_cast<void>(status = launch_cuda(stream, job.lanes(), job));
  });
  return status;
}

Status clear_on_cuda(const BoxPass& box, const Stream& stream) {
  Status status;
  with_pass(box.pass, box.dtype, [&]<class Op>(TypeTag<Op>) {
    const ClearJob<Op> job{static_cast<typename Op::Held*>(box.held)};
    static_cast<void>(status = launch_cuda(stream, box.targets * box.parts, job));
  });
  return status;
}

Status finish_on_cuda(const BoxPass& box, const Finish& how, const Stream& stream) {
  Status status;
  with_finish(box, how, [&](const auto& job) { static_cast<void>(status = launch_cuda(stream, box.targets, job)); });
  return status;
}

}  // namespace penstock::reduce
