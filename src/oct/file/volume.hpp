// Volumes and mosaic grids as OME-NGFF images: float32, axes (z,) y, x in millimetres.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/job.hpp"
#include "penstock/array.hpp"

namespace penstock::oct {

/// Level 0 of an image that is there.
struct Volume {
  Array array;
  Shape shape;                     ///< (Z, R, C) or (R, C)
  Shape chunks;                    ///< what is decoded at once; of a mosaic grid one tile
  Shape objects;                   ///< what is written at once: shards, else the chunks
  std::vector<double> spacing_mm;  ///< of each axis
  std::vector<double> offset_mm;   ///< of element 0
};
/// Errors: not_found, invalid_metadata and unsupported (no image, not float32, not `rank` dimensions,
/// none or more than 2^20 elements along an axis), with the path.
Result<Volume> open_volume(const std::string& path, std::size_t rank);

/// Tiles of a mosaic grid at most: more are a mistake, and would be walked for days.
inline constexpr std::uint64_t kMostTiles = 1 << 20;

/// Tiles of a mosaic grid.
struct TileGrid {
  std::uint64_t rows = 0, cols = 0;            ///< number of tiles; what is left at the edges belongs to none
  std::uint64_t tile_rows = 0, tile_cols = 0;  ///< of one, in pixels
  [[nodiscard]] std::uint64_t count() const { return rows * cols; }
};
/// Of a mosaic grid or its projection.  Errors: invalid_metadata (chunks that are no tiles, or too many), with the
/// path.
Result<TileGrid> tile_grid(const Volume& mosaic, const std::string& path);

/// What a new image is.
struct VolumeSpec {
  Shape shape, chunks;
  std::uint64_t sharding_factor = 1;  ///< chunks along each lateral axis of a shard; 1: no shards
  std::vector<double> spacing_mm;
  std::vector<double> offset_mm = {};  ///< empty: zeros
  std::uint64_t levels = 1;            ///< each half of the one before; fewer where an axis has no two elements left
};

/// What has the shape, chunks, shards and place of another.
VolumeSpec spec_like(const Volume& volume);

/// An image that is being written: nothing opens at its path before `finish`.
class NewVolume {
 public:
  /// Errors: already_exists (an image, unless `force`), those of writing; with the path.  What a writer that was killed
  /// has left there is replaced.
  static Result<NewVolume> create(const std::string& path, VolumeSpec spec, bool force);
  /// Whether `create` would begin; changes nothing.  Errors: already_exists, invalid_argument (name).
  static Status check(const std::string& path, bool force);
  [[nodiscard]] Array& array() { return array_; }
  [[nodiscard]] const Shape& objects() const { return objects_; }
  /// Writes coarser levels and metadata.
  Status finish(Device device, const Options& options);

 private:
  NewVolume(std::string path, VolumeSpec spec, std::shared_ptr<Store> store, Array array)
      : path_(std::move(path)), spec_(std::move(spec)), store_(std::move(store)), array_(std::move(array)) {}
  std::string path_;
  VolumeSpec spec_;
  std::shared_ptr<Store> store_;
  Array array_;
  Shape objects_;
};

/// Elements in host memory, C order.
struct Block {
  Region region;
  std::vector<float> values;
};
Result<Block> read_block(const Array& array, const Region& region, const Options& options);
Status write_block(Array& array, const Region& region, std::span<const float> values, const Options& options);

/// Calls `piece` for each block of whole `objects` of a shape, on as many threads as the budget has room for blocks of
/// `block_bytes`; the options it is given are those of one thread.  Errors: those of the pieces, budget_too_small.
Status for_each_object(const Shape& shape, const Shape& objects, std::uint64_t block_bytes, std::string_view what,
                       const Options& options, const std::function<Status(const Region&, const Options&)>& piece);

}  // namespace penstock::oct
