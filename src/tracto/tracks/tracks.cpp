#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/guard.hpp"
#include "penstock/tractogram.hpp"
#include "tracto/file/nifti_map.hpp"
#include "tracto/tracks/density.hpp"
#include "tracto/tracks/walk.hpp"

namespace penstock {
namespace {

using namespace tracto;

/// What a file says and a file of format `to` does not take over.
std::vector<std::string> left_out(const TractogramHead& head, std::string_view to) {
  std::vector<std::string> out;
  for (const std::string& name : head.names) {
    const bool seeds = (name == "dps/seed" && head.says.seed_points) || (name == "dps/reason" && head.says.reasons);
    const bool number = name == "dps/seed_index" && head.says.seed_numbers;
    const bool length = name == "dps/length_mm" || name == "length_mm";
    const bool taken = to == "TRX" ? seeds || number || length : to == "TRK" && (number || length);
    if (!taken) out.push_back(name);
  }
  return out;
}

Result<TractogramSummary> info(const std::string& path, const Options& options) {
  PENSTOCK_ASSIGN(const auto reader, open_tractogram(path));
  PENSTOCK_ASSIGN_IN(auto summary, walk(*reader, options, nullptr), path);
  return summary;
}

Result<TractogramSummary> convert(const std::string& path, const std::string& out, const TractogramOptions& how,
                                  const Options& options) {
  PENSTOCK_ASSIGN(const auto reader, open_tractogram(path));
  PENSTOCK_ASSIGN(const ImageGrid grid, grid_of(*reader, path, how));
  PENSTOCK_ASSIGN(const auto writer, begin_tractogram(out, grid, reader->head().says, how.force, how.dtype));
  std::vector<float> lengths;
  const auto take = [&](const StreamlineBlock& block) {
    lengths.clear();
    for_each_line(block, [&](std::size_t, std::span<const std::array<float, 3>> points) {
      lengths.push_back(static_cast<float>(length_mm(points)));
    });
    return writer->append({block.lengths, block.seed_points, block.seed_numbers, lengths, block.reasons}, block.points);
  };
  PENSTOCK_ASSIGN_IN(TractogramSummary summary, walk(*reader, options, take), path);
  PENSTOCK_TRY(writer->finish([&] { return options.stop().check("converting streamlines"); }));
  summary.left_out = left_out(reader->head(), writer->format());
  return summary;
}

Result<TractogramDensity> density(const std::string& path, const TractogramOptions& how, const Options& options) {
  PENSTOCK_ASSIGN(const auto reader, open_tractogram(path));
  PENSTOCK_ASSIGN(const ImageGrid grid, grid_of(*reader, path, how));
  DensityMap map(grid);
  const auto take = [&](const StreamlineBlock& block) -> Status {
    for_each_line(block, [&](std::size_t, std::span<const std::array<float, 3>> points) { map.add(points); });
    return {};
  };
  TractogramDensity out;
  PENSTOCK_ASSIGN_IN(out.summary, walk(*reader, options, take), path);
  out.dims = grid.dims;
  out.world_from_voxel = grid.world_from_voxel;
  out.outside = map.outside();
  out.counts = std::move(map).counts();
  return out;
}

}  // namespace

Result<TractogramSummary> tractogram_info(const std::string& path, const Options& options) {
  return guarded([&] { return info(path, options); });
}

Result<TractogramSummary> convert_tractogram(const std::string& path, const std::string& out,
                                             const TractogramOptions& how, const Options& options) {
  return guarded([&] { return convert(path, out, how, options); });
}

Result<TractogramDensity> tractogram_density(const std::string& path, const TractogramOptions& how,
                                             const Options& options) {
  return guarded([&] { return density(path, how, options); });
}

Result<TractogramDensity> write_tractogram_density(const std::string& path, const std::string& out,
                                                   const TractogramOptions& how, const Options& options) {
  return guarded([&]() -> Result<TractogramDensity> {
    constexpr std::string_view kEnding = ".nii.gz";
    if (!out.ends_with(kEnding)) return Error(ErrorCode::invalid_argument, out + ": the name must end in .nii.gz");
    std::error_code code;
    if (!how.force && std::filesystem::exists(out, code))
      return Error(ErrorCode::already_exists, out + ": is there already").set_hint("--force replaces it.");
    PENSTOCK_ASSIGN(TractogramDensity map, density(path, how, options));
    const std::filesystem::path name(out);
    const std::string folder = name.has_parent_path() ? name.parent_path().string() : ".";
    std::string key = name.filename().string();
    key.resize(key.size() - kEnding.size());
    PENSTOCK_ASSIGN(const auto store, open_store(folder, StoreMode::read_write));
    PENSTOCK_TRY(write_map(*store, key, map.dims, 1, map.world_from_voxel, map.counts));
    return map;
  });
}

}  // namespace penstock
