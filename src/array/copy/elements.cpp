#include "array/copy/elements.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "array/plan/bound_region.hpp"
#include "array/state.hpp"
#include "array/tiles/walk.hpp"

namespace penstock {
namespace {

/// Held at most: more does not make the work faster.
constexpr std::uint64_t kHeldBytes = std::uint64_t{512} << 20;

/// The region of the source that a tile of the copy comes from.
Region source_region(const Region& from, const Region& block) {
  Region region;
  for (std::size_t d = 0; d < block.size(); ++d) {
    const Range& r = from[d];
    const auto skipped = static_cast<std::int64_t>(block[d].start) * r.step;
    region.push_back({r.start + static_cast<std::uint64_t>(skipped), block[d].count, r.step});
  }
  return region;
}

/// Whether every object of a tile is there.
Result<bool> block_is_written(const Array& to, const Region& block) {
  const Array::State& state = ArrayAccess::state(to);
  const auto view = state.current();
  PENSTOCK_ASSIGN(const GridPartition cut, GridPartition::make(block, view->dataset.chunk_shape));
  std::vector<ChunkSlice> segments(block.size());
  for (std::uint64_t i = 0; i < cut.size(); ++i) {
    cut.get(i, segments);
    Shape chunk;
    for (const ChunkSlice& s : segments) chunk.push_back(s.chunk);
    PENSTOCK_ASSIGN(const bool there, state.store->exists(state.key(view->dataset, chunk)));
    if (!there) return false;
  }
  return true;
}

/// The walk over a copy, which is what is read.
Result<TileWork> work_for(std::string_view what, const Array& from, const Region& region, const Dataset& to,
                          const Options& options) {
  TileWork work;
  work.what = what;
  work.in_dtype = work.out_dtype = to.dtype;
  work.source_shape = from.dataset().shape;
  PENSTOCK_ASSIGN(work.source_chunks, from.dataset().inner_chunk_shape());
  work.out_shape = to.shape;
  work.out_objects = to.chunk_shape;
  work.makes = false;
  work.most_bytes = kHeldBytes;
  work.needs = [&region](const Region& tile) { return source_region(region, tile); };
  PENSTOCK_ASSIGN(work.min_read_bytes, min_read_bytes(from, Device(), options));
  return work;
}

TileSteps reading(const Array& from) {
  TileSteps steps;
  steps.read = [&from](const Region& box, const TileMemory& into, const Options& inner) {
    return from.read(box, into.view, inner, into.arena);
  };
  return steps;
}

/// Says how far a copy is whose reading and writing go on at once: a byte is half done when it was read.
class Halves {
 public:
  Halves(const ProgressFn& tell, std::uint64_t total) : tell_(tell), total_(total) {}
  [[nodiscard]] ProgressFn within(std::uint64_t& done) {
    if (!tell_) return nullptr;
    return [this, &done, before = done](const Progress& p) {
      const std::scoped_lock lock(mutex_);
      done = before + p.done;
      say();
    };
  }
  void set(std::uint64_t& done, std::uint64_t bytes) {
    if (!tell_) return;
    const std::scoped_lock lock(mutex_);
    done = bytes;
    say();
  }
  std::uint64_t read = 0, written = 0;

 private:
  void say() { tell_({"copy", std::min(read / 2 + written / 2, total_), total_}); }
  const ProgressFn& tell_;
  std::uint64_t total_;
  std::mutex mutex_;
};

bool equal(const DType& dtype, const std::byte* a, const std::byte* b) {
  if (!dtype.is_vlen()) return std::memcmp(a, b, dtype.size_bytes) == 0;
  VlenRef x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x.size == y.size && (x.size == 0 || std::memcmp(x.data, y.data, x.size) == 0);
}

/// Number of the first element in which two packed boxes of a shape differ; nullopt: none.
std::optional<std::uint64_t> first_difference(const TensorView& a, const TensorView& b, std::uint64_t count) {
  const std::uint64_t item = a.dtype.size_bytes;
  const auto* x = static_cast<const std::byte*>(a.data);
  const auto* y = static_cast<const std::byte*>(b.data);
  if (!a.dtype.is_vlen() && std::memcmp(x, y, count * item) == 0) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i)
    if (!equal(a.dtype, x + i * item, y + i * item)) return i;
  return std::nullopt;
}

}  // namespace

