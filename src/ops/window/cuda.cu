#include "device/cuda/launch.cuh"
#include "ops/window/keys.hpp"
#include "ops/window/window.hpp"

namespace penstock::window {

template <class K>
Status run_on_cuda(const RankJob<K>& job, const Stream& stream) {
  const std::uint64_t n = job.rows * job.width;
  const bool middle = 2 * job.rank + 1 == job.count;
  if (middle && job.count == 27 && job.in_threes) {
    const MedianOfThrees<K> threes{job};
    return launch_cuda(stream, job.rows * threes.groups(), threes);
  }
  // The sizes that images are cleaned with, from registers.
  if (middle && job.count == 9) return launch_cuda(stream, n, RankElement<K, 9>{job});
  if (middle && job.count == 25) return launch_cuda(stream, n, RankElement<K, 25>{job});
  if (middle && job.count == 27) return launch_cuda(stream, n, RankElement<K, 27>{job});
  return launch_cuda(stream, n, RankElement<K, 0>{job});
}
template Status run_on_cuda(const RankJob<std::uint8_t>&, const Stream&);
template Status run_on_cuda(const RankJob<std::uint16_t>&, const Stream&);
template Status run_on_cuda(const RankJob<std::uint32_t>&, const Stream&);
template Status run_on_cuda(const RankJob<std::uint64_t>&, const Stream&);

Status keys_on_cuda(const DType& dtype, const void* in, void* out, std::uint64_t count, bool back,
                    const Stream& stream) {
  Status status;
  with_keys(dtype, in, out, back,
            [&](const auto& pass) { static_cast<void>(status = launch_cuda(stream, count, pass)); });
  return status;
}

}  // namespace penstock::window
