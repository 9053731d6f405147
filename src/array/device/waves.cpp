// Chunks that the device decodes.  A wave is a batch of them.  Workers take small groups of chunks in order, read them
// and send them up; who brings the last group of a wave starts its decoding and placement.  Each wave has a stream of
// its own, so that waves overlap: one is read and goes up while others are decoded.
#include <algorithm>
#include <condition_variable>
#include <utility>

#include "array/device/request.hpp"
#include "core/checked.hpp"

namespace penstock::device_read {
namespace {

constexpr std::size_t kWavesInFlight = 4;
constexpr std::uint64_t kWaveDecodedBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kWaveChunks = 8192;  // each costs the host some KiB
constexpr std::uint64_t kGroupDecodedBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kGroupChunks = 256;

/// A chunk of a wave.
struct Chunk {
  enum class State : std::uint8_t { absent, unreadable, read };
  Leaf leaf;
  State state = State::absent;
  const std::byte* encoded = nullptr;  // on the device
};

/// One of kWavesInFlight; used again for later waves.
struct Wave {
  Stream stream;
  std::uint64_t first = 0;                   // chunk of the region
  std::vector<Chunk> chunks;                 // from there on
  std::vector<std::vector<Buffer>> encoded;  // of each group
  std::atomic<std::uint64_t> groups_left{0};
  bool launched = false;  // guarded by WavePipeline::mutex
  std::optional<ChainBatch> batch;
  std::vector<std::size_t> read;  // chunks of the batch
  Buffer device;
  std::uint64_t device_bytes = 0;  // guarded by WavePipeline::mutex
};

/// What a chunk takes of a piece and of device memory.
std::uint64_t space_of(const Leaf& leaf) { return aligned(std::max<std::uint64_t>(leaf.size_bytes, 1)); }

/// How a region is cut: waves, and groups of them that a worker takes at a time.
struct Cut {
  std::uint64_t chunks, wave_chunks, group_chunks;
  [[nodiscard]] std::uint64_t wave_groups() const { return div_up(wave_chunks, group_chunks); }
  [[nodiscard]] std::uint64_t waves() const { return div_up(chunks, wave_chunks); }
  [[nodiscard]] std::uint64_t chunks_of(std::uint64_t wave) const {
    return std::min(wave_chunks, chunks - wave * wave_chunks);
  }
  [[nodiscard]] std::uint64_t groups_of(std::uint64_t wave) const { return div_up(chunks_of(wave), group_chunks); }
  /// The last wave may have fewer groups than others, so it must be the last.
  [[nodiscard]] std::uint64_t groups() const {
    return waves() == 0 ? 0 : (waves() - 1) * wave_groups() + groups_of(waves() - 1);
  }
};

/// What all workers of a read share.
struct WavePipeline {
  const Request& r;
  const DeviceChain& chain;
  Job& job;
  WorkerStates& worker_states;
  const CancelToken& cancel;
  Cut cut;
  std::vector<Wave> waves;  // in flight
  std::atomic<std::uint64_t> next_group{0};
  std::atomic<std::uint64_t> chunks_on_cpu{0};

  std::mutex mutex{};
  std::condition_variable changed{};
  std::uint64_t opened = 0, finished = 0;  // waves
  bool finishing = false, stopped = false;
  std::uint64_t device_bytes = 0, peak_device_bytes = 0;

  Wave& wave_of(std::uint64_t wave) { return waves[wave % waves.size()]; }
  Result<Buffer> allocate(Wave& wave, std::uint64_t bytes);
  /// The error when the read fails because of it; else it is noted.
  Status note(Error error, const Leaf& leaf) const;

