// What an open array holds, shared by its copies.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "array/index/chunk_index.hpp"
#include "array/index/shard_cache.hpp"
#include "codec/chain.hpp"
#include "format/zarr/consolidated.hpp"
#include "penstock/array.hpp"

namespace penstock {

/// Chains for the chunks of an array that end where it does, made when such a chunk is met.  There are few of them: one
/// for each combination of dimensions that end inside a chunk.  Thread-safe.
class CroppedChains {
 public:
  /// For chunks of this shape.  Errors: those of CodecChain::make.
  Result<const CodecChain*> get(const Dataset& dataset, const Shape& shape);

 private:
  std::mutex mutex_;
  std::map<Shape, std::unique_ptr<const CodecChain>> chains_;
};

/// Metadata that one operation sees: replaced as a whole by resize, so that running reads keep what they began with.
struct ArrayView {
  Dataset dataset;
  CodecChain chain;
  std::unique_ptr<const ChunkIndex> index = {};  // of the innermost chunks
  std::unique_ptr<CroppedChains> cropped = std::make_unique<CroppedChains>();
};

struct Array::State {
  std::shared_ptr<Store> store;
  std::string path;
  mutable std::shared_mutex mutex;  // of `view` and `committed`
  std::shared_ptr<const ArrayView> view;
  bool committed = true;
  Consolidated consolidated;  // of groups above, until the array is committed
  ShardIndexCache indexes;

  [[nodiscard]] std::shared_ptr<const ArrayView> current() const {
    const std::shared_lock lock(mutex);
    return view;
  }
  /// Key in the store of a chunk that is an object.
  [[nodiscard]] std::string key(const Dataset& dataset, std::span<const std::uint64_t> chunk) const {
    std::string key = dataset.keys()->key(chunk);
    return path.empty() ? key : path + "/" + std::move(key);
  }
  /// Whether chunks and metadata can be written.  Errors: permission_denied (store), unsupported (format).
  [[nodiscard]] Status check_writable(const Dataset& dataset) const;
};

/// Gives the stages of array/ the inside of an Array.
struct ArrayAccess {
  static Array::State& state(const Array& array) { return *array.state_; }
  static std::shared_ptr<Array::State> share(const Array& array) { return array.state_; }
  /// An array whose innermost chunks another index finds than that which its metadata ask for.
  static Result<Array> with_index(std::shared_ptr<Store> store, std::string_view path, Dataset dataset,
                                  std::unique_ptr<const ChunkIndex> index);
  static Array wrap(std::shared_ptr<Array::State> state) {
    Array array;
    array.state_ = std::move(state);
    return array;
  }
};

}  // namespace penstock
