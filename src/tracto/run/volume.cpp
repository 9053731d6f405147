#include "tracto/run/volume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/checked.hpp"
#include "core/json.hpp"
#include "format/nifti/nifti.hpp"
#include "penstock/array.hpp"
#include "tracto/file/grid_check.hpp"
#include "tracto/run/gunzip.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kMaxVolumes = 65536;
constexpr std::uint64_t kMaxVoxels = 0x7fffffff;

/// Value = raw * slope + inter.
struct Scaling {
  double slope = 1, inter = 0;
};

Result<Scaling> scaling_of(const Dataset& dataset) {
  PENSTOCK_ASSIGN(const Json attributes, parse_json(dataset.attributes));
  Scaling s;
  if (!attributes.is_object() || !attributes.contains("scl_slope")) return s;
  const Json& slope = attributes["scl_slope"];
  if (!slope.is_number() || slope.get<double>() == 0) return s;
  s.slope = slope.get<double>();
  if (attributes.contains("scl_inter") && attributes["scl_inter"].is_number())
    s.inter = attributes["scl_inter"].get<double>();
  return s;
}

/// Calls run(T{}) with the type of the elements.
template <class Run>
Status with_type(const DType& dtype, const Run& run) {
  const bool is_signed = dtype.kind == Kind::signed_int;
  if (dtype.kind == Kind::floating && dtype.size_bytes == 4) return run(float{});
  if (dtype.kind == Kind::floating && dtype.size_bytes == 8) return run(double{});
  if (is_signed || dtype.kind == Kind::unsigned_int) {
    switch (dtype.size_bytes) {
      case 1: return is_signed ? run(std::int8_t{}) : run(std::uint8_t{});
      case 2: return is_signed ? run(std::int16_t{}) : run(std::uint16_t{});
      case 4: return is_signed ? run(std::int32_t{}) : run(std::uint32_t{});
      case 8: return is_signed ? run(std::int64_t{}) : run(std::uint64_t{});
      default: break;
    }
  }
  return Error(ErrorCode::unsupported, fmt::format("elements of type {}: real numbers are needed", dtype.name()));
}

/// Puts one volume, x fastest, in its place.
void place(const DType& dtype, const std::byte* from, const Scaling& s, std::uint64_t number, Volume& to) {
  static_cast<void>(with_type(dtype, [&]<class T>(T) -> Status {
    const std::uint64_t n = to.voxels();
    for (std::uint64_t i = 0; i < n; ++i) {
      T raw;
      std::memcpy(&raw, from + i * sizeof(T), sizeof raw);
      to.data[i * to.volumes + number] = static_cast<float>(static_cast<double>(raw) * s.slope + s.inter);
    }
    return {};
  }));
}

/// What is wanted: a volume for each gradient, or one number for each voxel.
enum class Want : std::uint8_t { volumes, map };

/// The attribute world_from_voxel of an array whose format has no place for it: rows of 4 numbers, the last of four
/// 0, 0, 0, 1.  nullopt: there is none.
Result<std::optional<Affine>> affine_attribute(const Dataset& dataset) {
  PENSTOCK_ASSIGN(const Json attributes, parse_json(dataset.attributes));
  if (!attributes.is_object() || !attributes.contains("world_from_voxel")) return std::optional<Affine>();
  const Json& rows = attributes["world_from_voxel"];
  const auto wrong = [&] {
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("attribute world_from_voxel: must be 3 rows of 4 numbers, or 4 rows of which the last is "
                             "[0, 0, 0, 1]; is {}",
                             dump_json(rows).substr(0, 120)));
  };
  if (!rows.is_array() || (rows.size() != 3 && rows.size() != 4)) return wrong();
  std::array<double, 16> all = {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_array() || rows[i].size() != 4) return wrong();
    for (std::size_t k = 0; k < 4; ++k) {
      if (!rows[i][k].is_number()) return wrong();
      all[4 * i + k] = rows[i][k].get<double>();
    }
  }
  if (rows.size() == 4 && std::array{all[12], all[13], all[14], all[15]} != std::array{0.0, 0.0, 0.0, 1.0})
    return wrong();
  Affine affine;
  std::copy_n(all.begin(), 12, affine.rows.begin());
  return std::optional<Affine>(affine);
}

