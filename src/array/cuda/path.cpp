// Where the chunks of a read into device memory are decoded, and why.
#include <fmt/format.h>

#include "array/leaf.hpp"
#include "array/read_cuda.hpp"
#include "array/reader.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

std::string times(double device_seconds, double cpu_seconds, std::uint64_t threads) {
  return fmt::format("about {} on the device, {} on {} CPU thread{}", format_seconds(device_seconds),
                     format_seconds(cpu_seconds), threads, threads == 1 ? "" : "s");
}

}  // namespace

Result<CudaPath> cuda_path(const Dataset& dataset, const CodecChain& chain, Device device, std::uint64_t chunks,
                           std::uint64_t threads) {
  if (dataset.dtype.is_vlen())
    return Error(ErrorCode::unsupported, "variable-length elements live in host memory only");
  const CodecChain& inner = innermost(chain);
  CudaPath path;
  if (inner.is_raw()) {
    path.text = "none";
    path.reason = "the chunks are stored raw";
    return path;
  }
  PENSTOCK_ASSIGN(const CodecPlace wanted, decode_place());
  path.decode = CudaPath::Decode::on_cpu;
  path.text = "cpu, " + inner.text();
  auto able = DeviceChain::make(inner);
  if (!able) {
    path.reason = able.error().message() + ": CPU threads, then upload through pinned memory";
    return path;
  }
  const double on_device = able->device_seconds(chunks), on_cpu = able->cpu_seconds(chunks, threads);
  const bool quicker = on_device < on_cpu;
  if (wanted == CodecPlace::cpu || (wanted == CodecPlace::automatic && !quicker)) {
    path.reason = wanted == CodecPlace::cpu ? "PENSTOCK_DECODE=cpu" : times(on_device, on_cpu, threads);
    return path;
  }
  path.decode = CudaPath::Decode::on_device;
  path.text = device.name() + ", " + able->text() + " (own)";
  path.reason = wanted == CodecPlace::device ? "PENSTOCK_DECODE=device" : times(on_device, on_cpu, threads);
  path.chain = *std::move(able);
  return path;
}

}  // namespace penstock
