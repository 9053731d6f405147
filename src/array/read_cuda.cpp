// Two ways into device memory.  Chunks that are raw or that the CPU decodes: every worker fills small slabs of the
// pinned ring and sends them up on a stream of its own, so that reading, decoding, uploading and placing overlap
// without a barrier.  Chunks that the device decodes: large waves, so that many chunks are decoded by one launch.
#include "array/read_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "array/budget.hpp"
#include "array/chunk_io.hpp"
#include "array/leaf.hpp"
#include "array/place/place.hpp"
#include "array/reader.hpp"
#include "codec/lz4/device.hpp"
#include "core/checked.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"
#include "device/pinned_ring.hpp"
#include "device/staging.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t{8} << 20;         // a worker's slab: copy time far above launch time
constexpr std::uint64_t kWaveDecodedBytes = std::uint64_t{1} << 30;  // decoded bytes of one launch
constexpr std::uint64_t kAlign = 256;
constexpr std::size_t kWavesInFlight = 2;

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// What one region needs on its way; shared by all workers, constant while they run.
struct Request {
  std::shared_ptr<Array::State> state;
  std::shared_ptr<const ArrayView> view;
  const CodecChain* chain = nullptr;  // of the innermost chunks
  Region region;
  Device device;
  std::byte* target = nullptr;
  Strides strides;
  std::vector<SwapRun> swaps;
  std::vector<std::byte> fill;
  std::uint64_t item_bytes = 1;
  Event begin;  // in the caller's stream
  std::shared_ptr<PinnedRing> ring;
  std::shared_ptr<Memory> memory;
  OnError on_error = OnError::fail;

  [[nodiscard]] std::span<const Segment> segments(const Leaf& leaf) const {
    return {leaf.segments.data(), region.size()};
  }
  [[nodiscard]] std::uint64_t output_bytes(const Leaf& leaf) const {
    std::uint64_t bytes = item_bytes;
    for (const Segment& s : segments(leaf)) bytes *= s.count;
    return bytes;
  }
  /// A placement of `leaf` from `source` (nullptr: fill value); `part` must outlive it.
  [[nodiscard]] PlaceItem place_item(const Leaf& leaf, const std::byte* source, const PartArray& part) const {
    PlaceItem item;
    item.source = source;
    item.source_strides = chain->raw_layout().strides;
    item.part = part;
    item.target = target;
    for (std::size_t d = 0; d < region.size(); ++d)
      item.target += static_cast<std::int64_t>(leaf.segments[d].out_start) * strides[d];
    item.target_strides = strides;
    item.item_bytes = static_cast<std::uint32_t>(item_bytes);
    if (chain->raw_layout().swap) item.swaps = swaps;
    item.fill = fill;
    return item;
  }
  [[nodiscard]] Error named(Error error, const Leaf& leaf) const {
    if (error.message().find(leaf.name) == std::string::npos) error.add_context(state->store->url() + "/" + leaf.name);
    return error;
  }
};

Result<Request> make_request(const ReadItem& item, const Options& options) {
  Request r;
  r.state = ArrayAccess::share(*item.array);
  r.view = r.state->current();
  const Dataset& dataset = r.view->dataset;
  PENSTOCK_TRY(check_region(item.region, dataset.shape));
  r.chain = &innermost(r.view->chain);
  r.region = item.region;
  r.device = item.target.device;
  r.target = static_cast<std::byte*>(item.target.data);
  r.strides = item.target.strides;
  r.item_bytes = dataset.dtype.size_bytes;
  if (r.strides.empty()) {
    PENSTOCK_ASSIGN(r.strides, c_strides(shape_of(item.region), r.item_bytes));
  } else if (r.strides.size() != item.region.size()) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} strides for {} dimensions", r.strides.size(), item.region.size()));
  }
  if (item.target.stream.device() != r.device)
    return Error(ErrorCode::invalid_argument, "the stream of a device target must be one of that device");
  r.swaps = swap_runs(dataset.dtype);
  PENSTOCK_ASSIGN(r.fill, fill_element(dataset, nullptr));
  PENSTOCK_ASSIGN(r.begin, Event::record(item.target.stream));
  PENSTOCK_ASSIGN(r.ring, shared_pinned_ring(Device::Type::cuda));
  PENSTOCK_ASSIGN(r.memory, staging_memory(r.device));
  r.on_error = options.on_error;
  return r;
}

