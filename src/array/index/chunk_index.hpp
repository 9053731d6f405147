// Where the bytes of chunks lie.  Everything that is chunked is read through one of these: keys, shards, tables of
// offsets, raw volumes.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/index/fetcher.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// Coordinates of some chunks in the grid of an index, `rank` for each.
class ChunkIds {
 public:
  explicit ChunkIds(std::size_t rank) : rank_(rank) {}
  void add(std::span<const std::uint64_t> chunk) {
    coordinates_.insert(coordinates_.end(), chunk.begin(), chunk.end());
    ++size_;
  }
  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::uint64_t> operator[](std::size_t i) const {
    return std::span(coordinates_).subspan(i * rank_, rank_);
  }

 private:
  std::size_t rank_, size_ = 0;
  std::vector<std::uint64_t> coordinates_;
};

/// What chunks lie in: an object, or a shard inside one.
struct ChunkHolder {
  std::string key;
  std::string path;       ///< inside the object: "inner chunk 3: inner chunk 5"; empty: the object itself
  ObjectVersion version;  ///< that the places are of; no number and no pin: nobody looked at the object
  std::shared_ptr<HeldObject> whole = nullptr;  ///< its bytes, where they came with the places

  /// What a request for a chunk asks for (FetchRequest::same_as).
  [[nodiscard]] const ObjectVersion* same_as() const { return version.number != 0 || version.pin ? &version : nullptr; }
};

/// A chunk, located.
struct ChunkRef {
  enum class State : std::uint8_t {
    absent,        ///< not stored: the fill value
    stored,        ///< `size_bytes` from `offset_bytes` of the object
    whole_object,  ///< the object is the chunk; whether it is there, and how large, the read will tell
  };
  State state = State::absent;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::shared_ptr<const ChunkHolder> holder;
  std::optional<std::uint64_t> inner;  ///< number in the shard that holds it
  Shape valid;                         ///< shape of it where it ends before a chunk does; empty: that of a chunk
  std::optional<Error> error;          ///< why it could not be located; the other members say nothing then

  /// Where in its object: "inner chunk 3"; empty when it is the object.
  [[nodiscard]] std::string path() const;
};

/// Immutable but for what it caches; thread-safe.
class ChunkIndex {
 public:
  virtual ~ChunkIndex() = default;
  /// Locates chunks, with all requests of a kind under way together.  What is wrong with one is noted in it.
  /// Errors: those that end the work (cancelled, out_of_memory).
  [[nodiscard]] virtual Status locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const = 0;
  /// Whether the last chunks along a dimension end where the array does (ChunkRef::valid), and are not padded.
  [[nodiscard]] virtual bool crops(std::size_t /*dimension*/) const { return false; }
  /// An object was found to be of another version: what is known of it is looked at no more.
  virtual void forget(const ChunkHolder& /*holder*/) const {}
};

/// The elements that a chunk has where the array ends inside it; empty: all.  `cropped`: by dimension, whether it ends
/// there.
Shape valid_part(std::span<const std::uint64_t> chunk, const Shape& shape, const Shape& chunk_shape,
                 const std::vector<bool>& cropped);

/// As index.locate; what turns out to be of another version is located again, a few times.
Status locate_chunks(const ChunkIndex& index, const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out);
/// How often an object that keeps changing is looked at.
inline constexpr int kLocateTries = 4;

}  // namespace penstock
