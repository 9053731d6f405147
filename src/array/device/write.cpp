// A write from device memory.  Where the device encodes (array/device/encode_waves.hpp), encoded chunks come down. Else
// the region is cut into boxes of whole objects; every worker brings a box down through the pinned ring, and
// RegionWriter encodes and stores it from there as it does any host memory.  The CPU counts as a device here too, which
// the tests use.
#include "array/device/write.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "array/assemble/place.hpp"
#include "array/device/encode_waves.hpp"
#include "array/write/region_writer.hpp"
#include "core/align.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"
#include "device/pinned_ring.hpp"
#include "exec/budget.hpp"

namespace penstock {
namespace {

/// A box of whole objects of the region.
struct Box {
  Region region;  // of the array
  Shape start;    // first element, in the region's own coordinates
};

/// The region cut into boxes: as many objects as fit into `max_bytes`, neighbours along the last dimensions, at least
/// one.  No object lies in two boxes.
class BoxGrid {
 public:
  static Result<BoxGrid> make(const Region& region, const Shape& chunk_shape, std::uint64_t item_bytes,
                              std::uint64_t max_bytes) {
    BoxGrid grid;
    grid.region_ = region;
    grid.largest_bytes_ = item_bytes;
    std::vector<std::uint64_t> longest(region.size());  // elements that one object has along a dimension
    for (std::size_t d = 0; d < region.size(); ++d) {
      grid.dims_.emplace_back(region[d], chunk_shape[d]);
      const auto step = static_cast<std::uint64_t>(region[d].step), length = region[d].step > 0 ? step : 0 - step;
      longest[d] = std::min(region[d].count, div_up(chunk_shape[d], length));
      PENSTOCK_ASSIGN(grid.largest_bytes_, checked_mul(grid.largest_bytes_, longest[d]));
    }
    grid.objects_.assign(region.size(), 1);
    if (grid.largest_bytes_ == 0) return grid;  // an empty region
    for (std::size_t d = region.size(); d-- > 0;) {
      const std::uint64_t all = grid.dims_[d].size();
      const std::uint64_t fit = std::clamp<std::uint64_t>(max_bytes / grid.largest_bytes_, 1, all);
      grid.objects_[d] = fit;
      grid.largest_bytes_ = grid.largest_bytes_ / longest[d] * std::min(region[d].count, fit * longest[d]);
      if (fit < all) break;
    }
    grid.size_ = 1;
    for (std::size_t d = 0; d < region.size(); ++d) {
      PENSTOCK_ASSIGN(grid.size_, checked_mul(grid.size_, div_up(grid.dims_[d].size(), grid.objects_[d])));
    }
    return grid;
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t largest_bytes() const { return largest_bytes_; }
  [[nodiscard]] Box get(std::uint64_t i) const {
    Box box{region_, Shape(region_.size())};
    for (std::size_t d = region_.size(); d-- > 0;) {
      const std::uint64_t boxes = div_up(dims_[d].size(), objects_[d]);
      const std::uint64_t first = i % boxes * objects_[d];
      i /= boxes;
      const ChunkSlice last = dims_[d][std::min(first + objects_[d], dims_[d].size()) - 1];
      box.start[d] = dims_[d][first].out_start;
      Range& range = box.region[d];
      const auto ahead = static_cast<std::int64_t>(box.start[d]) * range.step;
      range.start = static_cast<std::uint64_t>(static_cast<std::int64_t>(range.start) + ahead);
      range.count = last.out_start + last.count - box.start[d];
    }
    return box;
  }

 private:
  Region region_;
  std::vector<DimPartition> dims_;
  std::vector<std::uint64_t> objects_;  // of a box, along each dimension
  std::uint64_t size_ = 0;
  std::uint64_t largest_bytes_ = 0;
};

/// A box in host memory: a slab, or for objects larger than one, memory that slabs were emptied into.
struct Held {
  Slab slab;
  Bytes bytes;
  [[nodiscard]] const std::byte* data() const { return slab.data() != nullptr ? slab.data() : bytes.view().data(); }
};

/// A stream of one worker, with device memory for what it gathers.
struct WorkerState {
  Stream stream;
  Buffer staging;
  bool started = false;
  std::uint64_t held_bytes = 0;  ///< most that it held beside the ring
  double seconds = 0;

  Status start(const DeviceSource& s) {
    if (started) return {};
    PENSTOCK_ASSIGN(stream, Stream::create(s.device));
    PENSTOCK_TRY(s.ready.wait_on(stream));
    started = true;
    return {};
  }
};

/// How a box is cut into pieces of at most a slab, each of which lies in one piece in C order: dimensions before
/// `split` index by index, `split` by `rows`, the others whole.
struct StagingBuffers {
  std::size_t split = 0;
  std::uint64_t rows = 1;
  std::uint64_t row_bytes = 1;
  std::uint64_t size = 1;

