#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "array/tiles/walk.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"

namespace penstock {
namespace {

/// Tiles whose boxes are looked at to find the largest; more are looked at here and there.
constexpr std::uint64_t kLookedAt = 1024;

std::uint64_t bytes_of(const Region& region, const DType& dtype) {
  std::uint64_t n = dtype.size_bytes;
  for (const Range& r : region) n = saturating_mul(n, r.count);
  return n;
}

bool has_steps(const Region& region) {
  return std::ranges::any_of(region, [](const Range& r) { return r.step != 1; });
}

/// The same box in every dimension but one?
bool same_but(const Region& a, const Region& b, std::size_t dimension) {
  for (std::size_t d = 0; d < a.size(); ++d)
    if (d != dimension && a[d] != b[d]) return false;
  return true;
}

std::optional<std::size_t> walk_dimension(const BlockWalk& tiles, const Shape& shape) {
  for (std::size_t d = shape.size(); d-- > 0;)
    if (tiles.block_shape()[d] < shape[d]) return d;
  return std::nullopt;
}

/// Fills in what the tiles need; read_bytes is left.
void measure(TilePlan& plan, const TileWork& work) {
  const std::uint64_t count = plan.tiles.size(), step = std::max<std::uint64_t>(count / kLookedAt, 1);
  plan.in_bytes = plan.out_bytes = plan.scratch_bytes = 0;
  const auto look = [&](std::uint64_t i) {
    const Region tile = plan.tiles[i];
    plan.in_bytes = std::max(plan.in_bytes, bytes_of(plan.box(work, i).whole, work.in_dtype));
    if (work.makes) plan.out_bytes = std::max(plan.out_bytes, bytes_of(tile, work.out_dtype));
    if (work.scratch_bytes) plan.scratch_bytes = std::max(plan.scratch_bytes, work.scratch_bytes(tile));
  };
  for (std::uint64_t i = 0; i < count; i += step) look(i);
  if (count > 1) look(count - 1);
  // Of a box with more than is needed, what is needed lies in one piece only along the outermost dimension.
  bool inside = false;
  for (std::size_t d = 0; plan.along && d < *plan.along; ++d) inside = inside || work.source_shape[d] > 1;
  if (inside && plan.whole_chunks && work.makes) plan.scratch_bytes = saturating_add(plan.scratch_bytes, plan.in_bytes);
  const std::uint64_t at_once = count > 1 ? 2 : 1;
  plan.held_bytes =
      saturating_add(saturating_mul(at_once, saturating_add(plan.in_bytes, plan.out_bytes)), plan.scratch_bytes);
}

/// Of all of the source.
std::uint64_t bytes_once(const TileWork& work) {
  std::uint64_t bytes = work.in_dtype.size_bytes;
  for (const std::uint64_t extent : work.source_shape) bytes = saturating_mul(bytes, extent);
  return bytes;
}

void count_bytes(TilePlan& plan, const TileWork& work) {
  for (std::uint64_t i = 0; i < plan.tiles.size(); ++i)
    plan.read_bytes = saturating_add(plan.read_bytes, bytes_of(plan.box(work, i).fresh, work.in_dtype));
  plan.twice_bytes = plan.read_bytes - std::min(plan.read_bytes, bytes_once(work));
}

}  // namespace

Result<std::uint64_t> min_read_bytes(const Array& array, Device device, const Options& options) {
  const Dataset dataset = array.dataset();
  PENSTOCK_ASSIGN(const Shape chunk, dataset.inner_chunk_shape());
  if (std::ranges::find(dataset.shape, 0u) != dataset.shape.end()) return std::uint64_t{0};
  Region first;
  for (std::size_t d = 0; d < chunk.size(); ++d) first.push_back({0, std::min(chunk[d], dataset.shape[d]), 1});
  Options some = options;
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  some.budget_bytes = std::max<std::uint64_t>(allowed.budget_bytes / 4, 1);
  auto plan = array.plan(first, device, some);
  if (!plan && plan.error().code() == ErrorCode::budget_too_small) {  // how much it is says a larger one
    some.budget_bytes = std::numeric_limits<std::int64_t>::max();
    plan = array.plan(first, device, some);
  }
  if (!plan) return plan.error();
  return plan->need_bytes;
}

TilePlan::Box TilePlan::box(const TileWork& work, std::uint64_t i) const {
  Box box;
  box.whole = work.needs(tiles[i]);
  if (!along || has_steps(box.whole)) {
    box.fresh = box.whole;
    return box;
  }
  const std::size_t d = *along;
  const std::uint64_t chunk = whole_chunks ? std::max<std::uint64_t>(work.source_chunks[d], 1) : 1;
  const auto end_of = [&](const Range& r) {
    return std::min(saturating_mul(div_up(r.start + r.count, chunk), chunk), work.source_shape[d]);
  };
  const std::uint64_t end = end_of(box.whole[d]);
  std::uint64_t from = box.whole[d].start / chunk * chunk;  // of what is read
  if (i > 0) {
    const Region before = work.needs(tiles[i - 1]);
    // What the one before left is there from its start on: boxes of a row only move forward.
    if (!has_steps(before) && same_but(before, box.whole, d) && before[d].start <= box.whole[d].start &&
        end_of(before[d]) >= box.whole[d].start)
      from = std::min(std::max(end_of(before[d]), box.whole[d].start), end);
  }
  box.fresh = box.whole;
  const std::uint64_t start = std::min(box.whole[d].start, from);
  box.fresh[d] = {from, end - from, 1};
  box.whole[d] = {start, end - start, 1};
  return box;
}

Result<TilePlan> TilePlan::make(const TileWork& work, const Options& options) {
  if (work.decodes) PENSTOCK_TRY(check_decoded(bytes_once(work)));
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  const std::uint64_t io_bytes = saturating_mul(work.min_read_bytes, work.writes ? 2 : 1);
  const std::uint64_t most = std::min(
      {allowed.budget_bytes / 2, work.most_bytes, allowed.budget_bytes - std::min(io_bytes, allowed.budget_bytes)});
  const std::uint64_t item = std::max(work.in_dtype.size_bytes, work.out_dtype.size_bytes);
  std::uint64_t elements = std::max<std::uint64_t>(most / item / 2, 1);
  std::optional<TilePlan> best;
  for (;; elements = elements / 2 + 1) {
    TilePlan plan{BlockWalk(work.out_shape, work.out_objects, work.out_objects, elements),
                  {},
                  true,
                  0,
                  0,
                  0,
                  0,
                  allowed.budget_bytes,
                  0,
                  0};
    if (work.out_shape.size() == work.source_shape.size()) plan.along = walk_dimension(plan.tiles, work.out_shape);
    measure(plan, work);
    if (plan.held_bytes > most) {  // large chunks of the source rather twice than not at all
      plan.whole_chunks = false;
      measure(plan, work);
    }
    const bool last = elements <= 2;
    if (plan.held_bytes <= most) {
      best = std::move(plan);
      break;
    }
    if (last) {
      const std::uint64_t need = saturating_add(plan.held_bytes, std::max(plan.held_bytes, io_bytes));
      return Error(ErrorCode::budget_too_small,
                   fmt::format("{}: a memory budget of {} is too small: one tile, which is one object of the output, "
                               "needs {}",
                               work.what, format_bytes(allowed.budget_bytes), format_bytes(need)))
          .set_hint(fmt::format("Allow at least {} bytes, or write smaller chunks or shards.", need));
    }
  }
  count_bytes(*best, work);
  return *std::move(best);
}

std::string TilePlan::text(const TileWork& work) const {
  Shape tile = tiles.block_shape();
  for (std::size_t d = 0; d < tile.size(); ++d) tile[d] = std::min(tile[d], work.out_shape[d]);
  std::string text =
      fmt::format("tiles     {} of {} {}\n", format_count(tiles.size()), to_string(tile), work.out_dtype.name());
  text += fmt::format("read      {} of {}, {} of them twice{}\n", format_bytes(read_bytes), work.in_dtype.name(),
                      format_bytes(twice_bytes),
                      along ? fmt::format("; halos along dimension {} stay in memory", *along) : "");
  text += fmt::format("memory    {} in tiles (box {}, tile {}, scratch {}), budget {}\n", format_bytes(held_bytes),
                      format_bytes(in_bytes), format_bytes(out_bytes), format_bytes(scratch_bytes),
                      format_bytes(budget_bytes));
  return text;
}

}  // namespace penstock
