// TRX files: a zip of plain arrays.  https://github.com/tee-ar-ex/trx-spec
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "penstock/bytes.hpp"
#include "penstock/dataset.hpp"
#include "store/posix.hpp"
#include "store/zip/writer.hpp"

namespace penstock::tracto {

/// What a TRX file says of the image that its points belong to.
struct TrxGrid {
  std::array<std::uint64_t, 3> dims = {};
  Affine world_from_voxel;
};

/// Writes a TRX file piece by piece: its members grow beside each other in temporary files without a name, and are put
/// together at the end.  The file appears whole, or not at all.
class TrxWriter {
 public:
  /// Errors: already_exists (unless `replace`), permission_denied, io_error, no_space.
  static Result<std::unique_ptr<TrxWriter>> begin(const std::string& path, const TrxGrid& grid, bool replace);
  TrxWriter(const TrxWriter&) = delete;
  TrxWriter& operator=(const TrxWriter&) = delete;
  ~TrxWriter();

  /// A member of data per streamline, by its name in the file ("seed_index.uint64").  Before the first append.
  Status add_dps(std::string name);
  /// Streamlines behind the others.  `points`: 3 float32 for each point.  `dps`: bytes for each member of add_dps.
  Status append(ByteView points, std::span<const std::uint32_t> lengths, std::span<const ByteView> dps);
  /// Errors: no_space, io_error, cancelled (by `check`).
  Status finish(const std::function<Status()>& check);

 private:
  struct Spool;
  TrxWriter();
  std::string path_;
  TrxGrid grid_;
  std::unique_ptr<zip::Writer> zip_;
  std::shared_ptr<const zip::FileSource> replaced_;
  std::vector<std::unique_ptr<Spool>> members_;  // positions, offsets, then dps
  std::uint64_t streamlines_ = 0, points_ = 0;
};

}  // namespace penstock::tracto
