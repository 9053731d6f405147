#include "oct/reconstruct/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "oct/file/slice_config.hpp"
#include "oct/file/small_file.hpp"
#include "oct/mosaic/raw_slice.hpp"
#include "oct/stack/stack.hpp"

namespace penstock::oct {
namespace {

/// Depth and distance of slices in planes: these options come into play when the slices before are stitched.
Status check_depths(const StepCall& call, const RawSlice& slice) {
  const double plane_mm = slice.spacing_mm[0], depth_um = call.number("depth_um");
  if (!(std::nearbyint(depth_um / 1000 / plane_mm) >= 1))
    return Error(ErrorCode::invalid_argument,
                 fmt::format("depth_um {}: planes lie {:.6g} um apart", depth_um, plane_mm * 1000))
        .set_hint("depth_um is in micrometres.");
  return check_interval(call.number("slicing_interval_mm"), plane_mm, slice.tile[0]);
}

Status check_spacing(const std::string& raw, std::uint64_t slice, const RawSlice& one, const RawSlice& before) {
  for (std::size_t d = 0; d < 3; ++d)
    if (std::abs(one.spacing_mm[d] - before.spacing_mm[d]) > 1e-6 * before.spacing_mm[d])
      return Error(
                 ErrorCode::invalid_metadata,
                 fmt::format("{}: voxels of slice {} are {:.6g} x {:.6g} x {:.6g} mm, those of the one before {:.6g} x "
                             "{:.6g} x {:.6g}",
                             raw, slice, one.spacing_mm[0], one.spacing_mm[1], one.spacing_mm[2], before.spacing_mm[0],
                             before.spacing_mm[1], before.spacing_mm[2]))
          .set_hint("Slices of one volume are taken alike; what info.txt says of their tiles differs.");
  return {};
}

/// Pixels across, below which a length in info.txt is in another unit.
constexpr std::uint64_t kLeastPixels = 4;

Status check_width(const std::string& raw, std::uint64_t slice, const RawSlice& one) {
  for (const std::size_t d : {1, 2})
    if (one.tile[d] < std::min(kLeastPixels, one.native[d]))
      return Error(
                 ErrorCode::invalid_argument,
                 fmt::format("{}: tiles of slice {}, {:.6g} x {:.6g} um by their info.txt, would become {} x {} pixels",
                             raw, slice, one.info.width_um, one.info.height_um, one.tile[1], one.tile[2]))
          .set_hint("width, height and resolution_um are in micrometres.");
  return {};
}

/// A slice is placed by its first tile, so a first row of tiles that got lost moves it, and nothing in the image says
/// so.
std::optional<std::string> other_grid(std::uint64_t slice, const RawSlice& one, const RawSlice& before) {
  const auto grid = [](const RawSlice& s) { return std::tuple(s.first_x, s.first_y, s.rows, s.cols); };
  if (grid(one) == grid(before)) return std::nullopt;
  return fmt::format(
      "slice {} has {} x {} tiles from x{:02}_y{:02}, the one before {} x {} from x{:02}_y{:02}; its shift is taken to "
      "be that of its first tile",
      slice, one.rows, one.cols, one.first_x, one.first_y, before.rows, before.cols, before.first_x, before.first_y);
}

using Slices = std::map<std::uint64_t, std::vector<RawTile>>;

/// Takes the slices out that are not to be used.
Result<std::set<std::uint64_t>> leave_out(const StepCall& call, Slices& slices) {
  if (!call.given("slice_config")) return std::set<std::uint64_t>();
  const std::string& csv = call.text("slice_config");
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(csv));
  PENSTOCK_ASSIGN_IN(std::set<std::uint64_t> unused, parse_unused_slices(as_text(bytes)), csv);
  for (const std::uint64_t slice : unused) slices.erase(slice);
  if (slices.empty())
    return Error(ErrorCode::invalid_argument, fmt::format("{}: no slice of {} is to be used", csv, call.path(0)));
  return unused;
}

/// They are needed when all slices are stitched.
Result<std::vector<SlicePosition>> check_shifts(const StepCall& call, const Slices& slices,
                                                const std::set<std::uint64_t>& left_out) {
  std::vector<std::uint64_t> ids;
  for (const auto& [slice, tiles] : slices) ids.push_back(slice);
  const std::string& csv = call.text("shifts");
  PENSTOCK_ASSIGN(const Bytes bytes, read_small(csv));
  PENSTOCK_ASSIGN_IN(const std::vector<Shift> shifts, parse_shifts(as_text(bytes)), csv);
  const auto may_miss = [&](std::uint64_t slice) { return call.flag("missing_slices") || left_out.contains(slice); };
  PENSTOCK_ASSIGN_IN(std::vector<SlicePosition> positions, chain_shifts(shifts, ids, may_miss), csv);
  return positions;
}

}  // namespace

Result<RunPlan> check_reconstruction(const StepCall& call) {
  const std::string& raw = call.path(0);
  if (call.path(1).find("://") != std::string::npos)
    return Error(ErrorCode::unsupported, call.path(1) + ": a reconstruction is made in a folder of this machine")
        .set_hint("`penstock copy` takes the volume elsewhere when it is done.");
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(raw, StoreMode::read));
  PENSTOCK_ASSIGN(Slices slices, find_tiles(*store));
  RunPlan plan;
  PENSTOCK_ASSIGN(plan.left_out, leave_out(call, slices));
  PENSTOCK_ASSIGN(plan.positions, check_shifts(call, slices, plan.left_out));
  const Sampling how = {Orientation::legacy, call.number("axial_resolution_um"), call.number("resolution_um")};
  std::optional<RawSlice> before;
  std::vector<SliceExtent> extents;
  for (auto& [slice, tiles] : slices) {
    PENSTOCK_TRY(call.options.stop().check("oct reconstruct"));
    PENSTOCK_ASSIGN(RawSlice one, RawSlice::open(raw, store, slice, std::move(tiles)));
    PENSTOCK_TRY(one.sample(raw, how));
    PENSTOCK_TRY(check_depths(call, one));
    PENSTOCK_TRY(check_width(raw, slice, one));
    if (before) {
      PENSTOCK_TRY(check_spacing(raw, slice, one, *before));
      if (auto warning = other_grid(slice, one, *before)) plan.warnings.push_back(*std::move(warning));
    }
    // Without what tiles share: a slice is no larger.
    extents.push_back({static_cast<double>(one.cols * one.tile[2]) * one.spacing_mm[2],
                       static_cast<double>(one.rows * one.tile[1]) * one.spacing_mm[1]});
    before = std::move(one);
  }
  PENSTOCK_TRY_IN(check_neighbours(plan.positions, extents), call.text("shifts"));
  return plan;
}

}  // namespace penstock::oct
