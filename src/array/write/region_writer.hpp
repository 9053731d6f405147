// Writes chunks of one array from host memory.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/plan/bound_region.hpp"
#include "exec/budget.hpp"
#include "exec/job.hpp"

namespace penstock {

/// A region of one array on its way from memory.
class RegionWriter {
 public:
  /// Errors: out_of_range (region), permission_denied (read-only store).
  static Result<RegionWriter> make(const Array& array, const Region& region, const Target& source);

  [[nodiscard]] std::uint64_t objects() const { return region_.objects.size(); }
  [[nodiscard]] const ArrayView& view() const { return *region_.view; }
  [[nodiscard]] const Array::State& state() const { return *region_.state; }
  [[nodiscard]] const Strides& strides() const { return region_.strides; }  ///< bytes, of the source
  [[nodiscard]] ByteView fill() const { return region_.fill; }              ///< one element
  [[nodiscard]] bool is_sharded() const { return view().chain.sharding() != nullptr; }
  /// Chunks that an object is made of: 1, or those of a shard.
  [[nodiscard]] std::uint64_t chunks_of_object() const {
    return is_sharded() ? view().chain.sharding()->inner_count() : 1;
  }
  /// A chunk, and what of the region lies in it.
  struct Part {
    std::array<ChunkSlice, kMaxRank> segments;
    std::array<std::uint64_t, kMaxRank> origin{};  ///< its first element, in the array
    std::uint64_t linear = 0;                      ///< in its shard
    const std::byte* from = nullptr;               ///< the first of the region's elements in the source
  };
  /// One object, as if it were a chunk.
  struct Piece : Part {
    std::string key;
    std::uint64_t elements = 1;  ///< of the region
    bool covered = false;        ///< the region has all that the array has of this object
    GridPartition inner;         ///< of a shard: its part of the region, cut along the inner chunks
  };
  /// Errors: out_of_range (more inner chunks than can be counted).
  [[nodiscard]] Result<Piece> piece(std::uint64_t i) const;
  /// The chunks of an object that the region touches: the object, or inner chunks of the shard that it is.
  [[nodiscard]] std::uint64_t parts(const Piece& piece) const;
  [[nodiscard]] Part part(const Piece& piece, std::uint64_t i) const;
  /// What encodes chunks, of shards the inner ones.
  [[nodiscard]] const CodecChain& encoder() const;
  /// Tries on some chunks whether quicker encoders make no more bytes, and takes them if so (encode_trial.cpp).  To be
  /// called before the first object is written.
  Status choose_encoder(Job& job);
  /// What the trial showed; empty: there was none.
  [[nodiscard]] const std::string& encoder_reason() const { return encoder_reason_; }
  /// Writes the i-th object: whole, or read, changed and written.
  [[nodiscard]] Status write_object(Job& job, std::uint64_t i) const;
  /// Stores an encoded chunk as an object; nothing: the object is erased.
  [[nodiscard]] Status store_chunk(Job& job, const std::string& key, ByteView encoded) const;
  /// Stores encoded inner chunks, in C order, empty ones absent, as a shard; without any the object is erased.
  [[nodiscard]] Status store_shard(Job& job, const std::string& key, const ShardingCodec& sharding,
                                   std::span<const Bytes> chunks) const;
  /// An error with the object's name.
  [[nodiscard]] Error named(Error error, const std::string& key) const;
  /// Working memory: of a thread that encodes a chunk, and of a shard under way, which all threads may work on.
  [[nodiscard]] WriteNeed need() const;

 private:
  [[nodiscard]] Result<std::unique_ptr<ObjectLock>> lock_object(Job& job, const std::string& key, LockUse use) const;
  // As store_chunk and store_shard, the object's lock held by the caller.
  [[nodiscard]] Status put_chunk(Job& job, const std::string& key, ByteView encoded,
                                 const WriteCondition& condition) const;
  [[nodiscard]] Status put_shard(Job& job, const std::string& key, const ShardingCodec& sharding,
                                 std::span<const Bytes> chunks, const WriteCondition& condition) const;
  struct OldChunks;
  Result<ByteView> chunk_to_try(Worker& worker, std::uint64_t i, std::uint64_t of) const;
  Status write_chunk(Job& job, const Piece& piece, const OldChunks& old) const;
  Status write_shard(Job& job, const Piece& piece, const OldChunks& old) const;
  [[nodiscard]] bool covers(const Part& part, const Shape& chunk_shape) const;
  Result<std::optional<ByteView>> encode_part(Job& job, const OldChunks& old, const Part& part, bool keep_fill) const;
  Status gather(const Part& source, const CodecChain& chain, ByteSpan chunk) const;
  Status fill_chunk(ByteSpan chunk) const;
  [[nodiscard]] bool lies_whole(const CodecChain& chain, const Part& part) const;
  Result<ByteView> take_chunk(Worker& worker, const CodecChain& chain, const Part& part, bool have_old) const;
  Result<std::optional<ByteView>> encode_chunk(Worker& worker, const CodecChain& chain, const Part& part, bool have_old,
                                               bool keep_fill) const;
  Result<bool> encode_pieces(Worker& worker, const CodecChain& chain, const Part& part) const;
  [[nodiscard]] bool is_all_fill(ByteView chunk) const;

  BoundRegion region_;  // its target is the source of the write
  std::shared_ptr<Arena> fill_arena_;
  std::optional<CodecChain> quick_;  // the encoder, where the trial took it
  std::string encoder_reason_;
};

}  // namespace penstock
