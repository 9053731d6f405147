// Chunks that the device decodes.  A wave is a batch of them: its encoded bytes are read side by side into one slab of
// the pinned ring and go up in one copy; decoding and placement follow in the same stream.  While one wave is on the
// device, the next one is read.
#include <algorithm>
#include <deque>

#include "array/cuda/request.hpp"

namespace penstock::cuda_read {
namespace {

constexpr std::size_t kWavesInFlight = 2;
constexpr std::uint64_t kWaveDecodedBytes = std::uint64_t{1} << 30;

struct Wave {
  static constexpr std::uint32_t npos = ~std::uint32_t{0};
  Slab slab;
  Buffer device;
  ChainBatch batch;
  std::vector<Leaf> leaves;
  std::vector<PartArray> parts;
  std::vector<std::uint32_t> chunk_of;  // leaf -> chunk of the batch; npos: absent
  std::vector<char> unread;             // the store failed
  std::uint64_t bytes = 0;
  Event done;

  explicit Wave(const DeviceChain& chain) : batch(chain) {}
};

/// What all waves of a read share.
struct Flight {
  const Request& r;
  const DeviceChain& chain;
  Job& job;
  Lane& lane;
  const CancelToken& cancel;
  std::uint64_t most_device, most_host;  // of one wave
  std::uint64_t next = 0;                // chunk of the region
  std::deque<Wave> flying;

  /// The error when the read fails because of it; else it is noted.
  Status note(Error error, const Leaf& leaf) const {
    error = r.named(std::move(error), leaf);
    if (r.on_error == OnError::fail || error.code() == ErrorCode::cancelled) return error;
    job.add_problem(leaf.name, error.message());
    return {};
  }

