// Chunks that the device decodes.  A wave is a batch of them, of whichever regions and arrays.  Workers take small
// groups of chunks, read them and send them up; whoever brings the last group of a wave starts its decoding and
// placement.  Each wave has a stream of its own, so that waves overlap: one is read and goes up while others are
// decoded.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <utility>

#include "array/device/read.hpp"
#include "array/read/chunk_feed.hpp"

namespace penstock::device_read {
namespace {

/// A chunk of a wave.
struct Chunk {
  enum class State : std::uint8_t { absent, unreadable, read, decoded };
  std::shared_ptr<const ObjectChunks> object;
  const ObjectChunks::Chunk* of = nullptr;  // in the object
  State state = State::absent;
  std::uint64_t encoded_bytes = 0;
  const std::byte* encoded = nullptr;  // on the device
  const std::byte* decoded = nullptr;  // there too, of what the CPU decodes; nullptr: nothing, or the batch's

  /// What it takes of a piece and of device memory.
  [[nodiscard]] std::uint64_t space() const { return aligned(std::max<std::uint64_t>(encoded_bytes, 1)); }
  /// The device's decoders are for chunks that do not end early.
  [[nodiscard]] bool ends_early() const { return of->chain != object->region().chain; }
  [[nodiscard]] const CodecChain& chain() const { return *of->chain; }
};

/// What one worker brings to a wave.
struct Group {
  std::vector<Chunk> chunks;
  std::vector<Buffer> buffers;  // on the device
};

/// One of those in flight; used again for later waves.
struct Wave {
  Stream stream;
  std::vector<Group> groups;
  std::optional<ChainBatch> batch;
  std::vector<const Chunk*> read;  // chunks of the batch
  Buffer device;
  // Guarded by WavePipeline::mutex:
  std::uint64_t taken = 0, loaded = 0;  // groups
  enum class Step : std::uint8_t { loading, launching, launched } step = Step::loading;
  std::uint64_t device_bytes = 0;
};

/// What all workers of a read share.
struct WavePipeline {
  DeviceRun& run;
  const DeviceChain& chain;
  const WaveLimits& limits;
  Job& job;
  std::vector<Wave> waves;  // in flight
  std::atomic<std::uint64_t> chunks_on_cpu{0};

  std::mutex mutex{};
  std::condition_variable changed{};
  std::uint64_t opened = 0, finished = 0;  // waves
  bool finishing = false, stopped = false;
  bool exhausted = false;  // there are no more chunks
  std::uint64_t device_bytes = 0, peak_device_bytes = 0;

  Wave& wave_of(std::uint64_t wave) { return waves[wave % waves.size()]; }
  Result<Buffer> allocate(Wave& wave, std::uint64_t bytes);

