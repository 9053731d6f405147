#include "oct/mosaic/create.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/checked.hpp"
#include "oct/file/names.hpp"
#include "oct/file/volume.hpp"
#include "oct/memory.hpp"
#include "oct/mosaic/raw_slice.hpp"
#include "oct/mosaic/resample.hpp"
#include "oct/raw/galvo.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kSamples = 5;  // tiles that the galvo's way back is looked for in
constexpr double kLeastMean = 20;      // of a tile for it to be one of them

Result<std::uint64_t> wanted_slice(const StepCall& call) {
  if (call.given("slice")) return call.count("slice");
  if (const auto slice = slice_of(call.path(1))) return *slice;
  return Error(ErrorCode::invalid_argument, fmt::format("{}: which slice? Its name has no _zNN", call.path(1)))
      .set_hint("--slice says it.");
}

Result<RawSlice> open_slice(const StepCall& call, std::uint64_t slice) {
  PENSTOCK_ASSIGN(std::shared_ptr<Store> store, open_store(call.path(0), StoreMode::read));
  PENSTOCK_ASSIGN(auto all, find_tiles(*store));
  if (!all.contains(slice))
    return Error(ErrorCode::not_found, fmt::format("{}: no tiles of slice {}", call.path(0), slice));
  PENSTOCK_ASSIGN(RawSlice s, RawSlice::open(call.path(0), std::move(store), slice, std::move(all[slice])));
  const Sampling how = {call.text("orientation") == "legacy" ? Orientation::legacy : Orientation::none,
                        call.number("axial_resolution_um"),
                        call.given("resolution_um") ? call.number("resolution_um") : 0};
  PENSTOCK_TRY(s.sample(call.path(0), how));
  return s;
}

/// Mean over the depth of each A-line, B-scan by B-scan, and over the B-scans.
struct TileProfile {
  std::vector<float> lines;
  std::vector<double> profile;
  double mean = 0;
};
TileProfile profile_of(const RawSamples& samples) {
  TileProfile p{std::vector<float>(samples.scans * samples.lines), std::vector<double>(samples.lines), 0};
  for (std::uint64_t y = 0; y < samples.scans; ++y)
    for (std::uint64_t x = 0; x < samples.lines; ++x) {
      const float* const line = samples.line(y, x);
      double sum = 0;
      for (std::uint64_t z = 0; z < samples.depth; ++z) sum += line[z];
      sum /= static_cast<double>(samples.depth);
      p.lines[y * samples.lines + x] = static_cast<float>(sum);
      p.profile[x] += sum / static_cast<double>(samples.scans);
    }
  for (const double v : p.profile) p.mean += v / static_cast<double>(samples.lines);
  return p;
}

/// Looks for the galvo's way back in some tiles of the middle of the list together: one shift for all, surer the more
/// of them say the same by themselves.
Result<GalvoShift> slice_galvo_shift(const RawSlice& s) {
  const std::uint64_t n = s.tiles.size(), first = n / 5, last = std::max(first + 1, n - n / 5);
  const std::uint64_t count = std::min(kSamples, last - first);
  std::vector<GalvoShift> single;
  std::vector<double> profile(s.info.lines());
  std::vector<std::vector<float>> lines;  // of each tile that counts
  for (std::uint64_t k = 0; k < count; ++k) {
    const RawTile& tile = s.tiles[first + k * (last - first) / count];
    PENSTOCK_ASSIGN(const RawSamples samples, read_samples(*s.store, tile, s.info));
    const TileProfile p = profile_of(samples);
    if (!(p.mean >= kLeastMean)) continue;
    single.push_back(find_galvo_shift(p.profile, p.lines, s.info.n_extra));
    for (std::size_t x = 0; x < profile.size(); ++x)
      profile[x] += p.profile[x] / p.mean;  // bright ones do not count more
    lines.push_back(p.lines);
  }
  if (single.empty()) return GalvoShift{};
  GalvoShift all = find_galvo_shift(profile, {}, s.info.n_extra);
  // Tiles that say something else count once, by their number, not by their B-scans too.
  const std::uint64_t near = std::max<std::uint64_t>(s.info.n_extra / 4, 5);
  std::vector<float> agreeing;
  double agree = 0;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const std::uint64_t a = single[i].shift, b = all.shift, d = a > b ? a - b : b - a;
    if (std::min(d, s.info.lines() - d) > near) continue;
    agree += 1;
    agreeing.insert(agreeing.end(), lines[i].begin(), lines[i].end());
  }
  all.confidence = find_galvo_shift(profile, agreeing, s.info.n_extra).confidence *
                   std::sqrt(agree / static_cast<double>(single.size()));
  return all;
}

