#include "oct/file/volume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "format/format.hpp"
#include "oct/file/small_file.hpp"
#include "penstock/copy.hpp"
#include "penstock/ngff.hpp"
#include "penstock/pyramid.hpp"

namespace penstock::oct {
namespace {

constexpr const char* kAxes[] = {"z", "y", "x"};
constexpr double kLeastMm = 1e-9, kMostMm = 1e6;  // size of a voxel
constexpr std::uint64_t kMostExtent = 1 << 20;    // elements along an axis

Error exists_already(const std::string& path) {
  return Error(ErrorCode::already_exists, path + ": already exists").set_hint("--force replaces it.");
}

/// Millimetres of a length in the unit of an image; without a unit, below 1 they are millimetres, else micrometres.
Result<double> in_mm(double length, const std::string& unit) {
  if (unit == "millimeter" || (unit.empty() && length < 1)) return length;
  if (unit == "micrometer" || unit.empty()) return length / 1000;
  if (unit == "meter") return length * 1000;
  if (unit == "nanometer") return length / 1e6;
  return Error(ErrorCode::unsupported, fmt::format("lengths in {}", unit));
}

Result<Volume> open_level(const std::shared_ptr<Store>& store, std::size_t rank) {
  PENSTOCK_ASSIGN(const bool there, store->exists("zarr.json"));
  if (!there) {
    PENSTOCK_ASSIGN(const bool is_v2, store->exists(".zgroup"));
    if (!is_v2) return Error(ErrorCode::not_found, "no OME-NGFF image is there");
    return Error(ErrorCode::unsupported, "it is of zarr v2; OME-NGFF 0.5 is of zarr v3")
        .set_hint("`penstock copy OLD NEW --zarr-format 3` makes it so.");
  }
  PENSTOCK_ASSIGN(Array array, Array::open(store, "0"));
  const Dataset dataset = array.dataset();
  if (dataset.rank() != rank)
    return Error(ErrorCode::invalid_metadata, fmt::format("it has {} dimensions, {} are needed", dataset.rank(), rank));
  if (dataset.dtype != DType::float32())
    return Error(ErrorCode::unsupported, fmt::format("elements are {}, float32 is needed", dataset.dtype.name()));
  for (const std::uint64_t extent : dataset.shape)
    if (extent == 0 || extent > kMostExtent)
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("its shape is {}: along each axis there are 1 to {} elements", to_string(dataset.shape),
                               kMostExtent));
  PENSTOCK_ASSIGN(const Shape chunks, dataset.inner_chunk_shape());
  Volume volume{std::move(array), dataset.shape, chunks, dataset.chunk_shape, {}, {}};
  PENSTOCK_ASSIGN(const std::vector<Dimension> dims, image_dimensions(volume.array));
  if (dims.size() != rank) return Error(ErrorCode::invalid_metadata, "no image says how large its voxels are");
  for (const Dimension& d : dims) {
    if (!d.scale || !(*d.scale > 0) || !std::isfinite(*d.scale))
      return Error(ErrorCode::invalid_metadata, "the image does not say how large its voxels are");
    PENSTOCK_ASSIGN(const double spacing, in_mm(*d.scale, d.unit));
    if (!(spacing >= kLeastMm) || !(spacing <= kMostMm))
      return Error(ErrorCode::invalid_metadata, fmt::format("voxels of {} mm", spacing));
    volume.spacing_mm.push_back(spacing);
    volume.offset_mm.push_back(d.offset.value_or(0) * (spacing / *d.scale));
  }
  return volume;
}

}  // namespace

Result<Volume> open_volume(const std::string& path, std::size_t rank) {
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(path, StoreMode::read));
  PENSTOCK_ASSIGN_IN(Volume volume, open_level(store, rank), path);
  return volume;
}

Result<TileGrid> tile_grid(const Volume& mosaic, const std::string& path) {
  const std::size_t rank = mosaic.shape.size();
  const std::uint64_t tile_rows = mosaic.chunks[rank - 2], tile_cols = mosaic.chunks[rank - 1];
  // Of a stitched slice whatever fills no chunk would be lost.
  const bool whole_tiles = mosaic.shape[rank - 2] % tile_rows == 0 && mosaic.shape[rank - 1] % tile_cols == 0;
  TileGrid grid{mosaic.shape[rank - 2] / tile_rows, mosaic.shape[rank - 1] / tile_cols, tile_rows, tile_cols};
  if (grid.count() == 0 || !whole_tiles || (rank == 3 && mosaic.chunks[0] < mosaic.shape[0]))
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("{}: it is no mosaic grid: chunks of {} are no tiles at full depth of {}", path,
                             to_string(mosaic.chunks), to_string(mosaic.shape)))
        .set_hint("In a mosaic grid each chunk is one tile.");
  if (saturating_mul(grid.rows, grid.cols) > kMostTiles)
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("{}: {} x {} tiles of {} x {} pixels", path, grid.rows, grid.cols, tile_rows, tile_cols))
        .set_hint("In a mosaic grid each chunk is one tile.");
  return grid;
}

VolumeSpec spec_like(const Volume& volume) {
  VolumeSpec spec;
  spec.shape = volume.shape;
  spec.chunks = volume.chunks;
  spec.sharding_factor = volume.objects[1] / volume.chunks[1];
  spec.spacing_mm = volume.spacing_mm;
  spec.offset_mm = volume.offset_mm;
  return spec;
}

