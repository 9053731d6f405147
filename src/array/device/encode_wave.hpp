// The parts of encode_waves.hpp: chunks one after another, and one wave of them.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "array/device/encode_waves.hpp"
#include "core/align.hpp"

namespace penstock::device_write {

/// An object that is being made.
struct OpenObject {
  RegionWriter::Piece piece;
  std::vector<Bytes> chunks;           ///< of a shard, encoded
  std::atomic<std::uint64_t> left{1};  ///< chunks that are not yet stored or put into `chunks`
};

/// One chunk to encode: its part of the region.
struct Chunk : RegionWriter::Part {
  std::shared_ptr<OpenObject> object;
};

/// The chunks of all objects that the region covers, in order.
class ChunkWalk {
 public:
  explicit ChunkWalk(const RegionWriter& writer) : writer_(&writer) {}
  /// The next one; false at the end.
  Result<bool> next(Chunk& out);
  /// Goes on with the first chunk of an object.
  void go_to(std::uint64_t object) {
    next_object_ = object;
    open_.reset();
  }

 private:
  Status open_next();
  const RegionWriter* writer_;
  std::uint64_t next_object_ = 0;
  std::shared_ptr<OpenObject> open_;
  std::uint64_t next_part_ = 0;
};

/// Memory of a wave of `count` chunks.
std::uint64_t wave_device_bytes(const EncodeChain& chain, std::uint32_t count);
std::uint64_t wave_host_bytes(const EncodeChain& chain, std::uint32_t count);

/// A wave on its way.
struct Wave {
  Stream stream;
  Slab slab;  ///< words of the run, then encoded chunks
  Buffer device;
  std::optional<EncodeRun> run;
  std::vector<Chunk> chunks;
  std::vector<std::uint64_t> packed;  ///< where each encoded chunk lies among the packed ones
  Event sized, down;

  /// Gathers the chunks into device memory.
  Status gather(const RegionWriter& writer, const DeviceSource& source, const EncodeChain& chain,
                const CancelToken& cancel, bool skip_fill);
  /// Encodes them.
  Status encode();
  /// Waits for their sizes, packs them and begins to bring them down.
  Status pack(const DeviceSource& source);
  /// Of a chunk that has come down; empty when it was left out.
  [[nodiscard]] Result<ByteView> encoded(std::uint32_t chunk) const;
};

}  // namespace penstock::device_write