/// A stream of one worker, with memory on the device that is used again for each of its slabs.
struct Lane {
  Stream stream;
  Buffer staging;
  bool started = false;
  std::optional<LeafFinder> finder;
  double waited_seconds = 0;  // for a free slab: the device was behind

  Status start(const Request& r, std::uint64_t staging_bytes) {
    if (started) return {};
    PENSTOCK_ASSIGN(stream, Stream::create(r.device));
    PENSTOCK_TRY(r.begin.wait_on(stream));
    if (staging_bytes > 0) {
      PENSTOCK_ASSIGN(staging, r.memory->allocate(staging_bytes, kAlign, stream));
    }
    PENSTOCK_ASSIGN(LeafFinder f, LeafFinder::make(r.state, r.view, r.region));
    finder = std::move(f);
    started = true;
    return {};
  }
  Result<Slab> slab(const Request& r, std::uint64_t bytes, const CancelToken& cancel) {
    const auto start_time = std::chrono::steady_clock::now();
    auto slab = r.ring->acquire(bytes, cancel);
    waited_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count();
    return slab;
  }
};

/// Fetches one chunk and leaves it raw (only the touched bytes of it, moved to the front, when `part` says so).
Result<std::uint64_t> load_raw(const Request& r, Worker& worker, const Leaf& leaf, PartArray& part, ByteSpan to) {
  PENSTOCK_TRY(check_encoded_size(*r.chain, leaf.size_bytes));
  worker.requests += 1;
  if (r.chain->is_raw()) {
    const StageClock clock(worker, Stage::fetch);
    const ByteExtent extent = touched_bytes(r.chain->raw_layout(), r.segments(leaf), r.item_bytes);
    const std::uint64_t count = extent.last - extent.first;
    worker.stored_bytes += count;
    PENSTOCK_TRY(leaf.object->read(leaf.offset_bytes + extent.first, to.first(count)));
    part.to_front();
    return count;
  }
  {
    const StageClock clock(worker, Stage::fetch);
    worker.stored_bytes += leaf.size_bytes;
    PENSTOCK_TRY(worker.encoded.resize_discard(leaf.size_bytes));
    PENSTOCK_TRY(leaf.object->read(leaf.offset_bytes, worker.encoded.span()));
  }
  const StageClock clock(worker, Stage::decode);
  PENSTOCK_TRY(r.chain->decode_raw(worker.encoded, to.first(r.chain->decoded_size()), worker.scratch, {}));
  return r.chain->decoded_size();
}

/// Chunks [first, last) through one slab.
Status send_slab(const Request& r, Job& job, Lane& lane, std::uint64_t first, std::uint64_t last,
                 const CancelToken& cancel) {
  const std::uint64_t each = aligned(r.chain->decoded_size());
  PENSTOCK_TRY(lane.start(r, each * std::max<std::uint64_t>(last - first, kSlabBytes / std::max(each, kAlign))));
  PENSTOCK_ASSIGN(Slab slab, lane.slab(r, each * (last - first), cancel));
  Worker& worker = job.worker();
  std::vector<PlaceItem> items;
  std::vector<PartArray> parts;
  items.reserve(last - first);
  parts.reserve(last - first);
  std::uint64_t at = 0, bytes = 0;
  Leaf leaf;
  for (std::uint64_t i = first; i < last; ++i) {
    PENSTOCK_TRY(job.check());
    const Status found = lane.finder->find(i, worker, leaf);
    parts.emplace_back(r.segments(leaf));
    worker.chunks += 1;
    bytes += r.output_bytes(leaf);
    Result<std::uint64_t> loaded = std::uint64_t{0};
    if (!found)
      loaded = found.error();
    else if (!leaf.object)
      worker.absent += 1;
    else
      loaded = load_raw(r, worker, leaf, parts.back(), {slab.data() + at, each});
    if (!loaded) {
      const Error error = r.named(loaded.error(), leaf);
      if (r.on_error == OnError::fail || error.code() == ErrorCode::cancelled) return error;
      job.add_problem(leaf.name, error.message());
    }
    const bool present = loaded && leaf.object;
    items.push_back(r.place_item(leaf, present ? lane.staging.data() + at : nullptr, parts.back()));
    if (present) at += aligned(*loaded);
  }
  if (at > 0) PENSTOCK_TRY(copy_async(lane.staging.data(), r.device, slab.data(), {}, at, lane.stream));
  Status placed = place_cuda(items, lane.stream);
  auto done = placed ? Event::record(lane.stream) : Result<Event>(std::move(placed).error());
  if (!done) {  // the slab must not be used again while it is going up
    PENSTOCK_TRY(lane.stream.synchronize());
    return std::move(done).error();
  }
  slab.release_after(*std::move(done));
  job.advance(bytes);
  return {};
}

