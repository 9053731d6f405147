#include "array/device/encode_waves.hpp"

#include <algorithm>
#include <deque>
#include <set>

#include "array/device/encode_wave.hpp"
#include "array/device/fill_check.hpp"
#include "core/checked.hpp"

namespace penstock::device_write {
namespace {

constexpr std::uint64_t kWavesInFlight = 2;
constexpr std::uint64_t kWaveRawBytes = std::uint64_t{1} << 30;

/// How many chunks a wave has.
std::uint32_t chunks_of_wave(const EncodeChain& chain, const WaveLimits& limits) {
  const std::uint64_t by_device = limits.device_bytes / std::max<std::uint64_t>(wave_device_bytes(chain, 1), 1);
  const std::uint64_t by_host = limits.host_bytes / std::max<std::uint64_t>(wave_host_bytes(chain, 1), 1);
  const std::uint64_t by_size = kWaveRawBytes / std::max<std::uint64_t>(chain.raw_bytes(), 1);
  constexpr std::uint64_t kMax = 1u << 20;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::min({by_device, by_host, by_size}), 1, kMax));
}

/// What all waves of a write share.
struct WavePipeline {
  const RegionWriter& writer;
  const DeviceSource& source;
  const EncodeChain& chain;
  Job& job;
  std::uint32_t max_chunks;
  bool skip_fill;
  ChunkWalk walk;
  std::deque<Wave> flying;

  Result<bool> launch();
  Status store(Wave& wave);
  Status store_one(const Wave& wave, std::uint32_t chunk);
  Status run();
};

/// Begins the next wave; false when nothing is left.
Result<bool> WavePipeline::launch() {
  Wave wave;
  Chunk chunk;
  while (wave.chunks.size() < max_chunks) {
    PENSTOCK_ASSIGN(const bool more, walk.next(chunk));
    if (!more) break;
    wave.chunks.push_back(chunk);
  }
  if (wave.chunks.empty()) return false;
  flying.push_back(std::move(wave));
  PENSTOCK_TRY(flying.back().gather(writer, source, chain, job.stop(), skip_fill));
  PENSTOCK_TRY(flying.back().encode());
  return true;
}

/// A chunk into the store, or into its shard.
Status WavePipeline::store_one(const Wave& wave, std::uint32_t chunk) {
  OpenObject& object = *wave.chunks[chunk].object;
  PENSTOCK_ASSIGN(const ByteView encoded, wave.encoded(chunk));
  Worker& worker = job.worker();
  worker.chunks += 1;
  worker.absent += encoded.empty() ? 1 : 0;
  if (writer.is_sharded()) {
    const StageClock clock(worker, Stage::assemble);
    PENSTOCK_TRY(object.chunks[wave.chunks[chunk].linear].append(encoded));
  } else {
    const Status stored = writer.store_chunk(job, object.piece.key, encoded);
    if (!stored) return writer.named(stored.error(), object.piece.key);
    job.advance(object.piece.elements * source.item_bytes);
  }
  object.left -= 1;
  return {};
}

Status WavePipeline::store(Wave& wave) {
  PENSTOCK_TRY(wave.down.synchronize());
  PENSTOCK_TRY(job.for_each(wave.chunks.size(), true,
                            [&](std::uint64_t i) { return store_one(wave, static_cast<std::uint32_t>(i)); }));
  const ShardingCodec* sharding = writer.view().chain.sharding();
  if (sharding == nullptr) return {};
  std::vector<OpenObject*> done;  // chunks of a shard follow one another
  for (const Chunk& chunk : wave.chunks)
    if (chunk.object->left == 0 && (done.empty() || done.back() != chunk.object.get()))
      done.push_back(chunk.object.get());
  return job.for_each(done.size(), true, [&](std::uint64_t i) -> Status {
    OpenObject& object = *done[i];
    const Status stored = writer.store_shard(job, object.piece.key, *sharding, object.chunks);
    if (!stored) return writer.named(stored.error(), object.piece.key);
    object.chunks.clear();
    job.advance(object.piece.elements * source.item_bytes);
    return {};
  });
}

Status WavePipeline::run() {
  PENSTOCK_ASSIGN(bool more, launch());
  while (!flying.empty()) {
    PENSTOCK_TRY(job.check());
    PENSTOCK_TRY(flying.front().pack(source));
    if (more) {  // encoded while the one in front comes down and is stored
      PENSTOCK_ASSIGN(more, launch());
    }
    PENSTOCK_TRY(store(flying.front()));
    flying.pop_front();
  }
  return {};
}

}  // namespace

WaveLimits wave_limits(const DeviceSource& source, std::uint64_t budget_bytes) {
  return {budget_bytes / kWavesInFlight, source.ring->capacity_bytes() / (kWavesInFlight + 1)};
}

Status run_encode_waves(const RegionWriter& writer, const DeviceSource& source, const EncodeChain& chain,
                        const WaveLimits& limits, Job& job) {
  const bool skip_fill = writer.is_sharded() || !job.options().store_fill_chunks;
  WavePipeline flight{writer, source, chain, job, chunks_of_wave(chain, limits), skip_fill, ChunkWalk(writer), {}};
  Status done = guarded([&] { return flight.run(); });
  // Before slabs and memory of unfinished waves are used again, the device must be done with them.
  if (!done)
    for (const Wave& wave : flight.flying) PENSTOCK_TRY(wave.stream.synchronize());
  return done;
}

}  // namespace penstock::device_write