  Status work(std::uint64_t workers);
  Result<std::pair<Wave*, Group*>> take_group(bool has_chunks);
  Result<bool> load(WorkerState& mine, Wave& wave, Group& group, ChunkFeed::Share& share, Load& held, bool& again);
  Status take(WorkerState& mine, Wave& wave, Group& group, const Load& load, std::vector<Chunk*>& pending, bool& again);
  Status load_chunk(WorkerState& mine, Wave& wave, Group& group, ChunkBytes& bytes, Chunk& chunk,
                    std::vector<Chunk*>& pending, Status& read);
  Status load_decoded(WorkerState& mine, Wave& wave, Group& group, ChunkBytes& bytes, Chunk& chunk, Status& read);
  Status flush(WorkerState& mine, Wave& wave, Group& group, std::vector<Chunk*>& pending);
  Wave* next_to_launch();
  Status launch(WorkerState& mine, Wave& wave);
  Status decode_on_cpu(Wave& wave, std::uint32_t i, std::vector<PlaceItem>& again, std::vector<PartArray>& parts);
  static void add_items(const Chunk& chunk, const std::byte* decoded, std::vector<PlaceItem>& items,
                        std::vector<PartArray>& parts);
  Status finish(Wave& wave);
  Status run_all();
};

std::size_t uses_of(const Chunk& chunk) { return chunk.of->last_use - chunk.of->first_use; }

Result<Buffer> WavePipeline::allocate(Wave& wave, std::uint64_t bytes) {
  PENSTOCK_ASSIGN(Buffer buffer, run.memory->allocate(bytes, kAlign, wave.stream));
  const std::scoped_lock lock(mutex);
  wave.device_bytes += bytes;
  device_bytes += bytes;
  peak_device_bytes = std::max(peak_device_bytes, device_bytes);
  return buffer;
}

/// One worker: takes groups until there are no more chunks.
Status WavePipeline::work(std::uint64_t workers) {
  PENSTOCK_ASSIGN(WorkerState* const mine, run.worker(workers));
  if (mine == nullptr) return {};
  ChunkFeed::Share share;
  Load held;
  bool again = false;  // this worker gave chunks back to the feed
  for (;;) {
    PENSTOCK_TRY(job.check());
    PENSTOCK_ASSIGN(const auto taken, take_group(again || held.run.first < held.run.last));
    if (taken.first == nullptr) return {};  // there are no more, or a worker failed and says why
    PENSTOCK_ASSIGN(const bool more, load(*mine, *taken.first, *taken.second, share, held, again));
    std::unique_lock lock(mutex);
    taken.first->loaded += 1;
    exhausted = exhausted || !more;
    while (Wave* const ready = next_to_launch()) {
      ready->step = Wave::Step::launching;
      lock.unlock();
      PENSTOCK_TRY(launch(*mine, *ready));
      lock.lock();
      ready->step = Wave::Step::launched;
      changed.notify_all();
    }
  }
}

/// A wave all of whose groups are loaded, and that gets no more.
Wave* WavePipeline::next_to_launch() {
  for (std::uint64_t w = finished; w < opened; ++w) {
    Wave& wave = wave_of(w);
    const bool full = wave.taken == limits.groups || w + 1 < opened || exhausted;
    if (wave.step == Wave::Step::loading && full && wave.loaded == wave.taken) return &wave;
  }
  return nullptr;
}

/// A place in a wave, a new one where the last is full; one of the waiting threads finishes the oldest.
/// `has_chunks`: the worker knows of some, whatever others found.
Result<std::pair<Wave*, Group*>> WavePipeline::take_group(bool has_chunks) {
  std::unique_lock lock(mutex);
  while (!stopped && (has_chunks || !exhausted)) {
    if (opened > finished) {
      Wave& last = wave_of(opened - 1);
      if (last.step == Wave::Step::loading && last.taken < limits.groups)
        return std::pair(&last, &last.groups[last.taken++]);
    }
    if (opened - finished < waves.size()) {
      Wave& wave = wave_of(opened);
      wave.groups.clear();
      wave.groups.resize(limits.groups);
      wave.taken = wave.loaded = 0;
      wave.step = Wave::Step::loading;
      ++opened;
      continue;
    }
    if (finishing || wave_of(finished).step != Wave::Step::launched) {
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
  return std::pair<Wave*, Group*>();
}

/// Sends what waits in the piece to memory of its own.
Status WavePipeline::flush(WorkerState& mine, Wave& wave, Group& group, std::vector<Chunk*>& pending) {
  if (pending.empty()) return {};
  PENSTOCK_ASSIGN(Buffer buffer, allocate(wave, mine.pieces.filled()));
  std::uint64_t at = 0;
  for (Chunk* chunk : pending) {
    chunk->encoded = buffer.data() + at;
    at += chunk->space();
  }
  pending.clear();
  group.buffers.push_back(std::move(buffer));
  return mine.pieces.send(group.buffers.back().data(), wave.stream);
}

/// Brings a chunk into the piece, or, when it is larger, up piece by piece.  `read`: whether it could be read.
Status WavePipeline::load_chunk(WorkerState& mine, Wave& wave, Group& group, ChunkBytes& bytes, Chunk& chunk,
                                std::vector<Chunk*>& pending, Status& read) {
  const std::uint64_t space = chunk.space();
  if (space > mine.pieces.buffer_bytes()) {
    PENSTOCK_TRY(flush(mine, wave, group, pending));
    PENSTOCK_ASSIGN(Buffer buffer, allocate(wave, space));
    chunk.encoded = buffer.data();
    group.buffers.push_back(std::move(buffer));
    return mine.pieces.send_fetched(
        bytes.size(), group.buffers.back().data(), wave.stream,
        [&](std::uint64_t at, ByteSpan into) { return bytes.read(at, into); }, read);
  }
  PENSTOCK_ASSIGN(ByteSpan room, mine.pieces.room(space));
  if (room.empty()) {
    PENSTOCK_TRY(flush(mine, wave, group, pending));
    PENSTOCK_ASSIGN(room, mine.pieces.room(space));
  }
  read = bytes.read(0, room.first(bytes.size()));
  if (!read) return {};
  mine.pieces.fill(space);
  pending.push_back(&chunk);
  return {};
}

/// Brings up a chunk that the CPU decodes.
Status WavePipeline::load_decoded(WorkerState& mine, Wave& wave, Group& group, ChunkBytes& bytes, Chunk& chunk,
                                  Status& read) {
  Worker& worker = job.worker();
  Bytes buffer;  // worker.encoded may hold what one request brought for several chunks
  const auto encoded = bytes.get(0, bytes.size(), buffer);
  if (!encoded) {
    read = encoded.error();
    return {};
  }
  {
    const StageClock clock(worker, Stage::decode);
    PENSTOCK_TRY(worker.decoded.resize_discard(chunk.chain().decoded_size()));
    read = chunk.chain().decode_to_layout(*encoded, worker.decoded.span(), worker.scratch, {});
  }
  if (!read) return {};
  PENSTOCK_ASSIGN(Buffer to, allocate(wave, worker.decoded.size()));
  chunk.decoded = to.data();
  group.buffers.push_back(std::move(to));
  chunks_on_cpu += 1;
  return mine.pieces.send_all(worker.decoded, group.buffers.back().data(), wave.stream);
}

/// The chunks of a load, which have room in the group.
Status WavePipeline::take(WorkerState& mine, Wave& wave, Group& group, const Load& load, std::vector<Chunk*>& pending,
                          bool& again) {
  Worker& worker = job.worker();
  const auto chunks = load.chunks();
  if (chunks.front().ref.error) PENSTOCK_TRY(run.note(*load.object, chunks.front().ref, *chunks.front().ref.error));
  for (const ObjectChunks::Chunk& of : chunks) {
    PENSTOCK_TRY(job.check());
    Chunk& chunk = group.chunks.emplace_back(Chunk{load.object, &of});
    if (of.ref.error) {
      chunk.state = Chunk::State::unreadable;
      continue;
    }
    if (of.ref.state == ChunkRef::State::absent) {
      worker.absent += 1;
      continue;
    }
    Status read;
    auto bytes = ChunkBytes::open(load, of.ref, worker, job.stop());
    if (!bytes) {
      read = std::move(bytes).error();
    } else if (!*bytes) {
      worker.absent += 1;
      continue;
    } else {
      chunk.encoded_bytes = (*bytes)->size();
      read = check_encoded_size(chunk.chain(), chunk.encoded_bytes);
      if (read && chunk.ends_early()) {
        PENSTOCK_TRY(flush(mine, wave, group, pending));
        PENSTOCK_TRY(load_decoded(mine, wave, group, **bytes, chunk, read));
      } else if (read) {
        PENSTOCK_TRY(load_chunk(mine, wave, group, **bytes, chunk, pending, read));
      }
    }
    chunk.state = !read ? Chunk::State::unreadable : chunk.ends_early() ? Chunk::State::decoded : Chunk::State::read;
    if (read) continue;
    PENSTOCK_ASSIGN(const bool later, run.feed.locate_again(load, of, read.error()));
    if (later) {
      group.chunks.pop_back();
      again = true;
      continue;
    }
    PENSTOCK_TRY(run.note(*load.object, of.ref, std::move(read).error()));
  }
  return {};
}

/// Fills a group.  False: there are no more chunks.  What does not fit waits in `held` for the worker's next group.
Result<bool> WavePipeline::load(WorkerState& mine, Wave& wave, Group& group, ChunkFeed::Share& share, Load& held,
                                bool& again) {
  std::vector<Chunk*> pending;
  group.chunks.reserve(limits.group_chunks);  // pointers to them are kept
  bool more = true;
  while (group.chunks.size() < limits.group_chunks) {
    if (held.run.first == held.run.last) {
      PENSTOCK_ASSIGN(more, run.feed.next(share, held));
      if (!more) {
        again = false;
        break;
      }
      if (!held.chunks().front().ref.error) PENSTOCK_TRY(held.bring(job.worker(), job.stop()));
    }
    const std::size_t room = limits.group_chunks - group.chunks.size();
    const std::size_t taken = std::min(room, held.run.last - held.run.first);
    Load some{held.object, {held.run.first, held.run.first + taken}, held.fetched, held.answer};
    PENSTOCK_TRY(take(mine, wave, group, some, pending, again));
    held.run.first += taken;
  }
  job.worker().chunks += group.chunks.size();
  PENSTOCK_TRY(flush(mine, wave, group, pending));
  return more;
}

void WavePipeline::add_items(const Chunk& chunk, const std::byte* decoded, std::vector<PlaceItem>& items,
                             std::vector<PartArray>& parts) {
  ChunkSliceArray slices;
  for (std::size_t u = chunk.of->first_use; u < chunk.of->last_use; ++u) {
    const ChunkUse use = chunk.object->use(*chunk.of, u, slices);
    items.push_back(use.item(decoded, parts.emplace_back(use.slices)));
  }
}

/// Decoding and placement.
Status WavePipeline::launch(WorkerState& mine, Wave& wave) {
  wave.batch.emplace(chain);
  wave.read.clear();
  std::size_t uses = 0;
  for (const Group& group : wave.groups)
    for (const Chunk& chunk : group.chunks) {
      uses += uses_of(chunk);
      if (chunk.state != Chunk::State::read) continue;
      wave.batch->add_at(chunk.encoded, chunk.encoded_bytes);
      wave.read.push_back(&chunk);
    }
  ChainBatch& batch = *wave.batch;
  if (batch.size() > 0) {
    PENSTOCK_ASSIGN(wave.device, allocate(wave, batch.device_bytes()));
    Bytes words;
    PENSTOCK_TRY(words.resize_discard(batch.words_bytes()));
    batch.write_words(words.data(), wave.device.data());
    PENSTOCK_TRY(mine.pieces.send_all(words, wave.device.data(), wave.stream));
    PENSTOCK_TRY(batch.decode(wave.stream));
  }
  std::vector<PlaceItem> items;
  std::vector<PartArray> parts;
  items.reserve(uses);
  parts.reserve(uses);
  std::uint32_t in_batch = 0;
  for (const Group& group : wave.groups)
    for (const Chunk& chunk : group.chunks)
      add_items(chunk, chunk.state == Chunk::State::read ? batch.decoded(in_batch++) : chunk.decoded, items, parts);
  return DeviceRun::place(items, wave.stream);
}

/// A chunk that the device refused: the CPU's decoder says whether and how it is wrong.  Its encoded bytes come back
/// from the device.
Status WavePipeline::decode_on_cpu(Wave& wave, std::uint32_t i, std::vector<PlaceItem>& again,
                                   std::vector<PartArray>& parts) {
  const Chunk& chunk = *wave.read[i];
  const Device device = run.plan.device;
  Worker& worker = job.worker();
  Bytes encoded;  // worker.encoded may hold chunks that wait for the worker's next group
  PENSTOCK_TRY(encoded.resize_discard(chunk.encoded_bytes));
  PENSTOCK_TRY(copy_async(encoded.data(), {}, chunk.encoded, device, chunk.encoded_bytes, wave.stream));
  PENSTOCK_TRY(wave.stream.synchronize());
  const StageClock clock(worker, Stage::decode);
  PENSTOCK_TRY(worker.decoded.resize_discard(chunk.chain().decoded_size()));
  PENSTOCK_TRY(chunk.chain().decode_to_layout(encoded, worker.decoded.span(), worker.scratch, {}));
  auto* const to = const_cast<std::byte*>(wave.batch->decoded(i));
  PENSTOCK_TRY(copy_async(to, device, worker.decoded.data(), {}, worker.decoded.size(), wave.stream));
  PENSTOCK_TRY(wave.stream.synchronize());  // the buffer is used again
  add_items(chunk, to, again, parts);
  chunks_on_cpu += 1;
  return {};
}

/// Waits for a wave, looks at what became of its chunks, and gives its memory back.
Status WavePipeline::finish(Wave& wave) {
  ChainBatch& batch = *wave.batch;
  std::vector<std::byte> results(batch.size() > 0 ? batch.results_bytes() : 0);
  if (!results.empty())
    PENSTOCK_TRY(copy_async(results.data(), {}, wave.device.data(), run.plan.device, results.size(), wave.stream));
  PENSTOCK_TRY(wave.stream.synchronize());
  batch.take_results(results.data());
  std::vector<PlaceItem> again;
  std::vector<PartArray> parts;
  std::size_t uses = 0;
  for (const Chunk* chunk : wave.read) uses += uses_of(*chunk);
  parts.reserve(uses);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    if (batch.outcome(i).status) continue;
    PENSTOCK_TRY(job.check());
    Status done = decode_on_cpu(wave, i, again, parts);
    if (done) continue;
    PENSTOCK_TRY(run.note(*wave.read[i]->object, wave.read[i]->of->ref, std::move(done).error()));
    add_items(*wave.read[i], nullptr, again, parts);
  }
  if (!again.empty()) {
    PENSTOCK_TRY(DeviceRun::place(again, wave.stream));
    PENSTOCK_TRY(wave.stream.synchronize());
  }
  ChunkSliceArray slices;
  for (const Group& group : wave.groups)
    for (const Chunk& chunk : group.chunks)
      for (std::size_t u = chunk.of->first_use; u < chunk.of->last_use; ++u)
        job.advance(chunk.object->use(*chunk.of, u, slices).bytes());
  wave.groups.clear();
  wave.device = Buffer();
  const std::scoped_lock lock(mutex);
  device_bytes -= std::exchange(wave.device_bytes, 0);
  return {};
}

Status WavePipeline::run_all() {
  const std::uint64_t workers =
      std::min(job.worker_count(), std::max<std::uint64_t>(run.plan.chunks / limits.group_chunks, 1));
  PENSTOCK_TRY(job.for_each(workers, true, [&](std::uint64_t) {
    Status done = guarded([&] { return work(workers); });  // the others wait for the waves that this one had begun
    if (!done) {
      run.feed.stop();
      const std::scoped_lock lock(mutex);
      stopped = true;
      changed.notify_all();
    }
    return done;
  }));
  for (; finished < opened; ++finished) PENSTOCK_TRY(finish(wave_of(finished)));
  return {};
}

}  // namespace

Status run_waves(DeviceRun& run, DeviceStats& stats) {
  const WaveLimits& limits = run.plan.waves;
  WavePipeline pipeline{run, *run.plan.decode.chain, limits, run.job, std::vector<Wave>(limits.in_flight)};
  for (Wave& wave : pipeline.waves) {
    PENSTOCK_ASSIGN(wave.stream, Stream::create(run.plan.device));
    PENSTOCK_TRY(run.wait_for_callers(wave.stream));
  }
  Status done = guarded([&] { return pipeline.run_all(); });
  // Before memory of unfinished waves is used again, the device must be done with it.
  if (!done) {
    for (const Wave& wave : pipeline.waves) PENSTOCK_TRY(wave.stream.synchronize());
    return done;
  }
  stats.peak_device_bytes = pipeline.peak_device_bytes;
  stats.waves = pipeline.finished;
  stats.chunks_on_cpu = pipeline.chunks_on_cpu;
  return {};
}

}  // namespace penstock::device_read
