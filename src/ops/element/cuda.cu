#include "device/cuda/launch.cuh"
#include "ops/element/element.hpp"

namespace penstock::element {

Status cast_on_cuda(const DType& from, const void* in, const DType& to, void* out, std::uint64_t count,
                    Rounding rounding, const Stream& stream) {
  Status status;
  with_cast(from, in, to, out, rounding,
            [&](const auto& job) { static_cast<void>(status = launch_cuda(stream, count, job)); });
  return status;
}

template <class C>
Status program_on_cuda(const ProgramJob<C>& job, std::uint64_t count, const Stream& stream) {
  return launch_cuda(stream, count, job);
}
template Status program_on_cuda(const ProgramJob<float>&, std::uint64_t, const Stream&);
template Status program_on_cuda(const ProgramJob<double>&, std::uint64_t, const Stream&);

}  // namespace penstock::element
