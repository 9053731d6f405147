#include "array/copy/elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "array/blocks.hpp"
#include "array/plan/bound_region.hpp"
#include "array/state.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"

namespace penstock {
namespace {

/// Largest block: more does not make the work faster.
constexpr std::uint64_t kBlockBytes = std::uint64_t{256} << 20;

/// A region of the source that block `b` of the copy comes from.
Region source_region(const Region& from, const Region& block) {
  Region region;
  for (std::size_t d = 0; d < block.size(); ++d) {
    const Range& r = from[d];
    const auto skipped = static_cast<std::int64_t>(block[d].start) * r.step;
    region.push_back({r.start + static_cast<std::uint64_t>(skipped), block[d].count, r.step});
  }
  return region;
}

/// Whether every object of a block is there.
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

/// How a copy is cut, and how much of the budget is left for reading and writing a block.
struct Blocks {
  BlockWalk walk;
  std::uint64_t count = 0;  ///< of blocks; 0 where the array has no elements
  std::uint64_t total_bytes = 0;
  std::uint64_t budget_bytes = 0;  ///< of all
  Options options;                 ///< for reading and writing a block

  /// `held`: blocks in memory at once, for which half of the budget is kept.
  static Result<Blocks> make(const Array& from, const Dataset& to, std::uint64_t held, const Options& options) {
    const std::uint64_t item = to.dtype.size_bytes;
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
    const std::uint64_t most = std::min(allowed.budget_bytes / 2, kBlockBytes) / held / item;
    PENSTOCK_ASSIGN(const Shape read_unit, from.dataset().inner_chunk_shape());
    BlockWalk walk(to.shape, to.chunk_shape, read_unit, std::max(most, std::uint64_t{1}));
    Shape clipped = walk.block_shape();
    for (std::size_t d = 0; d < clipped.size(); ++d) clipped[d] = std::min(clipped[d], to.shape[d]);
    PENSTOCK_ASSIGN(const std::uint64_t block_elements, element_count(clipped));
    const std::uint64_t held_bytes = block_elements * item * held;
    if (held_bytes > allowed.budget_bytes / 2)
      return Error(ErrorCode::budget_too_small,
                   fmt::format("a memory budget of {} is too small: one object of the copy needs {}",
                               format_bytes(allowed.budget_bytes), format_bytes(2 * held_bytes)))
          .set_hint("Allow more memory, or write smaller chunks or shards.");
    PENSTOCK_ASSIGN(const std::uint64_t total, element_count(to.shape));
    PENSTOCK_TRY(check_decoded(saturating_mul(total, item)));
    Options inner = options;
    inner.budget_bytes = allowed.budget_bytes - held_bytes;
    inner.progress = nullptr;
    const std::uint64_t count = total > 0 ? walk.size() : 0;
    return Blocks{std::move(walk), count, total * item, allowed.budget_bytes, std::move(inner)};
  }
};

/// Says how many bytes of a pass over all blocks are done.
class Pass {
 public:
  Pass(std::string_view what, const Blocks& blocks, const Options& options)
      : what_(what), total_(blocks.total_bytes), tell_(options.progress) {}
  void add(std::uint64_t bytes) {
    done_ += bytes;
    if (tell_) tell_({what_, done_, total_});
  }

 private:
  std::string_view what_;
  std::uint64_t total_, done_ = 0;
  ProgressFn tell_;
};

/// One block's elements.
struct Elements {
  Bytes memory;
  Arena arena;

  Result<Report> read(const Array& array, const Region& region, const Options& options) {
    const std::uint64_t item = array.dataset().dtype.size_bytes;
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(region)));
    PENSTOCK_TRY(memory.resize_discard(count * item));
    return array.read(region, {memory.data(), {}, {}, {}}, options, &arena);
  }
};

bool equal(const DType& dtype, const std::byte* a, const std::byte* b) {
  if (!dtype.is_vlen()) return std::memcmp(a, b, dtype.size_bytes) == 0;
  VlenRef x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x.size == y.size && (x.size == 0 || std::memcmp(x.data, y.data, x.size) == 0);
}