  Status fill(Wave& wave);
  Status read(Wave& wave);
  Status send(Wave& wave);
  Status decode_on_cpu(Wave& wave, std::size_t i, std::vector<PlaceItem>& again);
  Status finish(Wave& wave);
  Status run();
};

/// Locates chunks until the wave is full.
Status Flight::fill(Wave& wave) {
  for (; next < lane.finder->size(); ++next) {
    PENSTOCK_TRY(job.check());
    Leaf leaf;
    Status found = lane.finder->find(next, job.worker(), leaf);
    if (found && leaf.object) found = check_encoded_size(*r.chain, leaf.size_bytes);
    if (!found) {
      PENSTOCK_TRY(note(std::move(found).error(), leaf));
      leaf.object = nullptr;
    }
    if (leaf.object) {
      wave.batch.add(leaf.size_bytes);
      const bool full = wave.batch.size() * r.chain->decoded_size() > kWaveDecodedBytes ||
                        wave.batch.device_bytes() > most_device || wave.batch.host_bytes() > most_host;
      if (full && wave.batch.size() > 1) {
        wave.batch.remove_last();
        return {};
      }
    }
    wave.chunk_of.push_back(leaf.object ? wave.batch.size() - 1 : Wave::npos);
    wave.bytes += r.output_bytes(leaf);
    job.worker().chunks += 1;
    job.worker().absent += leaf.object ? 0 : 1;
    wave.parts.emplace_back(r.segments(leaf));
    wave.leaves.push_back(std::move(leaf));
  }
  return {};
}

/// Reads the encoded chunks side by side into the wave's slab.
Status Flight::read(Wave& wave) {
  PENSTOCK_ASSIGN(wave.slab, lane.slab(r, wave.batch.host_bytes(), cancel));
  wave.unread.assign(wave.leaves.size(), 0);
  return job.for_each(wave.leaves.size(), true, [&](std::uint64_t i) -> Status {
    const Leaf& leaf = wave.leaves[i];
    if (!leaf.object) return {};
    Worker& worker = job.worker();
    const StageClock clock(worker, Stage::fetch);
    worker.requests += 1;
    worker.stored_bytes += leaf.size_bytes;
    const ByteSpan to(wave.slab.data() + wave.batch.encoded_at(wave.chunk_of[i]), leaf.size_bytes);
    const Status got = leaf.object->read(leaf.offset_bytes, to);
    if (got) return {};
    PENSTOCK_TRY(note(got.error(), leaf));
    std::fill(to.begin(), to.end(), std::byte{0});  // goes up with the others; what comes of it is not looked at
    wave.unread[i] = 1;
    return {};
  });
}

/// Upload, decoding and placement.
Status Flight::send(Wave& wave) {
  PENSTOCK_TRY(read(wave));
  PENSTOCK_ASSIGN(wave.device, r.memory->allocate(wave.batch.device_bytes(), kAlign, lane.stream));
  std::uint64_t in_flight = 0;
  for (const Wave& w : flying) in_flight += w.device.size();
  lane.peak_device_bytes = std::max(lane.peak_device_bytes, in_flight);
  PENSTOCK_TRY(wave.batch.run(wave.slab.data(), wave.device.data(), lane.stream));
  std::vector<PlaceItem> items;
  items.reserve(wave.leaves.size());
  for (std::size_t i = 0; i < wave.leaves.size(); ++i) {
    const bool present = wave.chunk_of[i] != Wave::npos && wave.unread[i] == 0;
    items.push_back(
        r.place_item(wave.leaves[i], present ? wave.batch.decoded(wave.chunk_of[i]) : nullptr, wave.parts[i]));
  }
  PENSTOCK_TRY(place_cuda(items, lane.stream));
  PENSTOCK_ASSIGN(wave.done, Event::record(lane.stream));
  return {};
}

/// A chunk that is right but beyond the device's decoder; its encoded bytes are still in the slab.
Status Flight::decode_on_cpu(Wave& wave, std::size_t i, std::vector<PlaceItem>& again) {
  const std::uint32_t chunk = wave.chunk_of[i];
  Worker& worker = job.worker();
  const StageClock clock(worker, Stage::decode);
  PENSTOCK_TRY(worker.raw.resize_discard(r.chain->decoded_size()));
  const ByteView encoded(wave.slab.data() + wave.batch.encoded_at(chunk), wave.leaves[i].size_bytes);
  PENSTOCK_TRY(r.chain->decode_raw(encoded, worker.raw.span(), worker.scratch, {}));
  auto* const to = const_cast<std::byte*>(wave.batch.decoded(chunk));
  PENSTOCK_TRY(copy_async(to, r.device, worker.raw.data(), {}, worker.raw.size(), lane.stream));
  PENSTOCK_TRY(lane.stream.synchronize());  // the buffer is used again
  again.push_back(r.place_item(wave.leaves[i], to, wave.parts[i]));
  lane.chunks_on_cpu += 1;
  return {};
}

/// Waits for a wave and looks at what became of its chunks.
Status Flight::finish(Wave& wave) {
  PENSTOCK_TRY(wave.done.synchronize());
  std::vector<PlaceItem> again;
  for (std::size_t i = 0; i < wave.leaves.size(); ++i) {
    if (wave.chunk_of[i] == Wave::npos || wave.unread[i] != 0) continue;
    ChainBatch::Outcome outcome = wave.batch.outcome(wave.chunk_of[i]);
    if (outcome.status) continue;
    if (outcome.needs_cpu) {
      const std::size_t before = again.size();
      outcome.status = decode_on_cpu(wave, i, again);
      if (outcome.status) continue;
      again.resize(before);
    }
    PENSTOCK_TRY(note(std::move(outcome.status).error(), wave.leaves[i]));
    again.push_back(r.place_item(wave.leaves[i], nullptr, wave.parts[i]));
  }
  if (!again.empty()) PENSTOCK_TRY(place_cuda(again, lane.stream));
  job.advance(wave.bytes);
  return {};
}

Status Flight::run() {
  while (next < lane.finder->size() || !flying.empty()) {
    PENSTOCK_TRY(job.check());
    if (flying.size() == kWavesInFlight || next == lane.finder->size()) {
      PENSTOCK_TRY(finish(flying.front()));
      flying.pop_front();
      continue;
    }
    Wave& wave = flying.emplace_back(chain);
    PENSTOCK_TRY(fill(wave));
    PENSTOCK_TRY(send(wave));
  }
  return {};
}

}  // namespace

std::uint64_t least_wave_bytes(const CodecChain& chain, const DeviceChain& device) {
  ChainBatch one(device);
  one.add(longest_encoding(chain).value_or(2 * chain.decoded_size()));
  return kWavesInFlight * one.device_bytes();
}

Status fly_waves(const Request& r, const DeviceChain& chain, std::uint64_t device_bytes, Job& job, Lane& lane,
                 const CancelToken& cancel) {
  PENSTOCK_TRY(lane.start(r, 0));
  Flight flight{
      r, chain, job, lane, cancel, device_bytes / kWavesInFlight, r.ring->capacity_bytes() / (kWavesInFlight + 1),
      0, {}};
  Status done = flight.run();
  // Before the slabs of unfinished waves are used again, the device must be done with them.
  if (!done) PENSTOCK_TRY(lane.stream.synchronize());
  return done;
}

}  // namespace penstock::cuda_read