  static StagingBuffers make(const Shape& shape, std::uint64_t item_bytes, std::uint64_t slab_bytes) {
    StagingBuffers p;
    p.row_bytes = item_bytes;
    for (p.split = shape.size(); p.split > 1 && p.row_bytes * shape[p.split - 1] <= slab_bytes;)
      p.row_bytes *= shape[--p.split];
    if (shape.empty()) return p;
    p.split -= 1;
    p.rows = std::clamp<std::uint64_t>(slab_bytes / p.row_bytes, 1, shape[p.split]);
    p.size = div_up(shape[p.split], p.rows);
    for (std::size_t d = 0; d < p.split; ++d) p.size *= shape[d];
    return p;
  }
};

/// Brings `count` rows along dimension `split`, the first of them at `from`, into `to`.
Status bring_piece(const DeviceSource& s, WorkerState& mine, const std::byte* from, const Shape& shape,
                   std::size_t split, std::uint64_t count, std::byte* to) {
  std::vector<Range> part;
  for (std::size_t d = split; d < shape.size(); ++d) part.push_back({0, d == split ? count : shape[d], 1});
  PENSTOCK_ASSIGN(const Strides packed, c_strides(shape_of(part), s.item_bytes));
  std::uint64_t bytes = s.item_bytes;
  bool contiguous = true;
  for (std::size_t i = 0; i < part.size(); ++i) {
    bytes *= part[i].count;
    contiguous = contiguous && (part[i].count == 1 || s.strides[split + i] == packed[i]);
  }
  if (!contiguous) {
    if (mine.staging.size() < bytes) {
      PENSTOCK_ASSIGN(mine.staging, s.memory->allocate(std::max(bytes, s.slab_bytes), kAlign, mine.stream));
    }
    PlaceItem item;
    item.source = from;
    item.source_strides = std::span(s.strides).subspan(split);
    item.part = part;
    item.target = mine.staging.data();
    item.target_strides = packed;
    item.item_bytes = static_cast<std::uint32_t>(s.item_bytes);
    PENSTOCK_TRY(s.device.type == Device::Type::cpu ? place_cpu(item) : place_cuda({&item, 1}, mine.stream));
    from = mine.staging.data();
  }
  PENSTOCK_TRY(copy_async(to, {}, from, s.device, bytes, mine.stream));
  const auto done = Event::record(mine.stream);  // waiting for an event sleeps, which leaves the core to the encoders
  return done ? done->synchronize() : mine.stream.synchronize();
}

/// The elements of a box in host memory, C order.
Result<Held> bring_down(const DeviceSource& s, WorkerState& mine, const Box& box, const CancelToken& cancel) {
  const auto began = std::chrono::steady_clock::now();
  PENSTOCK_TRY(mine.start(s));
  const Shape shape = shape_of(box.region);
  const StagingBuffers pieces = StagingBuffers::make(shape, s.item_bytes, s.slab_bytes);
  const std::uint64_t along = shape.empty() ? 1 : shape[pieces.split];
  const std::uint64_t groups = div_up(along, pieces.rows);
  Held held;
  if (pieces.size > 1) PENSTOCK_TRY(held.bytes.resize_discard(pieces.size / groups * along * pieces.row_bytes));
  PENSTOCK_ASSIGN(Slab slab, s.ring->acquire(pieces.rows * pieces.row_bytes, cancel));
  for (std::uint64_t p = 0; p < pieces.size; ++p) {
    const std::uint64_t row = p % groups * pieces.rows, count = std::min(pieces.rows, along - row);
    const std::byte* from = s.data;
    std::uint64_t outer = p / groups;
    for (std::size_t d = pieces.split; d-- > 0; outer /= shape[d])
      from += static_cast<std::int64_t>(outer % shape[d]) * s.strides[d];
    if (!shape.empty()) from += static_cast<std::int64_t>(row) * s.strides[pieces.split];
    for (std::size_t d = 0; d < shape.size(); ++d) from += static_cast<std::int64_t>(box.start[d]) * s.strides[d];
    const Status brought = guarded([&] { return bring_piece(s, mine, from, shape, pieces.split, count, slab.data()); });
    if (!brought) {  // the slab must not be used again while something may still come down into it
      PENSTOCK_TRY(mine.stream.synchronize());
      return brought.error();
    }
    if (pieces.size > 1)
      std::memcpy(held.bytes.span().data() + (p / groups * along + row) * pieces.row_bytes, slab.data(),
                  count * pieces.row_bytes);
  }
  if (pieces.size == 1) held.slab = std::move(slab);
  mine.held_bytes = std::max(mine.held_bytes, held.bytes.capacity());
  mine.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return held;
}

Result<DeviceSource> make_source(const Dataset& dataset, const Region& region, const Target& source,
                                 const Options& options, std::uint64_t slab_bytes) {
  DeviceSource s;
  if (dataset.dtype.is_vlen())
    return Error(ErrorCode::unsupported, "variable-length elements live in host memory only");
  if (source.stream.device() != source.device)
    return Error(ErrorCode::invalid_argument, "the stream of a device source must be one of that device");
  s.device = source.device;
  s.data = static_cast<const std::byte*>(source.data);
  s.item_bytes = dataset.dtype.size_bytes;
  s.strides = source.strides;
  if (s.strides.empty()) {
    PENSTOCK_ASSIGN(s.strides, c_strides(shape_of(region), s.item_bytes));
  }
  PENSTOCK_ASSIGN(s.ring, shared_pinned_ring(s.device.type));
  PENSTOCK_ASSIGN(s.memory, working_memory(s.device, options));
  PENSTOCK_ASSIGN(s.ready, Event::record(source.stream));
  s.slab_bytes = std::min(slab_bytes, s.ring->capacity_bytes());
  return s;
}

void fill_report(const DeviceSource& s, const RegionWriter& writer, const device_write::EncodePath& path,
                 const Job& job, double seconds, Report& report) {
  report.peak_host_bytes += s.ring->allocated_bytes();
  report.peak_device_bytes = s.memory->peak_bytes();
  const std::string threads = fmt::format("{} thread{}", job.worker_count(), job.worker_count() == 1 ? "" : "s");
  const bool on_device = path.chain.has_value();
  report.stages = {{"download", s.device.name() + ", pinned ring", on_device ? "encoded bytes" : "decoded bytes",
                    on_device ? report.stored_bytes : report.decoded_bytes, seconds},
                   {"gather", on_device ? s.device.name() : "cpu, " + threads, "gathering chunks", report.decoded_bytes,
                    job.stage_seconds(Stage::assemble)},
                   {"encode", on_device ? path.text : path.text + ", " + threads, path.reason, report.stored_bytes,
                    job.stage_seconds(Stage::encode)},
                   {"store", writer.state().store->path_taken() + ", " + threads, "each object replaced as a whole",
                    report.stored_bytes, job.stage_seconds(Stage::store)}};
}

}  // namespace

Result<Report> write_from_device(const Array& array, const Region& region, const Target& source, const Options& options,
                                 std::uint64_t slab_bytes) {
  PENSTOCK_ASSIGN(const RegionWriter whole, RegionWriter::make(array, region, source));  // checks the arguments
  const Dataset& dataset = whole.view().dataset;
  PENSTOCK_ASSIGN(const DeviceSource s, make_source(dataset, region, source, options, slab_bytes));
  PENSTOCK_ASSIGN(const BudgetPlan all, plan_budget(options, 0));
  const std::uint64_t most = std::min(s.slab_bytes, all.budget_bytes / (4 * all.threads));
  PENSTOCK_ASSIGN(const BoxGrid boxes, BoxGrid::make(region, dataset.chunk_shape, s.item_bytes, most));
  const std::uint64_t box_bytes = boxes.largest_bytes();
  const std::uint64_t held_bytes = box_bytes > s.slab_bytes ? box_bytes + s.slab_bytes : box_bytes;
  const bool sharded = whole.is_sharded();
  WriteNeed need = whole.need();  // a shard is encoded by all threads, its box held once; a thread has a box else
  std::uint64_t& held_by = sharded ? need.object_bytes : need.thread_bytes;
  held_by = saturating_add(held_by, held_bytes);
  PENSTOCK_ASSIGN(const WriteBudget allowed, plan_write_budget(options, need));
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape_of(region)));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(elements, s.item_bytes));
  Job job(options, "write", bytes, allowed.threads);
  tbb::enumerable_thread_specific<WorkerState> worker_states;
  const auto write_box = [&](const BoxGrid& grid, std::uint64_t i) -> Status {
    const Box box = grid.get(i);
    PENSTOCK_ASSIGN(const Held held, bring_down(s, worker_states.local(), box, job.stop()));
    Target host;
    host.data = const_cast<std::byte*>(held.data());
    PENSTOCK_ASSIGN(const RegionWriter writer, RegionWriter::make(array, box.region, host));
    // Shards one after another, as the need was counted; several boxes are under way.
    return job.for_each(writer.objects(), !sharded, [&](std::uint64_t o) { return writer.write_object(job, o); });
  };
  const device_write::WaveLimits limits = device_write::wave_limits(s, allowed.budget_bytes);
  PENSTOCK_ASSIGN(const device_write::EncodePath path,
                  job.run([&] { return device_write::encode_path(whole, s, limits, job); }));
  // What the device does not encode: everything, or the objects that the region covers in part only.
  PENSTOCK_ASSIGN(const BoxGrid left, BoxGrid::make(region, dataset.chunk_shape, s.item_bytes, path.chain ? 0 : most));
  const Status written = job.run([&]() -> Status {
    if (path.chain) PENSTOCK_TRY(device_write::run_encode_waves(whole, s, *path.chain, limits, job));
    return job.for_each_within(left.size(), allowed.objects, [&](std::uint64_t i) -> Status {
      if (path.chain) {
        PENSTOCK_ASSIGN(const RegionWriter::Piece piece, whole.piece(i));
        if (piece.covered) return {};
      }
      return write_box(left, i);
    });
  });
  if (!written) return written.error();
  Report report;
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  double seconds = 0;
  for (const WorkerState& mine : worker_states) {
    seconds += mine.seconds;
    report.peak_host_bytes += mine.held_bytes;
  }
  fill_report(s, whole, path, job, seconds, report);
  return report;
}

}  // namespace penstock