/// Extents and transformation, checked.
Result<ImageGrid> grid_of(const Dataset& dataset) {
  ImageGrid grid;
  if (dataset.rank() < 3)
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("an image has 3 dimensions or more; this has the shape {}", to_string(dataset.shape)));
  std::copy_n(dataset.shape.begin(), 3, grid.dims.begin());
  std::optional<Affine> affine = dataset.world_from_voxel;
  if (!affine) {
    PENSTOCK_ASSIGN(affine, affine_attribute(dataset));
  }
  if (affine) {
    grid.world_from_voxel = *affine;
  } else {
    for (std::size_t d = 0; d < 3 && d < dataset.dims.size(); ++d) {
      grid.world_from_voxel.rows[5 * d] = dataset.dims[d].scale.value_or(1);
      grid.world_from_voxel.rows[4 * d + 3] = dataset.dims[d].offset.value_or(0);
    }
  }
  PENSTOCK_TRY(check_grid(grid));
  return grid;
}

/// Extents, checked, and memory for the data.
Result<Volume> prepare(const Dataset& dataset, Want want) {
  Volume v;
  const bool map = want == Want::map && (dataset.rank() == 3 || (dataset.rank() == 4 && dataset.shape[3] == 1));
  if (want == Want::map && !map)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("a map has 3 dimensions (x, y, z); this has the shape {}", to_string(dataset.shape)));
  if (want == Want::volumes && dataset.rank() != 4)
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("a diffusion volume has 4 dimensions (x, y, z, volumes); this has {} {}", dataset.rank(),
                             to_string(dataset.shape)));
  PENSTOCK_ASSIGN(const ImageGrid grid, grid_of(dataset));
  v.dims = grid.dims;
  v.world_from_voxel = grid.world_from_voxel;
  v.volumes = map ? 1 : dataset.shape[3];
  if (v.volumes == 0 || v.volumes > kMaxVolumes || v.voxels() > kMaxVoxels)
    return Error(ErrorCode::invalid_metadata, fmt::format("{} is too large", to_string(dataset.shape)));
  PENSTOCK_TRY(with_type(dataset.dtype, [](auto) -> Status { return {}; }));
  v.data.resize(v.voxels() * v.volumes);
  return v;
}

/// The header of a gzip file, which is then read up to `have` bytes.
Result<Dataset> gzip_header(GunzipFile& file, const std::string& path, std::uint64_t& have) {
  Bytes head;
  constexpr std::size_t kFirst = 348;
  PENSTOCK_TRY(head.resize(kFirst));
  PENSTOCK_TRY(file.read(head.span()));
  std::int32_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  have = kFirst;
  if (size == 540 || size == 0x1c020000) {  // version 2, in either byte order
    have = kNiftiHeaderBytes;
    PENSTOCK_TRY(head.resize(have));
    PENSTOCK_TRY(file.read(head.span().subspan(kFirst)));
  }
  return parse_nifti(head, path, ~std::uint64_t{0});
}

Result<Volume> load_gzip(const std::string& path, Want want, const Options& options) {
  PENSTOCK_ASSIGN(const auto file, GunzipFile::open(path));
  Bytes head, volume;
  std::uint64_t have = 0;
  PENSTOCK_ASSIGN(const Dataset dataset, gzip_header(*file, path, have));
  PENSTOCK_ASSIGN(Volume v, prepare(dataset, want));
  PENSTOCK_ASSIGN(const Scaling scaling, scaling_of(dataset));
  const auto* where = std::get_if<ContiguousChunks>(&dataset.placement);
  for (std::uint64_t skip = where->offset_bytes - have; skip > 0;) {
    const std::uint64_t step = std::min<std::uint64_t>(skip, 1 << 20);
    PENSTOCK_TRY(head.resize_discard(step));
    PENSTOCK_TRY(file->read(head.span()));
    skip -= step;
  }
  const std::uint64_t item = dataset.dtype.size_bytes;
  const bool swapped = dataset.codecs.back().configuration.find("big") != std::string::npos;
  PENSTOCK_TRY(volume.resize_discard(v.voxels() * item));
  for (std::uint64_t t = 0; t < v.volumes; ++t) {
    PENSTOCK_TRY(options.stop().check("track"));
    PENSTOCK_TRY(file->read(volume.span()));
    if (swapped && item > 1)
      for (std::uint64_t i = 0; i < v.voxels(); ++i)
        std::reverse(volume.data() + i * item, volume.data() + (i + 1) * item);
    place(dataset.dtype, volume.data(), scaling, t, v);
  }
  v.stored_bytes = file->file_bytes();
  v.path_taken = "file, gzip in order";
  return v;
}

