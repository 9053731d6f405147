// Raster files as data: what formats give of them, and take to write one.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/job.hpp"
#include "penstock/cog_options.hpp"
#include "penstock/control.hpp"
#include "penstock/dataset.hpp"
#include "penstock/raster_info.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// The levels of a raster, finest first.  One that cannot be read does not keep others from being read.
struct RasterFile {
  struct Level {
    Shape shape;                          ///< band, y, x
    Result<Dataset> dataset;              ///< or why not
    std::optional<Result<Dataset>> mask;  ///< nullopt: there is none
  };
  RasterInfo info;
  std::vector<Level> levels;  ///< at least one
};

/// What a raster file that is to be written will hold.  Of the datasets shape, type, chunks, codecs and nodata count.
struct RasterPlan {
  RasterInfo info;
  std::vector<Dataset> levels;  ///< finest first; each half as large as the one before, rounded up
  std::vector<Dataset> masks;   ///< none, or one for each level
  CogOptions options;
};

/// A raster file under way.  It stands when `commit` returns; dropped before, it never was.
class RasterWriter {
 public:
  virtual ~RasterWriter() = default;
  /// Chunk number `chunk` (C order of the grid) of a level or of its mask, encoded.  Each once, in any order, from any
  /// thread.  Errors: no_space, io_error, unsupported (a chunk too large for the format).
  virtual Status put(std::size_t level, bool of_mask, std::uint64_t chunk, ByteView encoded) = 0;
  /// Brings what was put to its place in the file, once, when all of it was.  Errors: as put; cancelled.
  virtual Status lay_out(Job& job) = 0;
  /// Errors: changed (something stands there that may not be replaced), those of the store.
  virtual Status commit(const WriteCondition& condition, const CancelToken& cancel) = 0;
  /// Of the file; known after `lay_out`.
  [[nodiscard]] virtual std::uint64_t file_bytes() const = 0;
};

/// Reads the raster at `path`.  Errors: not_found, unsupported (of a format that has none), those of the format.
Result<RasterFile> read_raster(const Store& store, std::string_view path);
/// What keeps a raster file from being a Cloud Optimized GeoTIFF.  Errors: as read_raster.
Result<std::vector<std::string>> raster_layout_problems(const Store& store, std::string_view path, bool every_tile);
/// Whether files of a format are rasters.
bool has_rasters(const FormatInfo& format);

struct FormatEntry;
/// The format that a raster file of this name would be written in; nullptr: none.
const FormatEntry* raster_format_of(std::string_view path);

}  // namespace penstock