  Status work();
  Result<bool> enter(std::uint64_t wave);
  Status load(std::uint64_t wave, std::uint64_t group);
  Status load_chunk(WorkerState& mine, Wave& wave, std::vector<Buffer>& encoded, Chunk& chunk,
                    std::vector<Chunk*>& pending);
  Status flush(WorkerState& mine, Wave& wave, std::vector<Buffer>& encoded, std::vector<Chunk*>& pending);
  Status launch(Wave& wave);
  Status decode_on_cpu(Wave& wave, std::uint32_t i, std::vector<PlaceItem>& again, std::vector<PartArray>& parts);
  Status finish(Wave& wave);
  Status run();
};

Status WavePipeline::note(Error error, const Leaf& leaf) const {
  error = r.named(std::move(error), leaf);
  if (r.on_error == OnError::fail || ends_work(error)) return error;
  job.add_problem(leaf.name, error.message());
  return {};
}

Result<Buffer> WavePipeline::allocate(Wave& wave, std::uint64_t bytes) {
  PENSTOCK_ASSIGN(Buffer buffer, r.memory->allocate(bytes, kAlign, wave.stream));
  const std::scoped_lock lock(mutex);
  wave.device_bytes += bytes;
  device_bytes += bytes;
  peak_device_bytes = std::max(peak_device_bytes, device_bytes);
  return buffer;
}

/// One worker: takes groups until there are none.
Status WavePipeline::work() {
  PENSTOCK_ASSIGN(const bool started,
                  worker_states.all.local().start(r, worker_states.first, job.worker_count(), cancel));
  if (!started) return {};
  for (;;) {
    const std::uint64_t group = next_group.fetch_add(1);
    if (group >= cut.groups()) return {};
    const std::uint64_t wave = group / cut.wave_groups();
    PENSTOCK_TRY(job.check());
    PENSTOCK_ASSIGN(const bool entered, enter(wave));
    if (!entered) return {};  // the worker that failed says why
    PENSTOCK_TRY(load(wave, group % cut.wave_groups()));
    Wave& w = wave_of(wave);
    if (w.groups_left.fetch_sub(1) != 1) continue;
    PENSTOCK_TRY(launch(w));
    const std::scoped_lock lock(mutex);
    w.launched = true;
    changed.notify_all();
  }
}

/// Waits until `wave` is in flight; one of those who wait finishes the oldest wave.  False: another worker failed.
Result<bool> WavePipeline::enter(std::uint64_t wave) {
  std::unique_lock lock(mutex);
  while (!stopped) {
    if (wave < opened) return true;
    if (opened - finished < waves.size()) {
      Wave& w = wave_of(opened);
      w.first = opened * cut.wave_chunks;
      w.chunks.clear();
      w.chunks.resize(cut.chunks_of(opened));
      w.encoded.clear();
      w.encoded.resize(cut.groups_of(opened));
      w.groups_left = cut.groups_of(opened);
      w.launched = false;
      ++opened;
      continue;
    }
    if (finishing || !wave_of(finished).launched) {
      changed.wait(lock);
      continue;
    }
    finishing = true;
    lock.unlock();
    Status done = finish(wave_of(finished));
    lock.lock();
    finishing = false;
    PENSTOCK_TRY(std::move(done));
    ++finished;
    changed.notify_all();
  }
  return false;
}

/// Sends what waits in the piece to memory of its own.
Status WavePipeline::flush(WorkerState& mine, Wave& wave, std::vector<Buffer>& encoded, std::vector<Chunk*>& pending) {
  if (pending.empty()) return {};
  PENSTOCK_ASSIGN(Buffer buffer, allocate(wave, mine.pieces.filled()));
  std::uint64_t at = 0;
  for (Chunk* chunk : pending) {
    chunk->encoded = buffer.data() + at;
    at += space_of(chunk->leaf);
  }
  pending.clear();
  encoded.push_back(std::move(buffer));
  return mine.pieces.send(encoded.back().data(), wave.stream);
}

/// Reads a located chunk into the piece, or, when it is larger, sends it up piece by piece.
Status WavePipeline::load_chunk(WorkerState& mine, Wave& wave, std::vector<Buffer>& encoded, Chunk& chunk,
                                std::vector<Chunk*>& pending) {
  const Leaf& leaf = chunk.leaf;
  PENSTOCK_TRY(check_encoded_size(*r.chain, leaf.size_bytes));
  const std::uint64_t space = space_of(leaf);
  if (space > mine.pieces.buffer_bytes()) {
    PENSTOCK_TRY(flush(mine, wave, encoded, pending));
    PENSTOCK_ASSIGN(Buffer buffer, allocate(wave, space));
    chunk.encoded = buffer.data();
    encoded.push_back(std::move(buffer));
    Status read;
    PENSTOCK_TRY(mine.pieces.send_object(*leaf.object, leaf.offset_bytes, leaf.size_bytes, encoded.back().data(),
                                         wave.stream, read));
    return read;
  }
  PENSTOCK_ASSIGN(ByteSpan room, mine.pieces.room(space));
  if (room.empty()) {
    PENSTOCK_TRY(flush(mine, wave, encoded, pending));
    PENSTOCK_ASSIGN(room, mine.pieces.room(space));
  }
  PENSTOCK_TRY(leaf.object->read(leaf.offset_bytes, room.first(leaf.size_bytes)));
  mine.pieces.fill(space);
  pending.push_back(&chunk);
  return {};
}

/// Locates and reads the chunks of a group.  Each object is open only as long as it is read.
Status WavePipeline::load(std::uint64_t wave, std::uint64_t group) {
  WorkerState& mine = worker_states.all.local();
  Wave& w = wave_of(wave);
  Worker& worker = job.worker();
  const double waited = mine.pieces.waited_seconds();
  std::vector<Chunk*> pending;
  const std::uint64_t begin = group * cut.group_chunks, end = std::min(begin + cut.group_chunks, cut.chunks_of(wave));
  for (std::uint64_t i = begin; i < end; ++i) {
    PENSTOCK_TRY(job.check());
    Chunk& chunk = w.chunks[i];
    worker.chunks += 1;
    Status done = mine.finder->find(w.first + i, worker, chunk.leaf);
    if (done && !chunk.leaf.object) {
      worker.absent += 1;
      continue;
    }
    if (done) {
      const StageClock clock(worker, Stage::fetch);
      worker.requests += 1;
      worker.stored_bytes += chunk.leaf.size_bytes;
      done = load_chunk(mine, w, w.encoded[group], chunk, pending);
    }
    chunk.leaf.object.reset();
    chunk.state = done ? Chunk::State::read : Chunk::State::unreadable;
    if (!done) PENSTOCK_TRY(note(std::move(done).error(), chunk.leaf));
  }
  PENSTOCK_TRY(flush(mine, w, w.encoded[group], pending));
  worker.seconds[static_cast<std::size_t>(Stage::fetch)] -= mine.pieces.waited_seconds() - waited;
  return {};
}

/// Decoding and placement.
Status WavePipeline::launch(Wave& wave) {
  wave.batch.emplace(chain);
  wave.read.clear();
  for (std::size_t i = 0; i < wave.chunks.size(); ++i) {
    if (wave.chunks[i].state != Chunk::State::read) continue;
    wave.batch->add_at(wave.chunks[i].encoded, wave.chunks[i].leaf.size_bytes);
    wave.read.push_back(i);
  }
  ChainBatch& batch = *wave.batch;
  if (batch.size() > 0) {
    PENSTOCK_ASSIGN(wave.device, allocate(wave, batch.device_bytes()));
    Bytes words;
    PENSTOCK_TRY(words.resize_discard(batch.words_bytes()));
    batch.write_words(words.data(), wave.device.data());
    PENSTOCK_TRY(worker_states.all.local().pieces.send_all(words, wave.device.data(), wave.stream));
    PENSTOCK_TRY(batch.decode(wave.stream));
  }
  std::vector<PlaceItem> items;
  std::vector<PartArray> parts;
  items.reserve(wave.chunks.size());
  parts.reserve(wave.chunks.size());
  std::uint32_t in_batch = 0;
  for (const Chunk& chunk : wave.chunks) {
    const std::byte* const decoded = chunk.state == Chunk::State::read ? batch.decoded(in_batch++) : nullptr;
    items.push_back(r.place_item(chunk.leaf, decoded, parts.emplace_back(r.segments(chunk.leaf))));
  }
  return place(items, wave.stream);
}

/// A chunk that the device refused: the CPU's decoder says whether and how it is wrong.  Its encoded bytes come back
/// from the device.
Status WavePipeline::decode_on_cpu(Wave& wave, std::uint32_t i, std::vector<PlaceItem>& again,
                                   std::vector<PartArray>& parts) {
  const Chunk& chunk = wave.chunks[wave.read[i]];
  Worker& worker = job.worker();
  PENSTOCK_TRY(worker.encoded.resize_discard(chunk.leaf.size_bytes));
  PENSTOCK_TRY(copy_async(worker.encoded.data(), {}, chunk.encoded, r.device, chunk.leaf.size_bytes, wave.stream));
  PENSTOCK_TRY(wave.stream.synchronize());
  const StageClock clock(worker, Stage::decode);
  PENSTOCK_TRY(worker.decoded.resize_discard(r.chain->decoded_size()));
  PENSTOCK_TRY(r.chain->decode_to_layout(worker.encoded, worker.decoded.span(), worker.scratch, {}));
  auto* const to = const_cast<std::byte*>(wave.batch->decoded(i));
  PENSTOCK_TRY(copy_async(to, r.device, worker.decoded.data(), {}, worker.decoded.size(), wave.stream));
  PENSTOCK_TRY(wave.stream.synchronize());  // the buffer is used again
  again.push_back(r.place_item(chunk.leaf, to, parts.emplace_back(r.segments(chunk.leaf))));
  chunks_on_cpu += 1;
  return {};
}

/// Waits for a wave, looks at what became of its chunks, and gives its memory back.
Status WavePipeline::finish(Wave& wave) {
  ChainBatch& batch = *wave.batch;
  std::vector<std::byte> results(batch.size() > 0 ? batch.results_bytes() : 0);
  if (!results.empty())
    PENSTOCK_TRY(copy_async(results.data(), {}, wave.device.data(), r.device, results.size(), wave.stream));
  PENSTOCK_TRY(wave.stream.synchronize());
  batch.take_results(results.data());
  std::vector<PlaceItem> again;
  std::vector<PartArray> parts;
  parts.reserve(batch.size());
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    if (batch.outcome(i).status) continue;
    PENSTOCK_TRY(job.check());
    Status done = decode_on_cpu(wave, i, again, parts);
    if (done) continue;
    const Leaf& leaf = wave.chunks[wave.read[i]].leaf;
    PENSTOCK_TRY(note(std::move(done).error(), leaf));
    again.push_back(r.place_item(leaf, nullptr, parts.emplace_back(r.segments(leaf))));
  }
  if (!again.empty()) {
    PENSTOCK_TRY(place(again, wave.stream));
    PENSTOCK_TRY(wave.stream.synchronize());
  }
  for (const Chunk& chunk : wave.chunks) job.advance(r.output_bytes(chunk.leaf));
  wave.encoded.clear();
  wave.device = Buffer();
  const std::scoped_lock lock(mutex);
  device_bytes -= std::exchange(wave.device_bytes, 0);
  return {};
}

Status WavePipeline::run() {
  const std::uint64_t workers = std::min(job.worker_count(), cut.groups());
  PENSTOCK_TRY(job.for_each(workers, true, [&](std::uint64_t) {
    Status done = guarded([&] { return work(); });  // the others wait for the waves that this one had begun
    if (!done) {
      const std::scoped_lock lock(mutex);
      stopped = true;
      changed.notify_all();
    }
    return done;
  }));
  for (; finished < opened; ++finished) PENSTOCK_TRY(finish(wave_of(finished)));
  return {};
}

/// Device memory of a wave of `chunks` chunks that are as long as they can be.
std::uint64_t wave_bytes(const CodecChain& chain, const DeviceChain& device, std::uint64_t chunks) {
  ChainBatch batch(device);
  const std::uint64_t each = max_encoded_bytes(chain).value_or(2 * chain.decoded_size());
  for (std::uint64_t i = 0; i < chunks; ++i) batch.add(each);
  return batch.device_bytes();
}

/// The largest waves of which `in_flight` fit into `device_bytes`.
Cut choose_cut(const CodecChain& chain, const DeviceChain& device, std::uint64_t device_bytes, std::uint64_t chunks) {
  const std::uint64_t each = std::max<std::uint64_t>(chain.decoded_size(), 1);
  std::uint64_t fits = 1, too_many = std::clamp<std::uint64_t>(kWaveDecodedBytes / each, 1, kWaveChunks) + 1;
  while (fits + 1 < too_many) {
    const std::uint64_t middle = (fits + too_many) / 2;
    (wave_bytes(chain, device, middle) <= device_bytes ? fits : too_many) = middle;
  }
  const std::uint64_t group = std::clamp<std::uint64_t>(kGroupDecodedBytes / each, 1, std::min(fits, kGroupChunks));
  return {chunks, fits / group * group, group};
}

}  // namespace