Status NewVolume::check(const std::string& path, bool force) {
  if (!path.ends_with(".zarr"))
    return Error(ErrorCode::invalid_argument, fmt::format("{}: the name must end in .ome.zarr", path));
  PENSTOCK_ASSIGN(const bool there, small_exists(path + "/zarr.json"));
  return there && !force ? Status(exists_already(path)) : Status();
}

Result<NewVolume> NewVolume::create(const std::string& path, VolumeSpec spec, bool force) {
  PENSTOCK_TRY(check(path, force));
  PENSTOCK_ASSIGN_IN(std::shared_ptr<Store> store, open_store(path, StoreMode::create), path);
  PENSTOCK_ASSIGN_IN(const bool there, store->exists("zarr.json"), path);
  if (there && !force) return exists_already(path);             // stores that are no folders
  if (there) PENSTOCK_TRY_IN(store->erase("zarr.json"), path);  // from here on it is no image
  const std::size_t rank = spec.shape.size();
  Dataset dataset;
  dataset.shape = spec.shape;
  dataset.dtype = DType::float32();
  dataset.fill.assign(4, std::byte{0});
  for (std::size_t d = 0; d < rank; ++d)
    spec.chunks[d] = std::min(spec.chunks[d], std::max<std::uint64_t>(spec.shape[d], 1));
  dataset.chunk_shape = spec.chunks;
  dataset.codecs = {{"bytes", R"({"endian":"little"})"}, {"zstd", R"({"level":3,"checksum":false})"}};
  if (spec.sharding_factor > 1) {
    Dataset plain = dataset;
    for (std::size_t d = rank - 2; d < rank; ++d) {
      PENSTOCK_ASSIGN_IN(dataset.chunk_shape[d], checked_mul(spec.chunks[d], spec.sharding_factor), path);
    }
    CopyChanges changes;
    changes.chunk_shape = spec.chunks;
    changes.shard_shape = dataset.chunk_shape;
    PENSTOCK_ASSIGN_IN(dataset, copied_dataset(plain, changes), path);
  }
  if (spec.offset_mm.empty()) spec.offset_mm.assign(rank, 0);
  for (std::size_t d = 0; d < rank; ++d)
    dataset.dims.push_back({kAxes[3 - rank + d], "millimeter", spec.spacing_mm[d], spec.offset_mm[d]});
  PENSTOCK_ASSIGN_IN(Array array, Array::prepare(store, "0", dataset, Array::IfExists::overwrite), path);
  NewVolume made(path, std::move(spec), std::move(store), std::move(array));
  made.objects_ = dataset.chunk_shape;
  return made;
}

Status NewVolume::finish(Device device, const Options& options) {
  // Not array_.commit(), which would write the group, too: that comes last, and says that the image is whole.
  PENSTOCK_TRY_IN(write_node(*store_, "0", array_.dataset(), options.stop()), path_);
  PyramidOptions pyramid;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t d = 0; d < spec_.shape.size(); ++d) {
    least = std::min(least, spec_.shape[d]);
    pyramid.axes.push_back({kAxes[3 - spec_.shape.size() + d], "space", "millimeter"});
  }
  const auto halvings = static_cast<std::uint64_t>(std::bit_width(std::max<std::uint64_t>(least, 1)) - 1);
  pyramid.levels = static_cast<int>(std::clamp<std::uint64_t>(spec_.levels, 1, halvings + 1));
  pyramid.scale = spec_.spacing_mm;
  pyramid.name = path_.substr(path_.rfind('/') == std::string::npos ? 0 : path_.rfind('/') + 1);
  pyramid.device = device;
  PENSTOCK_TRY_IN(write_pyramid(array_, store_, "", pyramid, Array::IfExists::overwrite, options), path_);
  return {};
}

Result<Block> read_block(const Array& array, const Region& region, const Options& options) {
  Block block{region, {}};
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(region)));
  block.values.resize(count);
  PENSTOCK_TRY(array.read(region, Target{block.values.data(), {}, {}, {}}, options));
  return block;
}

Status write_block(Array& array, const Region& region, std::span<const float> values, const Options& options) {
  PENSTOCK_TRY(array.write(region, Target{const_cast<float*>(values.data()), {}, {}, {}}, options));
  return {};
}

Status for_each_object(const Shape& shape, const Shape& objects, std::uint64_t block_bytes, std::string_view what,
                       const Options& options, const std::function<Status(const Region&, const Options&)>& piece) {
  Shape counts;
  std::uint64_t total = 1, bytes = sizeof(float);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    counts.push_back(div_up(shape[d], objects[d]));
    total = saturating_mul(total, counts.back());
    bytes = saturating_mul(bytes, shape[d]);
  }
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, block_bytes));
  Job job(options, what, bytes, plan.workers);
  Options inner = options;
  inner.progress = nullptr;
  inner.threads = 1;
  return job.run([&] {
    return job.for_each(total, true, [&](std::uint64_t i) -> Status {
      Region region(shape.size());
      std::uint64_t rest = i;
      std::uint64_t done = sizeof(float);
      for (std::size_t d = shape.size(); d-- > 0;) {
        const std::uint64_t start = rest % counts[d] * objects[d];
        rest /= counts[d];
        region[d] = {start, std::min(objects[d], shape[d] - start), 1};
        done *= region[d].count;
      }
      PENSTOCK_TRY(piece(region, inner));
      job.advance(done);
      return {};
    });
  });
}

}  // namespace penstock::oct
