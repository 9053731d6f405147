// Pieces on their way between files and a device, together in one slab of pinned memory.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/backend.hpp"
#include "device/pinned_ring.hpp"
#include "io/request.hpp"

namespace penstock::io {

/// Most pieces in a load.
inline constexpr std::size_t kMaxParts = 256;
/// Bytes of a slab where the ring is large enough: its way over the bus takes far longer than to start it.
inline constexpr std::uint64_t kSlabBytes = std::uint64_t{8} << 20;
/// Loads of one device and direction: some are filled, one is on the bus, some wait for it.
inline constexpr std::size_t kLoads = 8;

/// Bytes of the slabs of a kind of device.  Errors: those of shared_pinned_ring.
Result<std::uint64_t> slab_bytes_of(Device::Type type);
/// What alignment may add to a piece in a slab.
std::uint64_t slack_bytes_of(const Offer& offer);

struct Part {
  Piece piece;
  std::uint64_t at = 0;  ///< of its bytes, in the slab
  Status status;
  double seconds = 0;  ///< that a thread was at it
};

/// Guarded by the pool's mutex, but for the bytes, and for what a thread does with its own part.
struct Load {
  Load() { parts.reserve(kMaxParts); }

  /// Whether the request's next piece finds room behind what there is.
  [[nodiscard]] bool takes(const Request& request) const;
  /// Claims that piece.  The part stays where it is until the load is emptied.
  Part& add(const std::shared_ptr<Request>& request);
  /// Memory for the file's side of a part: what an engine needs around it, too.
  [[nodiscard]] ByteSpan room_of(const Part& part) const;
  [[nodiscard]] ByteSpan bytes_of(const Part& part) const { return {slab.data() + part.at, part.piece.bytes}; }
  /// The copies that carry all parts without an error, as few as there can be; into `room`, which has kMaxParts.
  [[nodiscard]] std::span<const Copy> copies(Direction direction, Backend& backend, std::span<Copy> room) const;
  /// All parts that are well so far get this error.
  void fail(const Status& status);
  /// Only the slab stays.
  void empty();

  Slab slab;
  std::vector<Part> parts;
  std::uint64_t filled = 0;    ///< of the slab
  std::size_t moving = 0;      ///< parts that threads are at
  std::size_t next = 0;        ///< part, on the way to a file
  bool closed = false;         ///< takes no more
  std::optional<Event> there;  ///< when it is over the bus

 private:
  [[nodiscard]] std::uint64_t place(const Request& request) const;
};

}  // namespace penstock::io