/// Elements in host memory, of the step's budget.
Result<Tensor> host_elements(const Shape& shape, const Options& options) {
  return Tensor::empty(DType::float32(), shape, {}, on_host(options).memory);
}

/// What a piece of work holds: the samples and one file of them, or samples, tile and what resampling holds of it; and
/// the block with its encoded form.
std::uint64_t piece_bytes(const RawSlice& s, const Shape& block) {
  const std::uint64_t raw = saturating_mul(4 * s.info.depth() * s.info.lines(), s.info.ny);
  return saturating_add(saturating_mul(s.tile == s.native ? 2 : 5, raw),
                        saturating_mul(8 * block[0] * block[1], block[2]));
}

/// One tile into its place in a block.
Status put_tile(const RawSlice& s, const RawTile& tile, Device device, float* to, std::uint64_t row_stride,
                std::uint64_t plane_stride, const Options& options) {
  PENSTOCK_ASSIGN(const RawSamples samples, read_samples(*s.store, tile, s.info));
  if (s.tile == s.native) {
    place_tile(samples, s.info, s.galvo_shift, s.orientation, to, row_stride, plane_stride);
    return {};
  }
  PENSTOCK_ASSIGN(const Tensor native, host_elements(s.native, options));
  auto* const values = static_cast<float*>(native.view().data);
  place_tile(samples, s.info, s.galvo_shift, s.orientation, values, s.native[2], s.native[1] * s.native[2]);
  TensorView place;
  place.data = to;
  place.dtype = DType::float32();
  place.shape = s.tile;
  place.strides_bytes = {static_cast<std::int64_t>(plane_stride * 4), static_cast<std::int64_t>(row_stride * 4), 4};
  return resample_tile({values, s.native[0] * s.native[1] * s.native[2]}, s.native, "half_pixel", device, place,
                       options);
}

