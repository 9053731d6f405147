// Arrays and groups in stores: open, read, write, create, copy.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/control.hpp"
#include "penstock/dataset.hpp"
#include "penstock/device.hpp"
#include "penstock/report.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// What happens when a chunk cannot be decoded.
enum class OnError : std::uint8_t {
  fail,  ///< the read fails with the first error; the target's content is then unspecified but initialised memory
  fill,  ///< the chunk reads as the fill value and is listed in Report::problems
};

/// How an operation may use the machine.  Zero means the default; `penstock doctor --defaults` prints them.
struct Options {
  std::uint64_t budget_bytes = 0;  ///< working memory beyond the output; default a quarter of free memory
  std::uint64_t threads = 0;       ///< default: the CPUs this process may use
  OnError on_error = OnError::fail;
  bool store_fill_chunks = false;  ///< writing: also store chunks that hold only the fill value (not inside shards)
  CancelToken cancel;
  ProgressFn progress;
};

/// Memory that elements go to or come from: shape = the counts of the region.
struct Target {
  void* data = nullptr;
  Strides strides;  ///< bytes; any sign; empty: C order
  Device device;
  Stream stream;  ///< CUDA: work is ordered on it; the call returns when the host side is done
};

/// Where each chunk of a region is and what will be read for it.  Printable.
struct Plan {
  Region region;
  std::uint64_t chunks = 0;         ///< innermost chunks touched
  std::uint64_t objects = 0;        ///< keys touched (chunks or shards)
  std::uint64_t index_reads = 0;    ///< shard indexes
  std::uint64_t decoded_bytes = 0;  ///< of whole chunks
  std::uint64_t output_bytes = 0;
  std::uint64_t chunk_bytes = 0;  ///< decoded size of one innermost chunk
  std::uint64_t budget_bytes = 0;
  std::uint64_t need_bytes = 0;     ///< least budget that works
  std::uint64_t workers = 0;        ///< chunks in flight within the budget
  std::vector<StageReport> stages;  ///< path and reason of each stage; no times
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
};

class CodecChain;  // src/codec/chain.hpp

/// An array in a store.  Copies share the store and the shard index cache.  Thread-safe.
class Array {
 public:
  /// Opens the array at `path` ("" = the root of the store).
  /// Errors: not_found, invalid_metadata, unsupported (codec, dtype or extension, by name).
  static Result<Array> open(std::shared_ptr<Store> store, std::string_view path);
  /// As open, for a caller that has the metadata already: nothing is read, and nothing says that the array is there.
  /// Errors: unsupported (codec, by name), invalid_metadata (codecs that do not fit together).
  static Result<Array> with_metadata(std::shared_ptr<Store> store, std::string_view path, Dataset dataset);
  /// Writes the metadata of a new array.  `overwrite` removes what is at `path` first.  Errors: already_exists, ...
  enum class IfExists : std::uint8_t { fail, overwrite };
  static Result<Array> create(std::shared_ptr<Store> store, std::string_view path, Dataset dataset, IfExists if_exists);
  /// As create, but nothing is written until `commit`: a copy that is killed leaves no array that looks complete.
  static Result<Array> prepare(std::shared_ptr<Store> store, std::string_view path, Dataset dataset,
                               IfExists if_exists);
  /// Writes the metadata of a prepared array.
  [[nodiscard]] Status commit();

  /// The metadata as it is now (`resize` of any copy changes it).
  [[nodiscard]] Dataset dataset() const;
  [[nodiscard]] std::shared_ptr<Store> store_ptr() const;
  [[nodiscard]] const std::string& path() const;
  /// The codec chain bound to the chunks.
  [[nodiscard]] std::shared_ptr<const CodecChain> codecs() const;

  /// What `read` would do with the same arguments; reads no chunks.  Errors: out_of_range, no_device,
  /// corrupt_data (of an index).
  [[nodiscard]] Result<Plan> plan(const Region& region, Device device, const Options& options) const;
  /// Reads `region` into `target`.  `arena` receives the memory of variable-length elements (needed for those only).
  /// Errors: out_of_range, corrupt_data (names key and byte), budget_too_small (says how much is needed), cancelled.
  [[nodiscard]] Result<Report> read(const Region& region, const Target& target, const Options& options,
                                    Arena* arena = nullptr) const;
  /// Writes `source` to `region`.  Chunks covered in part are read, changed and written.  Every object is replaced as a
  /// whole.  Chunks that hold only the fill value are not stored (an existing one is removed) unless the
  /// options say so.
  [[nodiscard]] Result<Report> write(const Region& region, const Target& source, const Options& options);
  /// Decodes every chunk; what is wrong is listed in Report::problems.
  [[nodiscard]] Result<Report> verify(const Options& options) const;
  /// Changes the shape in the metadata (chunks outside are removed).
  [[nodiscard]] Status resize(const Shape& shape);
  [[nodiscard]] Status set_attributes(std::string_view attributes_json);

