// Where the chunks of a write from device memory are encoded, and why.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "array/device/encode_wave.hpp"
#include "array/device/fill_check.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"

namespace penstock::device_write {
namespace {

/// Chunks that are encoded both ways.
constexpr std::uint64_t kTried = 4;

struct Sizes {
  std::uint64_t chunks = 0, device_bytes = 0, cpu_bytes = 0;
  double core_seconds = 0;  ///< of one core for all of them
  [[nodiscard]] double loss() const {
    return cpu_bytes == 0 ? 0 : static_cast<double>(device_bytes) / static_cast<double>(cpu_bytes) - 1;
  }
};

/// The first chunks of objects spread over the region.
Result<std::vector<Chunk>> spread_chunks(const RegionWriter& writer) {
  std::vector<Chunk> chunks;
  ChunkWalk walk(writer);
  const std::uint64_t objects = writer.objects(), step = std::max<std::uint64_t>(objects / kTried, 1);
  for (std::uint64_t i = step / 2; i < objects && chunks.size() < kTried; i += step) {
    walk.go_to(i);
    Chunk chunk;
    PENSTOCK_ASSIGN(const bool found, walk.next(chunk));
    if (!found) break;
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

/// Encodes some chunks on the device and on the CPU.
Result<Sizes> try_both(const RegionWriter& writer, const DeviceSource& source, const EncodeChain& chain,
                       const WaveLimits& limits, Job& job) {
  Wave wave;
  PENSTOCK_ASSIGN(wave.chunks, spread_chunks(writer));
  while (wave.chunks.size() > 1 &&
         (wave_device_bytes(chain, static_cast<std::uint32_t>(wave.chunks.size())) > limits.device_bytes ||
          wave_host_bytes(chain, static_cast<std::uint32_t>(wave.chunks.size())) > limits.host_bytes))
    wave.chunks.pop_back();
  Sizes sizes;
  if (wave.chunks.empty()) return sizes;
  const auto work = [&]() -> Status {
    PENSTOCK_TRY(wave.gather(writer, source, chain, job.stop(), true));
    std::vector<Bytes> raw(wave.chunks.size());
    for (std::uint32_t c = 0; c < wave.run->count(); ++c) {
      PENSTOCK_TRY(raw[c].resize_discard(chain.raw_bytes()));
      PENSTOCK_TRY(copy_async(raw[c].data(), {}, wave.run->raw(c), source.device, raw[c].size(), wave.stream));
    }
    PENSTOCK_TRY(wave.encode());
    PENSTOCK_TRY(wave.sized.synchronize());
    std::vector<std::uint64_t> by_cpu(raw.size());
    std::vector<double> seconds(raw.size());
    const auto by_the_cpu = [&](std::uint64_t c) -> Status {
      if (wave.run->left_out(static_cast<std::uint32_t>(c))) return {};
      ScratchBuffers scratch;
      Bytes encoded;
      const auto start = std::chrono::steady_clock::now();
      PENSTOCK_TRY(writer.encoder().encode_raw(raw[c], encoded, scratch));
      seconds[c] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      by_cpu[c] = encoded.size();
      return {};
    };
    PENSTOCK_TRY(job.for_each(raw.size(), true, by_the_cpu));
    for (std::uint32_t c = 0; c < wave.run->count(); ++c) {
      if (wave.run->left_out(c)) continue;
      PENSTOCK_ASSIGN(const std::uint64_t bytes, wave.run->encoded_bytes(c));
      sizes.chunks += 1;
      sizes.device_bytes += bytes;
      sizes.cpu_bytes += by_cpu[c];
      sizes.core_seconds += seconds[c];
    }
    return {};
  };
  const Status done = guarded(work);
  if (done) return sizes;
  if (wave.run) PENSTOCK_TRY(wave.stream.synchronize());  // before its memory is used again
  return done.error();
}

std::string tried(const Sizes& sizes) {
  if (sizes.chunks == 0) return "only fill values where it was tried";
  const double loss = sizes.loss();
  return fmt::format("{:.1f} % {} bytes than the CPU's encoder makes of {} chunk{}", 100 * (loss < 0 ? -loss : loss),
                     loss < 0 ? "fewer" : "more", sizes.chunks, sizes.chunks == 1 ? "" : "s");
}

}  // namespace

Result<EncodePath> encode_path(const RegionWriter& writer, const DeviceSource& source, const WaveLimits& limits,
                               Job& job) {
  const CodecChain& codecs = writer.encoder();
  EncodePath path;
  path.text = "cpu, " + writer.view().chain.text();
  const auto on_cpu = [&](std::string reason) {
    path.reason = std::move(reason);
    return std::move(path);
  };
  if (codecs.is_uncompressed()) return on_cpu("there is nothing to encode");
  PENSTOCK_ASSIGN(const ChosenPlace wanted, encode_place(job.options().encode));
  if (wanted.place == CodecPlace::cpu) return on_cpu(wanted.by);
  auto able = EncodeChain::make(codecs);
  if (!able) return on_cpu(able.error().message());
  if (source.item_bytes > kMaxFillBytes) return on_cpu(fmt::format("elements of more than {} bytes", kMaxFillBytes));
  if (wave_device_bytes(*able, 1) > limits.device_bytes || wave_host_bytes(*able, 1) > limits.host_bytes)
    return on_cpu(
        fmt::format("a wave of one chunk takes {} of device memory and {} of pinned memory, {} and {} are allowed",
                    format_bytes(wave_device_bytes(*able, 1)), format_bytes(wave_host_bytes(*able, 1)),
                    format_bytes(limits.device_bytes), format_bytes(limits.host_bytes)));
  std::string reason = wanted.by;
  if (wanted.place == CodecPlace::automatic) {
    if (source.device.type == Device::Type::cpu) return on_cpu("the device is the CPU");
    const std::uint64_t chunks = writer.objects() * writer.chunks_of_object();
    const std::uint64_t threads = job.worker_count();
    const double on_device = able->device_seconds(chunks);
    double by_cpu = able->cpu_seconds(chunks, threads);
    Sizes sizes;
    if (able->compresses() && on_device < by_cpu) {  // compressor speed depends on the data
      PENSTOCK_ASSIGN(sizes, try_both(writer, source, *able, limits, job));
      if (sizes.loss() > kMaxLoss) return on_cpu("the device makes " + tried(sizes));
      if (sizes.chunks > 0)
        by_cpu = sizes.core_seconds / static_cast<double>(sizes.chunks) * static_cast<double>(chunks) /
                 static_cast<double>(std::max<std::uint64_t>(std::min(chunks, threads), 1));
    }
    reason = fmt::format("about {} on the device, {} on {} CPU thread{}", format_seconds(on_device),
                         format_seconds(by_cpu), threads, threads == 1 ? "" : "s");
    if (on_device >= by_cpu) return on_cpu(std::move(reason));
    if (able->compresses()) reason += "; " + tried(sizes);
  }
  path.text = source.device.name() + ", " + able->text() + " (own)";
  path.reason = std::move(reason);
  path.chain = *std::move(able);
  return path;
}

}  // namespace penstock::device_write