std::uint64_t min_wave_bytes(const CodecChain& chain, const DeviceChain& device) {
  return 2 * wave_bytes(chain, device, 1);
}

Result<WaveStats> run_waves(const Request& r, const DeviceChain& chain, std::uint64_t device_bytes, Job& job,
                            WorkerStates& worker_states, const CancelToken& cancel) {
  PENSTOCK_ASSIGN(const LeafFinder all, LeafFinder::make(r.state, r.view, r.region));
  const std::uint64_t in_flight =
      std::clamp<std::uint64_t>(device_bytes / wave_bytes(*r.chain, chain, 1), 1, kWavesInFlight);
  WavePipeline flight{r,
                      chain,
                      job,
                      worker_states,
                      cancel,
                      choose_cut(*r.chain, chain, device_bytes / in_flight, all.size()),
                      std::vector<Wave>(in_flight)};
  for (Wave& wave : flight.waves) {
    PENSTOCK_ASSIGN(wave.stream, Stream::create(r.device));
    PENSTOCK_TRY(r.begin.wait_on(wave.stream));
  }
  Status done = guarded([&] { return flight.run(); });
  // Before memory of unfinished waves is used again, the device must be done with it.
  if (!done) {
    for (const Wave& wave : flight.waves) PENSTOCK_TRY(wave.stream.synchronize());
    return std::move(done).error();
  }
  return WaveStats{flight.peak_device_bytes, flight.chunks_on_cpu};
}

}  // namespace penstock::device_read
