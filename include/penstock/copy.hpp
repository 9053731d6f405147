// Copying arrays, groups with all that is below them, and arrays with a pyramid.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/array.hpp"
#include "penstock/copy_changes.hpp"
#include "penstock/pyramid.hpp"

namespace penstock {

/// What is copied, and how.
struct CopyOptions {
  std::function<Result<CopyChanges>(const Dataset&)> changes;  ///< asked for each array; none: nothing changes
  std::optional<int> zarr_format;                              ///< of the groups
  std::optional<PyramidOptions> pyramid;                       ///< of an array, or of the finest level of an image
  Array::IfExists if_exists = Array::IfExists::fail;
  Resume resume = Resume::no;
  StoreOptions store = {};  ///< how the store that is written to is opened, if it is named by a URL
};

/// An array that a copy would write.
struct PlannedArray {
  std::string path;  ///< below the copy; "" is the copy itself
  Dataset dataset;
  bool coarser = false;  ///< a level of the pyramid, made of the one before it
  std::string lost;      ///< what cannot be carried into the other format or version; empty: nothing
};
/// All arrays that `copy` would write, in its order; nothing is written.  Errors: those that `copy` would begin with.
PENSTOCK_API Result<std::vector<PlannedArray>> plan_copy(const Node& from, const CopyOptions& how);

/// Copies a node to `path` of the store at `url` in bounded memory.  A node is written after what is below it, its
/// metadata after its elements, so that a copy that is stopped opens as nothing; the file `.penstock-copy.json` says
/// there what it is.  With Resume::yes the same copy goes on; where it is complete, metadata and elements are compared
/// with the source and Report::note says so.
/// With IfExists::overwrite, what stands there is removed when all of the source has been read: a directory is written
/// beside (`.penstock-new-NAME`, on the same disk) and put in its place in one step, an archive is replaced as a whole.
/// Where neither can be (memory://, a parent directory that may not be written to) all of the source is read once
/// before anything is removed.
/// A URL that ends in .tif makes a COG of an array (penstock/cog.hpp), with the region, square chunks as tiles, and
/// zstd, zlib or no compressor of the changes. Errors: already_exists (naming what differs), invalid_argument (the
/// places overlap), those of reading and writing.
PENSTOCK_API Result<Report> copy(const Node& from, const std::string& url, std::string_view path,
                                 const CopyOptions& how, const Options& options);
/// As above, into a store that is open.  A directory that is replaced is not written beside: its handles stay valid.
PENSTOCK_API Result<Report> copy(const Node& from, const std::shared_ptr<Store>& to_store, std::string_view to_path,
                                 const CopyOptions& how, const Options& options);
/// As above, of one array.
PENSTOCK_API Result<Report> copy(const Array& from, std::shared_ptr<Store> to_store, std::string_view to_path,
                                 const CopyChanges& changes, Array::IfExists if_exists, Resume resume,
                                 const Options& options);

}  // namespace penstock