Result<Volume> load_array(const std::string& path, Want want, const Options& options) {
  PENSTOCK_ASSIGN(const Node node, open(path));
  const auto* array = std::get_if<Array>(&node);
  if (array == nullptr) return Error(ErrorCode::invalid_argument, "a group; an array is needed");
  const Dataset dataset = array->dataset();
  PENSTOCK_ASSIGN(Volume v, prepare(dataset, want));
  PENSTOCK_ASSIGN(const Scaling scaling, scaling_of(dataset));
  const auto item = static_cast<std::int64_t>(dataset.dtype.size_bytes);
  Bytes volume;
  PENSTOCK_TRY(volume.resize_discard(v.voxels() * dataset.dtype.size_bytes));
  Target target;
  target.data = volume.data();
  const auto nx = static_cast<std::int64_t>(v.dims[0]), ny = static_cast<std::int64_t>(v.dims[1]),
             nz = static_cast<std::int64_t>(v.dims[2]);
  target.strides = {item, item * nx, item * nx * ny, item * nx * ny * nz};
  target.strides.resize(dataset.rank());
  Options reading = options;
  reading.progress = nullptr;
  for (std::uint64_t t = 0; t < v.volumes; ++t) {
    Region region = whole(dataset.shape);
    if (region.size() > 3) region[3] = {t, 1, 1};
    PENSTOCK_ASSIGN(const Report report, array->read(region, target, reading));
    v.stored_bytes += report.stored_bytes;
    place(dataset.dtype, volume.data(), scaling, t, v);
  }
  v.path_taken = array->store_ptr()->path_taken();
  return v;
}

Result<Volume> load(const std::string& path, Want want, const Options& options) {
  Result<Volume> volume = path.ends_with(".gz") ? load_gzip(path, want, options) : load_array(path, want, options);
  if (!volume && volume.error().message().find(path) == std::string::npos) volume.error().add_context(path);
  return volume;
}

}  // namespace

std::array<double, 3> Volume::voxel_size_mm() const {
  std::array<double, 3> size = {};
  const auto& m = world_from_voxel.rows;
  for (std::size_t d = 0; d < 3; ++d) size[d] = std::sqrt(m[d] * m[d] + m[4 + d] * m[4 + d] + m[8 + d] * m[8 + d]);
  return size;
}

Result<Volume> load_volume(const std::string& path, const Options& options) {
  return load(path, Want::volumes, options);
}

Result<std::vector<float>> load_map(const std::string& path, const Volume& of, const Options& options) {
  PENSTOCK_ASSIGN(Volume map, load(path, Want::map, options));
  if (map.dims != of.dims)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{}: has {} x {} x {} voxels, the diffusion volume {} x {} x {}", path, map.dims[0],
                             map.dims[1], map.dims[2], of.dims[0], of.dims[1], of.dims[2]));
  for (std::size_t i = 0; i < 12; ++i) {
    const double a = map.world_from_voxel.rows[i], b = of.world_from_voxel.rows[i];
    if (!(std::abs(a - b) <= 1e-3 + 1e-4 * std::abs(b)))
      return Error(
          ErrorCode::invalid_argument,
          fmt::format("{}: lies elsewhere than the diffusion volume: row {}, column {} of the transformation to "
                      "the world is {}, not {}",
                      path, i / 4, i % 4, a, b));
  }
  for (float& value : map.data)
    if (!std::isfinite(value)) value = 0;
  return std::move(map.data);
}

Result<ImageGrid> image_grid(const std::string& path) {
  const auto read = [&]() -> Result<ImageGrid> {
    if (path.ends_with(".gz")) {
      PENSTOCK_ASSIGN(const auto file, GunzipFile::open(path));
      std::uint64_t have = 0;
      PENSTOCK_ASSIGN(const Dataset dataset, gzip_header(*file, path, have));
      return grid_of(dataset);
    }
    PENSTOCK_ASSIGN(const Node node, open(path));
    const auto* array = std::get_if<Array>(&node);
    if (array == nullptr) return Error(ErrorCode::invalid_argument, "a group; an array is needed");
    return grid_of(array->dataset());
  };
  Result<ImageGrid> grid = read();
  if (!grid && grid.error().message().find(path) == std::string::npos) grid.error().add_context(path);
  return grid;
}

std::array<std::string, 2> gradient_files(const std::string& volume) {
  std::string base = volume;
  for (const std::string_view ending : {".gz", ".nii", "/"})
    if (base.ends_with(ending)) base.resize(base.size() - ending.size());
  const auto beside = [&](const std::string& name) {
    std::error_code code;
    const std::string plural = base + name + "s";
    return std::filesystem::exists(plural, code) && !std::filesystem::exists(base + name, code) ? plural : base + name;
  };
  return {beside(".bval"), beside(".bvec")};
}

}  // namespace penstock::tracto