/// All tiles of a block of the mosaic.
Status make_block(const RawSlice& s, const Region& region, Device device, Array& array, const Options& options) {
  PENSTOCK_ASSIGN(const Tensor block, host_elements(shape_of(region), options));
  auto* const values = static_cast<float*>(block.view().data);
  std::memset(values, 0, sizeof(float) * region[0].count * region[1].count * region[2].count);
  bool any = false;
  for (std::uint64_t r = 0; r < region[1].count; r += s.tile[1])
    for (std::uint64_t c = 0; c < region[2].count; c += s.tile[2]) {
      const RawTile* const tile = s.at((region[1].start + r) / s.tile[1], (region[2].start + c) / s.tile[2]);
      if (tile == nullptr) continue;
      any = true;
      PENSTOCK_TRY(put_tile(s, *tile, device, values + r * region[2].count + c, region[2].count,
                            region[1].count * region[2].count, options));
    }
  if (any) PENSTOCK_TRY(array.write(region, block.view(), options));
  return {};
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const std::uint64_t slice, wanted_slice(call));
  PENSTOCK_ASSIGN(RawSlice s, open_slice(call, slice));
  GalvoShift galvo;
  if (!call.flag("keep_galvo_shift") && s.info.n_extra > 0) {
    PENSTOCK_ASSIGN_IN(galvo, slice_galvo_shift(s), call.path(0));
    if (galvo.confidence >= call.number("galvo_threshold"))
      s.galvo_shift = galvo.shift;
    else
      done.metrics.warn(fmt::format("the galvo's way back was not found (confidence {:.2f}); lines are not rolled",
                                    galvo.confidence));
  }
  VolumeSpec spec;
  spec.chunks = s.tile;
  spec.shape = {s.tile[0], s.rows * s.tile[1], s.cols * s.tile[2]};
  spec.sharding_factor = std::max<std::uint64_t>(call.count("sharding_factor"), 1);
  spec.spacing_mm = s.spacing_mm;
  PENSTOCK_ASSIGN(NewVolume mosaic, NewVolume::create(call.path(1), spec, call.force));
  const Shape block = {s.tile[0], mosaic.objects()[1], mosaic.objects()[2]};
  PENSTOCK_TRY_IN(for_each_object(spec.shape, mosaic.objects(), piece_bytes(s, block), "oct mosaic", call.options,
                                  [&](const Region& region, const Options& inner) {
                                    return make_block(s, region, call.device, mosaic.array(), inner);
                                  }),
                  call.path(0));
  PENSTOCK_TRY(mosaic.finish(call.device, call.options));
  const std::uint64_t missing = s.rows * s.cols - s.tiles.size();
  if (missing > 0) done.metrics.warn(fmt::format("{} of {} tiles are missing; they are 0", missing, s.rows * s.cols));
  done.metrics.add("tiles", s.tiles.size(), "tiles", "tiles that are there");
  done.metrics.add("missing_tiles", missing, "tiles", "tiles that are not there");
  done.metrics.add("galvo_shift", s.galvo_shift, "A-lines", "lines that each tile was rolled by");
  done.metrics.add("galvo_confidence", galvo.confidence, "", "how sure the shift is, 0 to 1");
  done.metrics.note("tile_shape", s.tile, "pixels of a tile: depth, rows, columns");
  done.metrics.note("spacing_mm", s.spacing_mm, "voxel size: depth, rows, columns");
  done.text =
      fmt::format("{}: slice {}, {} x {} tiles of {} x {} x {}, galvo shift {} (confidence {:.2f})\n", call.path(1),
                  slice, s.rows, s.cols, s.tile[0], s.tile[1], s.tile[2], s.galvo_shift, galvo.confidence);
  return done;
}

}  // namespace

Step mosaic_step() {
  Step step;
  step.what.name = "mosaic";
  step.what.summary = "raw tiles of a slice to a mosaic grid";
  step.what.about =
      "RAW holds a folder tile_xXX_yYY_zZZ for each tile, in it or in folders of it, each with info.txt and "
      "image_*.bin. In the mosaic grid the tiles of one slice lie side by side without overlap, x along rows and y "
      "along columns; each chunk is one tile at full depth. The galvo's way back is looked for in five tiles together "
      "and cut off.";
  step.what.arguments = {{"RAW", "folder of raw tiles", false},
                         {"MOSAIC", "the mosaic grid to write, NAME_zNN.ome.zarr", true}};
  step.what.options = {
      count_option("slice", "", "the slice ZZ; default the number behind _z in MOSAIC"),
      number_option("resolution_um", "", "voxel size to resample to; default that of the tiles"),
      number_option("axial_resolution_um", "3.5", "distance of depth samples in RAW, which no file says"),
      count_option("sharding_factor", "1", "tiles along each side of a shard; 1: no shards"),
      flag_option("keep_galvo_shift", "do not look for the galvo's way back"),
      number_option("galvo_threshold", "0.6", "least confidence for lines to be rolled"),
      choice_option(
          "orientation", {"legacy", "none"},
          "legacy: rows are B-scans and columns A-lines, both backwards; none: rows are A-lines, columns B-scans"),
  };
  step.what.example = "subject/raw mosaic_grid_z00.ome.zarr --axial-resolution-um 10";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
