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

Status fill_on_cuda(void* to, std::uint64_t bits, std::uint64_t item, std::uint64_t count, const Stream& stream) {
  const auto as = [&]<class Word>(Word value) {
    return launch_cuda(stream, count, FillJob<Word>{static_cast<Word*>(to), value});
  };
  switch (item) {
    case 1: return as(static_cast<std::uint8_t>(bits));
    case 2: return as(static_cast<std::uint16_t>(bits));
    case 4: return as(static_cast<std::uint32_t>(bits));
    default: return as(bits);
  }
}

Status finish_on_cuda(const Finish& how, std::uint64_t count, const Stream& stream) {
  Status status;
  with_finish(how, [&](const auto& job) { static_cast<void>(status = launch_cuda(stream, count, job)); });
  return status;
}

}  // namespace penstock::reduce