Result<Report> copy_elements(const Array& from, const Region& region, Array& to, Resume resume,
                             const Options& options) {
  const Dataset target = to.dataset();
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(target.shape));
  const std::uint64_t item = target.dtype.size_bytes;
  Report report;
  report.written.emplace();
  if (elements == 0) return report;
  PENSTOCK_ASSIGN(const TileWork work, work_for("copy", from, region, target, options));
  PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
  Options quiet = options;
  quiet.progress = nullptr;
  Halves halves(options.progress, elements * item);
  TileSteps steps;
  steps.read = [&](const Region& box, const TileMemory& into, const Options& inner) {
    Options some = inner;
    some.progress = halves.within(halves.read);
    return from.read(box, into.view, some, into.arena);
  };
  steps.write = [&](const Region& tile, const TensorView& made, const Options& inner) {
    Options some = inner;
    some.progress = halves.within(halves.written);
    return to.write(tile, made, some);
  };
  if (resume == Resume::yes) steps.skip = [&](const Region& tile) { return block_is_written(to, tile); };
  PENSTOCK_ASSIGN(report, walk_tiles(work, plan, steps, Device(), quiet));
  halves.set(halves.read, elements * item);
  halves.set(halves.written, elements * item);
  report.decoded_bytes = elements * item;  // once for reading and writing
  return report;
}

Status read_elements(const Array& from, const Region& region, const Dataset& to, const Options& options) {
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(to.shape));
  if (elements == 0) return {};
  PENSTOCK_ASSIGN(TileWork work, work_for("check the source", from, region, to, options));
  work.writes = false;
  PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
  const auto read = walk_tiles(work, plan, reading(from), Device(), options);
  return read ? Status() : Status(read.error());
}

Result<std::optional<Shape>> differing_element(const Array& from, const Region& region, const Array& to,
                                               const Options& options) {
  const Dataset target = to.dataset();
  std::optional<Shape> found;
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(target.shape));
  if (elements == 0) return found;
  PENSTOCK_ASSIGN(TileWork work, work_for("compare", from, region, target, options));
  work.makes = true;  // the tile is what stands in the copy
  PENSTOCK_ASSIGN(const TilePlan plan, TilePlan::make(work, options));
  Options inner = options;
  inner.progress = nullptr;
  inner.budget_bytes = std::max<std::uint64_t>((plan.budget_bytes - plan.held_bytes) / 2, 1);
  TileSteps steps = reading(from);
  steps.make = [&](std::uint64_t, const Region& in_box, const TensorView& in, const Region& tile,
                   const TensorView& there) -> Status {
    if (found) return {};
    Arena arena;
    PENSTOCK_TRY(to.read(tile, there, inner, &arena));
    PENSTOCK_ASSIGN(const TensorView part, part_of_box(in, in_box, source_region(region, tile)));
    PENSTOCK_ASSIGN(const Tensor asked, Tensor::share(nullptr, part).contiguous());
    PENSTOCK_ASSIGN(const std::uint64_t count, there.elements());
    const auto differs = first_difference(asked.view(), there, count);
    if (!differs) return {};
    found.emplace(tile.size());
    std::uint64_t rest = *differs;
    for (std::size_t d = tile.size(); d-- > 0; rest /= tile[d].count)
      (*found)[d] = tile[d].start + rest % tile[d].count;
    return {};
  };
  const auto walked = walk_tiles(work, plan, steps, Device(), options);
  if (!walked) return walked.error();
  return found;
}

}  // namespace penstock
