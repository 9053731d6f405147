// A row of the list of formats (format/list.cpp): how a node is recognised and read.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/format.hpp"
#include "format/raster.hpp"
#include "penstock/bytes.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// A place in a store of which formats are asked whether it is theirs.
class Candidate {
 public:
  Candidate(const Store& store, std::string_view path) : store_(store), path_(path) {}
  [[nodiscard]] const Store& store() const { return store_; }
  [[nodiscard]] std::string_view path() const { return path_; }

  /// The first bytes (at most kHeadBytes) of the object of this very name and its size; read once.
  struct Head {
    Bytes bytes;
    std::uint64_t object_bytes = 0;
    ObjectVersion version;  ///< that they are of
    /// What requests for more of it ask for (FetchRequest::same_as).
    [[nodiscard]] const ObjectVersion* same_as() const { return version.known() ? &version : nullptr; }
  };
  static constexpr std::uint64_t kHeadBytes = 1024;
  /// nullptr: there is no object of this name (but perhaps a directory).
  Result<const Head*> head();

 private:
  const Store& store_;
  std::string_view path_;
  bool asked_ = false;
  std::optional<Head> head_;
};

using Names = std::span<const std::string_view>;

/// A format: how its nodes are found, read and written.
struct FormatEntry {
  std::string_view name;              ///< as FormatInfo has it: "zarr", "nifti"
  std::string (*title)(int version);  ///< for people: "Zarr v3", "NIfTI-1"
  std::string_view reads;  ///< what messages say that penstock reads: "uncompressed NIfTI (.nii)"; empty: nothing
  /// Yes: the node.  No: nullopt, it is not of this format.  An error: it is, and this is why it cannot be read.
  Result<std::optional<NodeInfo>> (*open)(Candidate& candidate);
  Names suffixes = {};  ///< ends of the names of its files: there it is asked before the others
  Names marks = {};     ///< documents of which any makes a directory a node
  Names beside = {};    ///< documents that a node may have besides
  /// What `write` would say of the node itself, and writing it.  nullptr: the format is only read.
  Status (*check)(const NodeInfo& node) = nullptr;
  Status (*write)(Store& store, std::string_view path, const NodeInfo& node, const CancelToken& cancel) = nullptr;
  /// All of a raster file, as `open` gives its image.  nullptr: the files of the format are no rasters.
  Result<std::optional<RasterFile>> (*raster)(Candidate& candidate) = nullptr;
  /// What keeps a raster file from being one that is read well piece by piece from afar.  nullptr: nobody knows.
  Result<std::optional<std::vector<std::string>>> (*layout_problems)(Candidate& candidate, bool every_tile) = nullptr;
  /// How a raster is written: what its file will hold, and the file.  nullptr: rasters are only read.
  Result<RasterPlan> (*plan_raster)(const Dataset& image, const RasterInfo& info, bool with_mask,
                                    const CogOptions& options) = nullptr;
  Result<std::unique_ptr<RasterWriter>> (*create_raster)(Store& store, std::string_view path,
                                                         const RasterPlan& plan) = nullptr;
};

}  // namespace penstock
