// What a file of streamlines takes, whatever its format.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "penstock/dataset.hpp"
#include "penstock/error.hpp"
#include "penstock/tractogram.hpp"

namespace penstock::tracto {

/// The image that the points of a file belong to.
struct ImageGrid {
  std::array<std::uint64_t, 3> dims = {};
  Affine world_from_voxel;
};

/// What a file says of each streamline, beside its length.
struct PerStreamline {
  bool seed_points = false, seed_numbers = false, reasons = false;
};

/// Streamlines, one behind the other, but for their points.  What the file does not say of each is empty.
struct StreamlineBatch {
  std::span<const std::uint32_t> lengths;  ///< points of each streamline
  // What is said of each streamline.
  std::span<const std::array<float, 3>> seed_points;  ///< world, mm
  std::span<const std::uint64_t> seed_numbers;
  std::span<const float> lengths_mm;
  std::span<const std::array<std::uint8_t, 2>> reasons;  ///< EndReason of the backward and of the forward half
};

/// Takes the points of one batch, piece by piece in their order.  Those of several batches may be written at a time.
class PointSink {
 public:
  virtual ~PointSink() = default;
  /// `points`: whole ones, x, y and z in mm of the world, of `type`: float32, or what the file holds.
  /// Errors: no_space, io_error.
  virtual Status write(ByteView points, PointType type) = 0;
  /// All points of the batch are written.
  virtual Status end() = 0;
};

/// A file that is written batch by batch and appears whole when it is finished, or not at all.
class TractogramWriter {
 public:
  virtual ~TractogramWriter() = default;
  /// Gives a batch its place behind those before, for one thread at a time.  Its points follow, through what is
  /// returned, which must not outlive the writer.  Errors: no_space, io_error, unsupported.
  virtual Result<std::unique_ptr<PointSink>> begin(const StreamlineBatch& batch) = 0;
  /// A batch with its points.
  Status append(const StreamlineBatch& batch, std::span<const std::array<float, 3>> points);
  /// Every batch must have ended.  `check` is asked now and then; its error ends the work.  Errors: no_space, io_error.
  virtual Status finish(const std::function<Status()>& check) = 0;
  /// What it is, for the report: "TRX".
  [[nodiscard]] virtual std::string_view format() const = 0;
};

/// Whether a file can be made there.  Errors: invalid_argument (the ending, points), is_directory, already_exists,
/// not_found (the folder).
Status check_tractogram_name(const std::string& path, bool replace, PointType points = PointType::float32);
/// By the name's ending: .trx, .trk or .tck.  `says`: what each batch brings.  `replace`: a file that is there.
/// Errors: invalid_argument (another ending, a grid or numbers that the format cannot say), already_exists,
/// permission_denied, io_error.
Result<std::unique_ptr<TractogramWriter>> begin_tractogram(const std::string& path, const ImageGrid& grid,
                                                           const PerStreamline& says, bool replace,
                                                           PointType points = PointType::float32);

}  // namespace penstock::tracto