/// A launch on its way: what must be looked at when it is done.
struct Wave {
  Slab slab;  // task and result words in front, then the encoded chunks
  Buffer device;
  std::vector<Leaf> leaves;
  std::vector<PartArray> parts;
  std::vector<std::size_t> task_of;  // leaf -> task; npos: absent
  std::uint64_t tasks = 0;
  std::uint64_t bytes = 0;
  Event done;

  static constexpr std::size_t npos = ~std::size_t{0};
  [[nodiscard]] DecodeTask* task_words() const { return reinterpret_cast<DecodeTask*>(slab.data()); }
  [[nodiscard]] ChunkStatus* result_words() const {
    return reinterpret_cast<ChunkStatus*>(slab.data() + aligned(tasks * sizeof(DecodeTask)));
  }
  [[nodiscard]] static std::uint64_t header_bytes(std::uint64_t tasks) {
    return aligned(tasks * sizeof(DecodeTask)) + aligned(tasks * sizeof(ChunkStatus));
  }
};

/// Locates chunks from `next` on until the wave is full.
Status fill_wave(const Request& r, Job& job, Lane& lane, std::uint64_t& next, Wave& wave) {
  const std::uint64_t most_encoded = r.ring->capacity_bytes() / (kWavesInFlight + 1);
  std::uint64_t encoded = 0, decoded = 0;
  const std::uint64_t each = aligned(r.chain->decoded_size());
  while (next < lane.finder->size()) {
    Leaf leaf;
    Status found = lane.finder->find(next, job.worker(), leaf);
    if (found && leaf.object) found = check_encoded_size(*r.chain, leaf.size_bytes);
    if (!found) {
      const Error error = r.named(std::move(found).error(), leaf);
      if (r.on_error == OnError::fail) return error;
      job.add_problem(leaf.name, error.message());
      leaf.object = nullptr;
    }
    const std::uint64_t size = leaf.object ? aligned(leaf.size_bytes) + sizeof(DecodeTask) + sizeof(ChunkStatus) : 0;
    if (!wave.leaves.empty() && (encoded + size > most_encoded || decoded + each > kWaveDecodedBytes)) return {};
    encoded += size;
    decoded += leaf.object ? each : 0;
    wave.task_of.push_back(leaf.object ? wave.tasks++ : Wave::npos);
    wave.bytes += r.output_bytes(leaf);
    job.worker().chunks += 1;
    job.worker().absent += leaf.object ? 0 : 1;
    wave.parts.emplace_back(r.segments(leaf));
    wave.leaves.push_back(std::move(leaf));
    ++next;
  }
  return {};
}

/// Reads the encoded chunks of a wave side by side into its slab and starts upload, decoding and placement.
Status send_wave(const Request& r, Job& job, Lane& lane, Wave& wave, const CancelToken& cancel) {
  std::vector<std::uint64_t> at(wave.leaves.size());
  std::uint64_t encoded = 0;
  for (std::size_t i = 0; i < wave.leaves.size(); ++i) {
    at[i] = encoded;
    if (wave.leaves[i].object) encoded += aligned(wave.leaves[i].size_bytes);
  }
  const std::uint64_t header = Wave::header_bytes(wave.tasks), each = aligned(r.chain->decoded_size());
  PENSTOCK_ASSIGN(wave.slab, lane.slab(r, header + encoded, cancel));
  std::vector<char> unread(wave.leaves.size(), 0);
  PENSTOCK_TRY(job.for_each(wave.leaves.size(), true, [&](std::uint64_t i) -> Status {
    const Leaf& leaf = wave.leaves[i];
    if (!leaf.object) return {};
    Worker& worker = job.worker();
    const StageClock clock(worker, Stage::fetch);
    worker.requests += 1;
    worker.stored_bytes += leaf.size_bytes;
    const Status read = leaf.object->read(leaf.offset_bytes, {wave.slab.data() + header + at[i], leaf.size_bytes});
    if (read) return {};
    const Error error = r.named(read.error(), leaf);
    if (r.on_error == OnError::fail) return error;
    job.add_problem(leaf.name, error.message());
    unread[i] = 1;
    return {};
  }));
  PENSTOCK_ASSIGN(wave.device, r.memory->allocate(encoded + wave.tasks * each, kAlign, lane.stream));
  std::byte* raw = wave.device.data() + encoded;
  std::vector<PlaceItem> items;
  for (std::size_t i = 0; i < wave.leaves.size(); ++i) {
    const std::size_t task = wave.task_of[i];
    std::byte* chunk = task == Wave::npos ? nullptr : raw + task * each;
    if (task != Wave::npos) {
      wave.task_words()[task] = {wave.device.data() + at[i], unread[i] ? 0 : wave.leaves[i].size_bytes, chunk,
                                 r.chain->decoded_size()};
      wave.result_words()[task] = {};
    }
    items.push_back(r.place_item(wave.leaves[i], unread[i] ? nullptr : chunk, wave.parts[i]));
  }
  if (wave.tasks > 0) {
    PENSTOCK_TRY(copy_async(wave.device.data(), r.device, wave.slab.data() + header, {}, encoded, lane.stream));
    PENSTOCK_TRY(lz4::decode_cuda(wave.task_words(), static_cast<std::uint32_t>(wave.tasks), wave.result_words(),
                                  lz4::Framing::numcodecs, lane.stream));
  }
  PENSTOCK_TRY(place_cuda(items, lane.stream));
  PENSTOCK_ASSIGN(wave.done, Event::record(lane.stream));
  return {};
}

