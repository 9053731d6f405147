#include "array/plan/device_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/plan/bound_region.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"
#include "device/backend.hpp"

namespace penstock {
namespace {

/// Whether the device decodes, and the reason.
struct Choice {
  bool device = false;
  std::string reason;
};

/// By what was measured.  nvCOMP takes part when the user has named it.
Result<Choice> choose(DeviceChain& chain, Device device, std::uint64_t chunks, std::uint64_t threads) {
  PENSTOCK_ASSIGN(const CodecCosts costs, codec_costs());
  PENSTOCK_ASSIGN(const std::string library, nvcomp_library());
  if (!library.empty() && device.type == Device::Type::cuda) {
    PENSTOCK_ASSIGN_IN(const auto nvcomp, nvcomp::load(library), "PENSTOCK_NVCOMP_LIBRARY");
    chain.hand_to_nvcomp(nvcomp, &costs, chunks);
  }
  const auto on_device = chain.device_seconds(costs, chunks);
  const auto on_cpu = chain.cpu_seconds(costs, chunks, threads);
  if (!on_device || !on_cpu) return Choice{false, (on_device ? on_cpu : on_device).error().message()};
  return Choice{*on_device < *on_cpu,
                fmt::format("about {} on the device, {} on {} CPU thread{} ({})", format_seconds(*on_device),
                            format_seconds(*on_cpu), threads, threads == 1 ? "" : "s", costs.text())};
}

/// As the option or PENSTOCK_DECODE says.
Result<Choice> forced_choice(const ChosenPlace& wanted, DeviceChain& chain, std::uint64_t chunks) {
  if (wanted.place != CodecPlace::nvcomp) return Choice{wanted.place == CodecPlace::device, wanted.by};
  PENSTOCK_ASSIGN(const std::string library, nvcomp_library());
  PENSTOCK_ASSIGN_IN(const auto nvcomp, nvcomp::load(library), wanted.by);
  const bool any = chain.hand_to_nvcomp(nvcomp, nullptr, chunks) > 0;
  return Choice{true, any ? wanted.by : wanted.by + ", which has no decoder for these codecs"};
}

}  // namespace

Result<DevicePath> device_path(const Dataset& dataset, const CodecChain& chain, Device device, std::uint64_t chunks,
                               std::uint64_t threads, std::optional<CodecPlace> decode) {
  if (dataset.dtype.is_vlen())
    return Error(ErrorCode::unsupported, "variable-length elements live in host memory only");
  const CodecChain& inner = innermost(chain);
  DevicePath path;
  if (inner.is_uncompressed()) {
    path.text = "none";
    path.reason = "the chunks are stored raw";
    return path;
  }
  PENSTOCK_ASSIGN(const ChosenPlace wanted, decode_place(decode));
  path.decode = DevicePath::Decode::on_cpu;
  path.text = "cpu, " + inner.text();
  auto able = DeviceChain::make(inner);
  if (!able) {
    path.reason = able.error().message() + ": CPU threads, then upload through pinned memory";
    return path;
  }
  PENSTOCK_ASSIGN(Choice choice, wanted.place == CodecPlace::automatic ? choose(*able, device, chunks, threads)
                                                                       : forced_choice(wanted, *able, chunks));
  path.reason = std::move(choice.reason);
  if (!choice.device) return path;
  path.decode = DevicePath::Decode::on_device;
  path.text = device.name() + ", " + able->text();
  path.chain = *std::move(able);
  return path;
}

namespace device_read {
namespace {

// Chunks of 32 MiB of zstd are decoded by one team each: 18 GB/s where 32 are under way, 51 with these 96 (an H200).
constexpr std::uint64_t kWavesInFlight = 6;
constexpr std::uint64_t kWaveDecodedBytes = std::uint64_t{512} << 20;
constexpr std::uint64_t kDevicePart =
    4;  // of a device's memory all waves may take that part: what is read lies there too
constexpr std::uint64_t kWaveChunks = 8192;  // each costs the host some hundred bytes
constexpr std::uint64_t kGroupDecodedBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kGroupChunks = 256;

/// Device memory of a wave of `chunks` chunks that are as long as they can be.
std::uint64_t wave_bytes(const CodecChain& chain, const DeviceChain& device, std::uint64_t chunks) {
  ChainBatch batch(device);
  const std::uint64_t each = max_encoded_bytes(chain).value_or(2 * chain.decoded_size());
  for (std::uint64_t i = 0; i < chunks; ++i) batch.add(each);
  return batch.device_bytes();
}

}  // namespace

std::uint64_t wave_budget(Device device, std::uint64_t budget_bytes) {
  Backend* const backend = find_backend(device.type);
  return backend == nullptr ? budget_bytes : std::min(budget_bytes, backend->memory_bytes(device.index) / kDevicePart);
}

WaveLimits wave_limits(const CodecChain& chain, const DeviceChain& device, std::uint64_t device_bytes) {
  const std::uint64_t in_flight =
      std::clamp<std::uint64_t>(device_bytes / wave_bytes(chain, device, 1), 1, kWavesInFlight);
  const std::uint64_t each = std::max<std::uint64_t>(chain.decoded_size(), 1);
  std::uint64_t fits = 1, too_many = std::clamp<std::uint64_t>(kWaveDecodedBytes / each, 1, kWaveChunks) + 1;
  while (fits + 1 < too_many) {
    const std::uint64_t middle = (fits + too_many) / 2;
    (wave_bytes(chain, device, middle) <= device_bytes / in_flight ? fits : too_many) = middle;
  }
  const std::uint64_t group = std::clamp<std::uint64_t>(kGroupDecodedBytes / each, 1, std::min(fits, kGroupChunks));
  return {in_flight, fits / group, group};
}

std::uint64_t min_wave_bytes(const CodecChain& chain, const DeviceChain& device) {
  return 2 * wave_bytes(chain, device, 1);
}

}  // namespace device_read

}  // namespace penstock