  struct State;  ///< the inside, for the stages of array/

 private:
  friend struct ArrayAccess;
  std::shared_ptr<State> state_;
};

/// Several reads in one call: their chunks share workers and budget.
struct ReadItem {
  const Array* array = nullptr;
  Region region;
  Target target;
};
/// Reads all items.  Errors: as Array::read, with the array's path in front.
Result<Report> read_many(std::span<const ReadItem> items, const Options& options, Arena* arena = nullptr);

/// Several writes in one call: their chunks share workers and budget.
struct WriteItem {
  Array* array = nullptr;
  Region region;
  Target source;
};
/// Writes all items, in no order: where two of them touch the same element, either may win.  Errors: as Array::write.
Result<Report> write_many(std::span<const WriteItem> items, const Options& options);

/// A group in a store.
class Group {
 public:
  /// Opens the group at `path` ("" = the root of the store).  Errors: not_found, invalid_metadata.
  static Result<Group> open(std::shared_ptr<Store> store, std::string_view path);
  /// A group whose metadata the caller has; nothing is read.
  static Group with_metadata(std::shared_ptr<Store> store, std::string_view path, GroupInfo info);
  /// Writes the metadata of a new group.  Errors: already_exists, io_error, permission_denied.
  static Result<Group> create(std::shared_ptr<Store> store, std::string_view path, GroupInfo info, Array::IfExists);
  [[nodiscard]] const GroupInfo& info() const;
  [[nodiscard]] std::shared_ptr<Store> store_ptr() const;
  [[nodiscard]] const std::string& path() const;
  /// A member of the hierarchy.
  struct Member {
    std::string name;
    bool is_array = false;  ///< also when its metadata cannot be read: opening it says why
  };
  /// Direct members, sorted, as they stand; consolidated metadata are not asked.
  [[nodiscard]] Result<std::vector<Member>> members() const;
  /// The OME-NGFF multiscale images of this group; empty when it is none.  Errors: invalid_metadata.
  [[nodiscard]] Result<std::vector<Multiscale>> multiscales() const;
  [[nodiscard]] Status set_attributes(std::string_view attributes_json);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Array or Group at a path or URL ("vol.zarr/0", "x.zip").  With Links::inside the store is the whole hierarchy of
/// directories with metadata that the path ends in.
using Node = std::variant<Array, Group>;
Result<Node> open(const std::string& url, StoreMode mode = StoreMode::read, const StoreOptions& options = {});
/// Array or Group at `path` of a store ("" = its root).  Its metadata is read once.
/// Errors: not_found, invalid_metadata, unsupported (codec, dtype or extension, by name).
Result<Node> open(std::shared_ptr<Store> store, std::string_view path);

/// How `copy` changes the array.  Empty members keep what the source has.
struct CopyChanges {
  std::optional<Region> region;
  std::optional<int> zarr_format;
  std::optional<Shape> chunk_shape;                   ///< innermost chunks
  std::optional<Shape> shard_shape;                   ///< empty shape: no shards
  std::optional<std::vector<CodecSpec>> compressors;  ///< bytes->bytes codecs of the chunks
  std::optional<std::string> dimension_separator;
};
/// The dataset that `copy` would write.
Result<Dataset> copied_dataset(const Dataset& from, const CopyChanges& changes);
/// Copies an array in bounded memory; `resume` keeps objects that a broken copy has already written.
/// The metadata is written last.
enum class Resume : std::uint8_t { no, yes };
Result<Report> copy(const Array& from, std::shared_ptr<Store> to_store, std::string_view to_path,
                    const CopyChanges& changes, Array::IfExists if_exists, Resume resume, const Options& options);

/// Writes the coarser levels of an image whose level 0 is `from`, each by averaging 2 x 2 (x 2) blocks of the spatial
/// axes, and the OME-NGFF metadata ("0.4" for zarr v2 arrays, "0.5" for v3).  Labels (`nearest`) take one voxel of each
/// block.
enum class Downsample : std::uint8_t { mean, nearest };
struct PyramidOptions {
  Downsample method = Downsample::mean;
  int levels = 0;               ///< 0: until the largest spatial extent is 256 or less
  std::vector<ImageAxis> axes;  ///< empty: from dimension names, else the last of t, c, z, y, x
  std::vector<double> scale;    ///< of level 0; empty: ones
  std::string name;
};
/// Writes the pyramid of `from` into the group at `group_path`.  Errors: those of reading and writing.
Result<Report> write_pyramid(const Array& from, std::shared_ptr<Store> to_store, std::string_view group_path,
                             const PyramidOptions& pyramid, Array::IfExists if_exists, const Options& options);

}  // namespace penstock