/// Waits for a wave and looks at what became of its chunks.
Status finish_wave(const Request& r, Job& job, Lane& lane, Wave& wave) {
  PENSTOCK_TRY(wave.done.synchronize());
  std::vector<PlaceItem> again;
  for (std::size_t i = 0; i < wave.leaves.size(); ++i) {
    if (wave.task_of[i] == Wave::npos || wave.task_words()[wave.task_of[i]].in_bytes == 0) continue;
    const Status decoded = to_status(wave.result_words()[wave.task_of[i]], "lz4");
    if (decoded) continue;
    const Error error = r.named(decoded.error(), wave.leaves[i]);
    if (r.on_error == OnError::fail) return error;
    job.add_problem(wave.leaves[i].name, error.message());
    again.push_back(r.place_item(wave.leaves[i], nullptr, wave.parts[i]));
  }
  if (!again.empty()) PENSTOCK_TRY(place_cuda(again, lane.stream));
  job.advance(wave.bytes);
  return {};
}

Status fly_waves(const Request& r, Job& job, Lane& lane, std::deque<Wave>& flying, const CancelToken& cancel) {
  std::uint64_t next = 0;
  while (next < lane.finder->size() || !flying.empty()) {
    PENSTOCK_TRY(job.check());
    if (flying.size() == kWavesInFlight || next == lane.finder->size()) {
      PENSTOCK_TRY(finish_wave(r, job, lane, flying.front()));
      flying.pop_front();
      continue;
    }
    Wave& wave = flying.emplace_back();
    PENSTOCK_TRY(fill_wave(r, job, lane, next, wave));
    PENSTOCK_TRY(send_wave(r, job, lane, wave, cancel));
  }
  return {};
}

Status decode_on_device(const Request& r, Job& job, Lane& lane, const CancelToken& cancel) {
  PENSTOCK_TRY(lane.start(r, 0));
  std::deque<Wave> flying;
  Status done = fly_waves(r, job, lane, flying, cancel);
  // Before the slabs of unfinished waves are used again, the device must be done with them.
  if (!done) PENSTOCK_TRY(lane.stream.synchronize());
  return done;
}

}  // namespace