/// Number of the first element in which two blocks differ; nullopt: none.
std::optional<std::uint64_t> first_difference(const DType& dtype, const Bytes& a, const Bytes& b) {
  if (!dtype.is_vlen() && std::ranges::equal(a.view(), b.view())) return std::nullopt;
  for (std::uint64_t at = 0; at < a.size(); at += dtype.size_bytes)
    if (!equal(dtype, a.data() + at, b.data() + at)) return at / dtype.size_bytes;
  return std::nullopt;
}

}  // namespace

Result<Report> copy_elements(const Array& from, const Region& region, Array& to, Resume resume,
                             const Options& options) {
  const Dataset target = to.dataset();
  const std::uint64_t item = target.dtype.size_bytes;
  PENSTOCK_ASSIGN(const Blocks blocks, Blocks::make(from, target, 1, options));
  const auto start = std::chrono::steady_clock::now();
  Report report;
  report.written.emplace();
  std::uint64_t peak_worker = 0;
  Bytes block;
  for (std::uint64_t i = 0; i < blocks.count; ++i) {
    const Region part = blocks.walk[i];
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape_of(part)));
    const std::uint64_t done = report.decoded_bytes, bytes = elements * item;
    report.decoded_bytes = done + bytes;
    if (resume == Resume::yes) {
      PENSTOCK_ASSIGN(const bool written, block_is_written(to, part));
      if (written) continue;
    }
    Options inner = blocks.options;
    if (options.progress)
      inner.progress = [&](const Progress& p) {  // half the way when the block is read, the other half when written
        const std::uint64_t half = p.done / 2 + (p.what == "write" ? bytes / 2 : 0);
        options.progress({"copy", std::min(done + half, blocks.total_bytes), blocks.total_bytes});
      };
    PENSTOCK_TRY(block.resize_discard(bytes));
    Arena elements_of_block;
    const Target memory{block.data(), {}, {}, {}};
    PENSTOCK_ASSIGN(const Report read, from.read(source_region(region, part), memory, inner, &elements_of_block));
    PENSTOCK_ASSIGN(Report written, to.write(part, memory, inner));
    written.written = {written.chunks, written.absent_chunks, written.requests, written.stored_bytes};
    peak_worker = std::max({peak_worker, read.peak_host_bytes, written.peak_host_bytes});
    report.merge(read);
    report.merge(written);
    report.decoded_bytes = done + bytes;  // once for reading and writing
  }
  report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.budget_bytes = blocks.budget_bytes;
  report.peak_host_bytes = block.capacity() + peak_worker;
  return report;
}

Status read_elements(const Array& from, const Region& region, const Dataset& to, const Options& options) {
  PENSTOCK_ASSIGN(const Blocks blocks, Blocks::make(from, to, 1, options));
  Pass pass("check the source", blocks, options);
  for (std::uint64_t i = 0; i < blocks.count; ++i) {
    Elements read;
    PENSTOCK_TRY(read.read(from, source_region(region, blocks.walk[i]), blocks.options));
    pass.add(read.memory.size());
  }
  return {};
}

Result<std::optional<Shape>> differing_element(const Array& from, const Region& region, const Array& to,
                                               const Options& options) {
  const Dataset target = to.dataset();
  PENSTOCK_ASSIGN(const Blocks blocks, Blocks::make(from, target, 2, options));
  Pass pass("compare", blocks, options);
  for (std::uint64_t i = 0; i < blocks.count; ++i) {
    const Region part = blocks.walk[i];
    Elements asked, there;
    PENSTOCK_TRY(asked.read(from, source_region(region, part), blocks.options));
    PENSTOCK_TRY(there.read(to, part, blocks.options));
    const auto differs = first_difference(target.dtype, asked.memory, there.memory);
    if (differs) {
      Shape at(part.size());
      std::uint64_t rest = *differs;
      for (std::size_t d = part.size(); d-- > 0; rest /= part[d].count) at[d] = part[d].start + rest % part[d].count;
      return std::optional(std::move(at));
    }
    pass.add(asked.memory.size());
  }
  return std::optional<Shape>();
}

}  // namespace penstock
