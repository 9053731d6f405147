// Writes chunks of one array from host memory.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/grid.hpp"
#include "array/state.hpp"
#include "exec/budget.hpp"
#include "exec/job.hpp"

namespace penstock {

/// A region of one array on its way from memory.
class RegionWriter {
 public:
  /// Errors: out_of_range (region), permission_denied (read-only store).
  static Result<RegionWriter> make(const Array& array, const Region& region, const Target& source);

  [[nodiscard]] std::uint64_t objects() const { return cut_.size(); }
  [[nodiscard]] const ArrayView& view() const { return *view_; }
  [[nodiscard]] const Array::State& state() const { return *state_; }
  [[nodiscard]] const Strides& strides() const { return strides_; }             ///< bytes, of the source
  [[nodiscard]] ByteView fill() const { return {fill_.data(), fill_.size()}; }  ///< one element
  /// One object and what of the region lies in it.
  struct Piece {
    std::string key;
    std::array<ChunkSlice, kMaxRank> segments;
    std::array<std::uint64_t, kMaxRank> origin{};  ///< its first element, in the array
    std::uint64_t elements = 1;                    ///< of the region
    const std::byte* from = nullptr;               ///< the first of them in the source
    bool covered = false;                          ///< the region has all that the array has of this object
  };
  [[nodiscard]] Piece piece(std::uint64_t i) const;
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

  /// An inner chunk of a shard and what of the region lies in it.
  struct InnerPiece {
    std::array<ChunkSlice, kMaxRank> segments;
    std::array<std::uint64_t, kMaxRank> origin{};  ///< its first element, in the array
    std::uint64_t linear = 0;                      ///< in the inner grid
    const std::byte* from = nullptr;
  };
  /// A shard's part of the region, cut along the inner chunks.
  [[nodiscard]] Result<GridPartition> cut_shard(std::span<const ChunkSlice> segments) const;
  [[nodiscard]] InnerPiece inner_piece(const GridPartition& cut, std::uint64_t i, std::span<const ChunkSlice> segments,
                                       const std::byte* from) const;

 private:
  [[nodiscard]] Result<std::unique_ptr<ObjectLock>> lock_object(Job& job, const std::string& key, LockUse use) const;
  // As store_chunk and store_shard, the object's lock held by the caller.
  [[nodiscard]] Status put_chunk(Job& job, const std::string& key, ByteView encoded,
                                 const WriteCondition& condition) const;
  [[nodiscard]] Status put_shard(Job& job, const std::string& key, const ShardingCodec& sharding,
                                 std::span<const Bytes> chunks, const WriteCondition& condition) const;
  struct OldShard;
  Result<ByteView> chunk_to_try(Worker& worker, std::uint64_t i, std::uint64_t of) const;
  Status write_chunk(Job& job, const std::string& key, std::span<const ChunkSlice> segments, const std::byte* from,
                     bool covered) const;
  Status write_shard(Job& job, const Piece& piece) const;
  /// Encodes one inner chunk into `out`; an empty result is an absent chunk.
  Status encode_inner(Job& job, const OldShard& old, std::uint64_t linear, std::span<const ChunkSlice> segments,
                      const std::byte* from, std::span<const std::uint64_t> origin, Bytes& out) const;
  Status gather(std::span<const ChunkSlice> segments, const CodecChain& chain, const std::byte* from,
                ByteSpan chunk) const;
  Status fill_chunk(ByteSpan chunk) const;
  [[nodiscard]] bool lies_whole(const CodecChain& chain, std::span<const ChunkSlice> segments,
                                const std::byte* from) const;
  Result<ByteView> take_chunk(Worker& worker, const CodecChain& chain, std::span<const ChunkSlice> segments,
                              const std::byte* from, bool have_old) const;
  Result<std::optional<ByteView>> encode_chunk(Worker& worker, const CodecChain& chain,
                                               std::span<const ChunkSlice> segments, const std::byte* from,
                                               bool have_old, bool keep_fill) const;
  Result<bool> encode_pieces(Worker& worker, const CodecChain& chain, std::span<const ChunkSlice> segments,
                             const std::byte* from) const;
  [[nodiscard]] bool is_all_fill(ByteView chunk) const;
  [[nodiscard]] const std::byte* source_of(std::span<const ChunkSlice> segments, const std::byte* base) const;

  std::shared_ptr<Array::State> state_;
  std::shared_ptr<const ArrayView> view_;
  GridPartition cut_;
  const std::byte* data_ = nullptr;
  Strides strides_;
  std::vector<std::byte> fill_;
  std::shared_ptr<Arena> fill_arena_;
  std::optional<CodecChain> quick_;  // the encoder, where the trial took it
  std::string encoder_reason_;
};

}  // namespace penstock