namespace {

/// Whether the device's lz4 decoder is quicker than all CPU cores.  One warp works on a chunk, so a batch takes as long
/// as a chunk does until thousands are under way.  Measured on an H200 with 16 cores: 60 to 300 ns a byte of a chunk,
/// 100 here; 1.2 GB/s a core.
bool device_is_quicker(std::uint64_t chunk_bytes, std::uint64_t chunks, std::uint64_t threads) {
  constexpr double kNanosecondsPerByte = 100, kChunksAtOnce = 4096, kCoreBytesPerNanosecond = 1.2;
  const double bytes = static_cast<double>(chunk_bytes);
  const double on_device = bytes * kNanosecondsPerByte * std::max(1.0, static_cast<double>(chunks) / kChunksAtOnce);
  const double on_cpu = bytes * static_cast<double>(chunks) / (kCoreBytesPerNanosecond * static_cast<double>(threads));
  return on_device < on_cpu;
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
  PENSTOCK_ASSIGN(const DecodePlace wanted, decode_place());
  path.decode = CudaPath::Decode::on_cpu;
  path.text = "cpu, " + inner.text();
  const auto b2b = inner.bytes_codecs();
  bool transposes_only = true;
  for (const auto& codec : inner.array_codecs()) transposes_only = transposes_only && !codec->permutation().empty();
  const bool able =
      b2b.size() == 1 && b2b[0]->spec().name.ends_with("lz4") && inner.array_to_bytes().is_plain() && transposes_only;
  if (!able) {
    path.reason = "no device decoder for these codecs yet: all CPU cores, then upload through pinned memory";
    return path;
  }
  const bool quicker = device_is_quicker(inner.decoded_size(), chunks, threads);
  if (wanted == DecodePlace::cpu || (wanted == DecodePlace::automatic && !quicker)) {
    path.reason = wanted == DecodePlace::cpu
                      ? "PENSTOCK_DECODE=cpu"
                      : fmt::format("{} chunks of {} are too few for one warp each: {} CPU threads",
                                    format_count(chunks), format_bytes(inner.decoded_size()), threads);
    return path;
  }
  path.decode = CudaPath::Decode::on_device;
  path.text = device.name() + ", lz4 (own)";
  path.reason = wanted == DecodePlace::device ? "PENSTOCK_DECODE=device"
                                              : fmt::format("{} chunks, one warp each", format_count(chunks));
  return path;
}

Result<Report> read_cuda(const ReadItem& item, const Options& options) {
  PENSTOCK_ASSIGN(Request r, make_request(item, options));
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape_of(item.region)));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(elements, r.item_bytes));
  const std::uint64_t each = aligned(r.chain->decoded_size());
  const std::uint64_t per_slab = std::max<std::uint64_t>(kSlabBytes / std::max(each, kAlign), 1);
  const std::uint64_t encoded = longest_encoding(*r.chain).value_or(2 * r.chain->decoded_size());
  // A worker has a slab being filled and one going up, and what decoding takes.
  PENSTOCK_ASSIGN(const Allowance allowed,
                  allow(options, 2 * each * per_slab + (r.chain->is_raw() ? 0 : encoded + r.chain->scratch_bytes())));
  PENSTOCK_ASSIGN(const CutRegion cut, CutRegion::make(item.region, r.chain->decoded().shape));
  PENSTOCK_ASSIGN(const CudaPath path,
                  cuda_path(r.view->dataset, r.view->chain, r.device, cut.size(), allowed.workers));
  Job job(options, "read", bytes, allowed.workers);
  tbb::enumerable_thread_specific<Lane> lanes;
  const Status done = job.run([&]() -> Status {
    if (path.decode == CudaPath::Decode::on_device) return decode_on_device(r, job, lanes.local(), options.cancel);
    PENSTOCK_ASSIGN(const LeafFinder all, LeafFinder::make(r.state, r.view, r.region));
    const std::uint64_t slabs = div_up(all.size(), per_slab);
    return job.for_each(slabs, true, [&](std::uint64_t s) {
      return send_slab(r, job, lanes.local(), s * per_slab, std::min((s + 1) * per_slab, all.size()), options.cancel);
    });
  });
  // Also after an error: nothing may still write into the target when the caller has it back.
  double waited = 0;
  for (Lane& lane : lanes) {
    waited += lane.waited_seconds;
    if (!lane.started) continue;
    if (!done) {
      PENSTOCK_TRY(lane.stream.synchronize());
      continue;
    }
    PENSTOCK_ASSIGN(const Event end, Event::record(lane.stream));
    PENSTOCK_TRY(end.wait_on(item.target.stream));
  }
  if (!done) return done.error();
  Report report;
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  report.peak_host_bytes += r.ring->allocated_bytes();
  report.peak_device_bytes = r.memory->peak_bytes();
  const std::string threads = fmt::format("{} threads", job.worker_count());
  report.stages = {
      {"fetch", r.state->store->path_taken() + ", " + threads,
       fmt::format("{} requests", format_count(report.requests)), report.stored_bytes, job.stage_seconds(Stage::fetch)},
      {"decode", path.text, path.reason, report.decoded_bytes, job.stage_seconds(Stage::decode)},
      {"upload", r.device.name() + ", pinned ring",
       path.decode == CudaPath::Decode::on_device ? "encoded bytes" : "decoded bytes",
       path.decode == CudaPath::Decode::on_device ? report.stored_bytes : report.decoded_bytes, waited},
      {"assemble", r.device.name(), "byte order, fill and placement in one pass", report.decoded_bytes, 0}};
  return report;
}

}  // namespace penstock
