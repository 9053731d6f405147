// Arrays and groups in stores: open, read, write, create.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/dataset.hpp"
#include "penstock/device.hpp"
#include "penstock/options.hpp"
#include "penstock/report.hpp"
#include "penstock/store.hpp"
#include "penstock/tensor.hpp"

namespace penstock {

/// Memory that elements go to or come from, when data type and shape are clear: those of the array and of the region.
struct Target {
  void* data = nullptr;
  Strides strides;  ///< bytes; any sign; empty: C order
  Device device;
  Stream stream;  ///< CUDA: work is ordered on it; the call returns when the host side is done
};

/// Where each chunk of a region is and what will be read for it.  Printable.
struct PENSTOCK_API Plan {
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
class PENSTOCK_API Array {
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
  /// Writes the metadata of a prepared array.  `cancel` ends the wait for others who write there, here and below.
  [[nodiscard]] Status commit(const CancelToken& cancel = CancelToken::never());

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
  /// As above, into memory that says what it holds.  Errors: also invalid_argument (data type or shape are not those of
  /// the array and the region, read-only, elements that share memory).
  [[nodiscard]] Result<Report> read(const Region& region, const TensorView& target, const Options& options,
                                    Arena* arena = nullptr) const;
  /// As above, into new memory (`options.memory`) on the stream's device, in C order and in the order of the stream.
  /// `report`: what happened.  Errors: also out_of_memory.
  [[nodiscard]] Result<Tensor> read(const Region& region, const Options& options = {}, const Stream& stream = {},
                                    Report* report = nullptr) const;
  /// Writes `source` to `region`.  Chunks covered in part are read, changed and written.  Every object is replaced as a
  /// whole.  Chunks that hold only the fill value are not stored (an existing one is removed) unless the
  /// options say so.
  [[nodiscard]] Result<Report> write(const Region& region, const Target& source, const Options& options);
  /// As above, from memory that says what it holds.  Errors: also invalid_argument (data type or shape are not those of
  /// the array and the region).
  [[nodiscard]] Result<Report> write(const Region& region, const TensorView& source, const Options& options);
  /// Decodes every chunk; what is wrong is listed in Report::problems.
  [[nodiscard]] Result<Report> verify(const Options& options) const;
  /// Changes the shape in the metadata (chunks outside are removed).
  [[nodiscard]] Status resize(const Shape& shape, const CancelToken& cancel = CancelToken::never());
  [[nodiscard]] Status set_attributes(std::string_view attributes_json,
                                      const CancelToken& cancel = CancelToken::never());

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
PENSTOCK_API Result<Report> read_many(std::span<const ReadItem> items, const Options& options, Arena* arena = nullptr);

/// Several writes in one call: their chunks share workers and budget.
struct WriteItem {
  Array* array = nullptr;
  Region region;
  Target source;
};
/// Writes all items, in no order: where two of them touch the same element, either may win.  Errors: as Array::write.
PENSTOCK_API Result<Report> write_many(std::span<const WriteItem> items, const Options& options);

/// A group in a store.
class PENSTOCK_API Group {
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
  /// What is wrong with these images by the rules of OME-NGFF, a line for each problem: axes, scales, arrays that are
  /// missing or do not fit together.  Empty: nothing, or no image.
  [[nodiscard]] Result<std::vector<std::string>> image_problems() const;
  [[nodiscard]] Status set_attributes(std::string_view attributes_json,
                                      const CancelToken& cancel = CancelToken::never());
  /// Collects the metadata of everything below and writes them as consolidated metadata of this group.
  [[nodiscard]] Status consolidate() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Array or Group at a path or URL ("vol.zarr/0", "x.zip").  With Links::inside the store is the whole hierarchy of
/// directories with metadata that the path ends in.
using Node = std::variant<Array, Group>;
PENSTOCK_API Result<Node> open(const std::string& url, StoreMode mode = StoreMode::read,
                               const StoreOptions& options = {});
/// Array or Group at `path` of a store ("" = its root).  Its metadata is read once.
/// Errors: not_found, invalid_metadata, unsupported (codec, dtype or extension, by name).
PENSTOCK_API Result<Node> open(std::shared_ptr<Store> store, std::string_view path);

}  // namespace penstock
