// What one thread needs to move pieces: memory to fetch blocks into, and for a device slots of pinned memory, one of
// which is filled while others are on the bus.
#pragma once
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/pinned_ring.hpp"
#include "io/request.hpp"

namespace penstock::io {

/// What alignment may add to a piece that goes through a worker's own memory.
inline constexpr std::uint64_t kSlackBytes = std::uint64_t{2} << 12;
inline constexpr std::size_t kSlots = 3;
/// Most pieces that a thread takes at a time: small ones, which share a slot and one mark on the bus.
inline constexpr std::size_t kMaxBatch = 16;

/// Bytes that a slot of pinned memory has for pieces when `threads` workers share it.
/// Errors: those of shared_pinned_ring.
Result<std::uint64_t> slot_share(Device::Type type, std::uint64_t threads);
/// What a piece takes of a slot.
std::uint64_t slot_bytes_of(std::uint64_t piece_bytes);

/// A piece that has ended, and how.
struct Ended {
  Piece piece;
  Status status;
  double seconds = 0;
};

class Worker {
 public:
  Worker();
  ~Worker() { release(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Moves pieces: one, or several reads into the same device, or several of the host.  Those that have ended since,
  /// these or earlier ones, are told to `ended`, a span at a time, of which it may move.
  template <class Tell>
  void run(std::span<Piece> pieces, const Tell& ended) {
    const Order& order = pieces.front().request->order();
    if (order.device.type != Device::Type::cpu)
      while (waits_for_slot(order)) (void)settle(ended);
    begin(pieces);
    tell(now_, ended);
    while (Slot* slot = next_ended(false)) tell(slot->waits, ended);
  }
  /// Waits for what is still on the bus; false: there is nothing.
  template <class Tell>
  bool settle(const Tell& ended) {
    Slot* slot = next_ended(true);
    if (slot != nullptr) tell(slot->waits, ended);
    return slot != nullptr;
  }
  /// Gives all memory back; nothing may be on the bus.
  void release();

 private:
  struct Slot {
    std::optional<Event> busy;  ///< until then the bus reads it
    std::vector<Ended> waits;   ///< what it holds, in the order in which they are told
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  template <class Tell>
  static void tell(std::vector<Ended>& some, const Tell& ended) {
    if (!some.empty()) ended(std::span(some));
    some.clear();
  }
  /// Whether the next slot is still on the bus, or another one while the memory must be another.
  [[nodiscard]] bool waits_for_slot(const Order& order) const;
  [[nodiscard]] bool has_memory_for(const Order& order) const;
  void begin(std::span<Piece> pieces);
  Slot* next_ended(bool wait);
  Status move(const Piece& piece);
  Status move_host(const Piece& piece);
  void read_to_device(std::span<Piece> pieces);
  Status read_into(const Piece& piece, ByteSpan room, bool& on_bus);
  Status write_from_device(const Piece& piece);
  Result<ByteSpan> bounce(std::uint64_t bytes);
  /// Memory of the next slot, which is free.
  Result<ByteSpan> next_slot(const Order& order);

  std::unique_ptr<std::byte, Free> bounce_;
  std::uint64_t bounce_bytes_ = 0;
  Slab slab_;
  Device device_;  ///< of `stream_` and `slab_`
  std::optional<Stream> stream_;
  std::array<Slot, kSlots> slots_;
  std::size_t turn_ = 0;    ///< the slot to fill next
  std::size_t oldest_ = 0;  ///< the slot that ends next
  std::vector<Ended> now_;  ///< what ended without the bus
};

}  // namespace penstock::io
