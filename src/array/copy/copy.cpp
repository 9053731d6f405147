// Copying an array block by block in bounded memory.
#include <fmt/format.h>

#include <algorithm>

#include "array/blocks.hpp"
#include "array/read/region_reader.hpp"
#include "array/state.hpp"
#include "array/write/region_writer.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"
#include "format/format.hpp"

namespace penstock {
namespace {

/// Largest block: more does not make the work faster.
constexpr std::uint64_t kBlockBytes = std::uint64_t{256} << 20;
constexpr std::string_view kMarker = ".penstock-copy.json";

std::string marker_key(const std::string& path) {
  return path.empty() ? std::string(kMarker) : path + "/" + std::string(kMarker);
}

/// What a running copy is, so that `resume` goes on only with the same one.
std::string marker_text(const Array& from, const Region& region, const Array& to) {
  std::string region_text = to_string(region);
  const auto codecs = to.codecs();
  return dump_json(Json{{"copy_of", from.store_ptr()->url() + "/" + from.path()},
                        {"region", region_text},
                        {"zarr_format", to.dataset().zarr_format},
                        {"chunk_shape", to.dataset().chunk_shape},
                        {"codecs", codecs->text()}});
}

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

/// Opens or prepares the target.  `nothing_to_do`: an earlier copy was finished.
Result<Array> begin(const Array& from, const Region& region, std::shared_ptr<Store> store, const std::string& path,
                    Dataset dataset, Array::IfExists if_exists, Resume resume, bool& nothing_to_do) {
  nothing_to_do = false;
  Bytes marker;
  PENSTOCK_ASSIGN(const bool broken, store->get(marker_key(path), marker));
  const bool same_place = store->url() == from.store_ptr()->url() && path == from.path();
  if (same_place) return Error(ErrorCode::invalid_argument, "an array cannot be copied onto itself");
  if (!broken && resume == Resume::yes) {
    if (auto there = Array::open(store, path)) {
      nothing_to_do = true;
      return there;
    }
  }
  if (broken && resume == Resume::no && if_exists == Array::IfExists::fail)
    return Error(ErrorCode::already_exists, fmt::format("{}/{} holds a copy that was broken off", store->url(), path))
        .set_hint("Resume it, or allow overwriting.");
  const bool go_on = broken && resume == Resume::yes;
  if (broken && !go_on) PENSTOCK_TRY(store->erase_prefix(path));
  PENSTOCK_ASSIGN(Array to, Array::prepare(store, path, std::move(dataset), if_exists));
  const std::string text = marker_text(from, region, to);
  if (go_on && as_text(marker) != text)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{}/{}: the copy that was broken off is another one", store->url(), path))
        .set_hint("Give the same source and options, or allow overwriting without resuming.");
  if (!go_on) PENSTOCK_TRY(store->set(marker_key(path), as_bytes(text)));
  return to;
}

Result<Report> copy_all(const Array& from, const std::shared_ptr<Store>& to_store, std::string_view to_path,
                        const CopyChanges& changes, Array::IfExists if_exists, Resume resume, const Options& options) {
  const Dataset source = from.dataset();
  const Region region = changes.region.value_or(whole(source.shape));
  PENSTOCK_ASSIGN(Dataset dataset, copied_dataset(source, changes));
  bool nothing_to_do = false;
  PENSTOCK_ASSIGN(Array to, begin(from, region, to_store, std::string(to_path), std::move(dataset), if_exists, resume,
                                  nothing_to_do));
  Report report;
  report.operation = "copy";
  if (nothing_to_do) return report;

  const Dataset target = to.dataset();
  const std::uint64_t item = target.dtype.size_bytes;
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  // One block in memory, and as much again for the workers that read and write it.
  const std::uint64_t most = std::min(allowed.budget_bytes / 2, kBlockBytes) / item;
  PENSTOCK_ASSIGN(const Shape read_unit, source.inner_chunk_shape());
  const BlockWalk blocks(target.shape, target.chunk_shape, read_unit, std::max(most, std::uint64_t{1}));
  Shape clipped = blocks.block_shape();
  for (std::size_t d = 0; d < clipped.size(); ++d) clipped[d] = std::min(clipped[d], target.shape[d]);
  PENSTOCK_ASSIGN(const std::uint64_t block_elements, element_count(clipped));
  if (block_elements * item > allowed.budget_bytes / 2)
    return Error(ErrorCode::budget_too_small,
                 fmt::format("a memory budget of {} is too small: one object of the copy needs {}",
                             format_bytes(allowed.budget_bytes), format_bytes(2 * block_elements * item)))
        .set_hint("Allow more memory, or write smaller chunks or shards.");

  Options inner = options;
  inner.budget_bytes = allowed.budget_bytes - block_elements * item;
  const auto start = std::chrono::steady_clock::now();
  PENSTOCK_ASSIGN(const std::uint64_t total, element_count(target.shape));
  std::uint64_t peak_worker = 0;
  Bytes block;
  for (std::uint64_t i = 0; total > 0 && i < blocks.size(); ++i) {
    const Region part = blocks[i];
    PENSTOCK_ASSIGN(const std::uint64_t bytes_of_part, element_count(shape_of(part)));
    const std::uint64_t done = report.decoded_bytes;
    report.decoded_bytes = done + bytes_of_part * item;
    if (resume == Resume::yes) {
      PENSTOCK_ASSIGN(const bool written, block_is_written(to, part));
      if (written) continue;
    }
    inner.progress = nullptr;
    if (options.progress)
      inner.progress = [&](const Progress& p) {  // half the way when the block is read, the other half when written
        const std::uint64_t half = p.done_bytes / 2 + (p.what == "write" ? bytes_of_part * item / 2 : 0);
        options.progress({"copy", std::min(done + half, total * item), total * item});
      };
    PENSTOCK_TRY(block.resize_discard(bytes_of_part * item));
    Arena elements;
    const Target memory{block.data(), {}, {}, {}};
    PENSTOCK_ASSIGN(const Report read, from.read(source_region(region, part), memory, inner, &elements));
    PENSTOCK_ASSIGN(const Report written, to.write(part, memory, inner));
    peak_worker = std::max({peak_worker, read.peak_host_bytes, written.peak_host_bytes});
    report.merge(read);
    report.merge(written);
    report.decoded_bytes = done + bytes_of_part * item;  // once for reading and writing
  }
  PENSTOCK_TRY(to.commit());
  PENSTOCK_TRY(to_store->erase(marker_key(std::string(to_path))));
  PENSTOCK_TRY(to_store->flush());
  report.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.budget_bytes = allowed.budget_bytes;
  report.peak_host_bytes = block.capacity() + peak_worker;
  return report;
}

}  // namespace

Result<Report> copy(const Array& from, std::shared_ptr<Store> to_store, std::string_view to_path,
                    const CopyChanges& changes, Array::IfExists if_exists, Resume resume, const Options& options) {
  return guarded([&] { return copy_all(from, to_store, to_path, changes, if_exists, resume, options); });
}

}  // namespace penstock
