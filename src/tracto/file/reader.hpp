// Files of streamlines, read block by block in bounded memory, whatever their format.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/store.hpp"
#include "tracto/file/object_source.hpp"
#include "tracto/file/tractogram.hpp"

namespace penstock::tracto {

/// Points of a block, as long as no streamline has more; and of a streamline.
inline constexpr std::uint64_t kBlockPoints = std::uint64_t{1} << 16, kMaxLinePoints = std::uint64_t{1} << 24;

/// Streamlines, one behind the other; what the file does not say of each is empty.
struct StreamlineBlock {
  std::vector<std::array<float, 3>> points;  ///< world, mm
  std::vector<std::uint32_t> lengths;
  std::vector<std::array<float, 3>> seed_points;
  std::vector<std::uint64_t> seed_numbers;
  std::vector<std::array<std::uint8_t, 2>> reasons;
};

/// What the head of a file says.
struct TractogramHead {
  std::string format;                        ///< "TRX", "TRK", "TCK"
  std::string number_type;                   ///< of the points: "float16", "float32", "float64"
  std::optional<ImageGrid> grid;             ///< absent: the format does not say it
  std::optional<std::uint64_t> streamlines;  ///< absent: not counted there
  PerStreamline says;                        ///< what is read of each streamline
  std::vector<std::string> names;            ///< what the file says of points, streamlines and groups
};

class TractogramReader {
 public:
  virtual ~TractogramReader() = default;
  [[nodiscard]] const TractogramHead& head() const { return head_; }
  /// The next streamlines into `block`; none: the file is at its end.  Errors: corrupt_data, unsupported (a streamline
  /// of more than kMaxLinePoints points), out_of_memory, those of the store.
  virtual Status next(StreamlineBlock& block) = 0;

 protected:
  TractogramHead head_;
};

/// By the name's ending.  Errors: not_found, invalid_argument (another ending), invalid_metadata, corrupt_data,
/// unsupported; naming the file.
Result<std::unique_ptr<TractogramReader>> open_tractogram(const std::string& path);
/// The store is the file (a zip) or the folder.
Result<std::unique_ptr<TractogramReader>> read_trx(std::shared_ptr<const Store> store);
Result<std::unique_ptr<TractogramReader>> read_trk(ObjectSource source);
Result<std::unique_ptr<TractogramReader>> read_tck(ObjectSource source);

}  // namespace penstock::tracto
