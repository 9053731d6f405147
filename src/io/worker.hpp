// What one thread needs to move pieces: memory to fetch blocks into, and for a device pieces of pinned memory, one of
// which is filled while others are on the bus.
#pragma once
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include "device/pinned_ring.hpp"
#include "io/request.hpp"

namespace penstock::io {

/// Most bytes of a piece that goes through a worker's own memory, and what alignment may add to it.
inline constexpr std::uint64_t kMaxStagedBytes = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kSlackBytes = std::uint64_t{2} << 12;
inline constexpr std::size_t kSlots = 3;

/// Bytes of a piece that a device's pinned memory has room for when `threads` workers share it.
/// Errors: those of shared_pinned_ring.
Result<std::uint64_t> staged_piece_bytes(Device::Type type, std::uint64_t threads);

/// A piece that has ended, and how.
struct Ended {
  Piece piece;
  Status status;
  double seconds = 0;
};

class Worker {
 public:
  Worker() = default;
  ~Worker() { release(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Moves a piece.  Those that have ended since, this one or earlier ones, are told to `ended`.
  template <class Tell>
  void run(Piece piece, const Tell& ended) {
    begin(std::move(piece));
    while (auto one = next_ended(false)) ended(*std::move(one));
  }
  /// Waits for a piece that is still on the bus; false: there is none.
  template <class Tell>
  bool settle(const Tell& ended) {
    auto one = next_ended(true);
    if (one) ended(*std::move(one));
    return one.has_value();
  }
  /// Gives all memory back; nothing may be on the bus.
  void release();

 private:
  struct Slot {
    std::optional<Event> busy;  ///< until then the bus reads it
    std::optional<Ended> waits;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  void begin(Piece piece);
  std::optional<Ended> next_ended(bool wait);
  Status move(const Piece& piece, Slot*& on_bus);
  Status move_host(const Piece& piece);
  Status read_to_device(const Piece& piece, Slot*& on_bus);
  Status write_from_device(const Piece& piece);
  Result<ByteSpan> bounce(std::uint64_t bytes);
  /// Memory of the next slot, once the bus is done with it.
  Result<ByteSpan> next_slot(const Piece& piece);

  std::unique_ptr<std::byte, Free> bounce_;
  std::uint64_t bounce_bytes_ = 0;
  Slab slab_;
  Device device_;  ///< of `stream_` and `slab_`
  std::optional<Stream> stream_;
  std::array<Slot, kSlots> slots_;
  std::size_t turn_ = 0;    ///< the slot to fill next
  std::size_t oldest_ = 0;  ///< the slot that ends next
  std::optional<Ended> ended_;
};

}  // namespace penstock::io
