// Encoded chunks on their way from the store: what one request brings, and how a decoder gets at the bytes.
#pragma once
#include <optional>

#include "array/read/object_chunks.hpp"
#include "exec/job.hpp"

namespace penstock {

/// What one request brings.  Where requests occupy the thread that makes them, it has brought nothing yet: whoever
/// takes the load reads from the store, straight to where the bytes are wanted.
struct Load {
  std::shared_ptr<const ObjectChunks> object;
  ObjectChunks::Run run{0, 0};
  bool fetched = false;       ///< the answer is there
  FetchAnswer answer{};       ///< its bytes may be the store's own
  Bytes memory{};             ///< else they are here, or in the buffer of the worker that merged the requests
  std::uint64_t charged = 0;  ///< of the budget of the window (ChunkFeed)

  [[nodiscard]] std::span<const ObjectChunks::Chunk> chunks() const {
    return object->chunks().subspan(run.first, run.last - run.first);
  }
  [[nodiscard]] const BoundRegion& region() const { return object->region(); }
  /// Begins with the first chunk's first byte.
  [[nodiscard]] ByteRange range() const;
  /// Where its bytes are wanted as they are, one after the other, in memory of the host; empty: they are not.
  [[nodiscard]] ByteSpan place() const;
  /// Reads what one request brings for several chunks, into worker.encoded.  Where that fails the chunks are read one
  /// by one: the error is then that of a chunk.
  Status bring(Worker& worker, const CancelToken& cancel);
};

/// The encoded bytes of one chunk, in memory or still in the store.
class ChunkBytes {
 public:
  /// nullopt: there is no such chunk.  Errors: those of the store.
  static Result<std::optional<ChunkBytes>> open(const Load& load, const ChunkRef& ref, Worker& worker,
                                                const CancelToken& cancel);
  /// The same, and all of its bytes are in memory: in worker.encoded where nobody has them.  Errors: also a size that
  /// `chain` cannot have made.
  static Result<std::optional<ChunkBytes>> fetch(const Load& load, const ChunkRef& ref, const CodecChain& chain,
                                                 Worker& worker, const CancelToken& cancel);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Those that are in memory: all, after fetch().
  [[nodiscard]] ByteView bytes() const { return bytes_; }
  /// `count` bytes from `at` on: where they are in memory, else read into `into` or `buffer`.  Valid as long as this,
  /// the load and that memory.
  Result<ByteView> get(std::uint64_t at, ByteSpan into);
  Result<ByteView> get(std::uint64_t at, std::uint64_t count, Bytes& buffer);
  /// The same, copied into `into` if need be.
  Status read(std::uint64_t at, ByteSpan into);

 private:
  ChunkBytes(const Load& load, const ChunkRef& ref, Worker& worker, const CancelToken& cancel)
      : store_(*load.region().state->store), ref_(ref), worker_(worker), cancel_(cancel) {}
  /// The object's bytes, or only its size, as the store answered.
  static Result<std::optional<ChunkBytes>> take(ChunkBytes chunk, FetchAnswer answer);
  [[nodiscard]] std::optional<ByteView> in_memory(std::uint64_t at, std::uint64_t count) const;

  const Store& store_;
  const ChunkRef& ref_;
  Worker& worker_;
  const CancelToken& cancel_;
  std::uint64_t size_ = 0;
  std::uint64_t first_ = 0;  // byte of the chunk that `bytes_` begin with
  ByteView bytes_;
  ObjectVersion opened_;  // by this chunk
  std::shared_ptr<const void> owner_;
};

}  // namespace penstock
