// How a worker brings bytes up: through a few pieces of pinned memory of its own, one of which is filled while others
// are on the bus or wait for it.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "core/align.hpp"
#include "device/pinned_ring.hpp"
#include "penstock/bytes.hpp"
#include "penstock/control.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Large enough that a copy takes far longer than it takes to start, small enough that the pieces of all workers stay
/// in the CPU's cache between being filled and being sent: measured, docs/concepts/decoding.md.
inline constexpr std::uint64_t kStagingBytes = std::uint64_t{4} << 20;
inline constexpr std::size_t kStagingBuffers = 3;

/// Of one read: whether one of its workers has pieces.
struct FirstStaging {
  std::mutex mutex;
  std::atomic<bool> there{false};
};

/// Of one thread.
class StagingBuffers {
 public:
  StagingBuffers() = default;
  StagingBuffers(const StagingBuffers&) = delete;
  StagingBuffers& operator=(const StagingBuffers&) = delete;
  /// The device must be done with what was sent before the memory is used again.
  ~StagingBuffers();

  /// Takes memory from the ring: at most 1 / `workers` of it.  The first worker of a read waits until there is some.
  /// The others take what is there: false when nothing is, for they must not wait for memory held by workers that wait
  /// for this read's.  Errors: cancelled, out_of_memory, budget_too_small.
  Result<bool> start(PinnedRing& ring, FirstStaging& first, std::uint64_t workers, const CancelToken& cancel);
  [[nodiscard]] bool started() const { return bytes_ > 0; }
  [[nodiscard]] std::uint64_t buffer_bytes() const { return bytes_; }
  /// Room for `bytes`, at most buffer_bytes(), behind what the piece holds, at an address that is a multiple of 256;
  /// empty when the piece must be sent first.  Waits until the device has read what was in it.
  Result<ByteSpan> room(std::uint64_t bytes);
  /// Counts what was written into the room.
  void fill(std::uint64_t bytes) { filled_ = std::min(filled_ + aligned(bytes), bytes_); }
  [[nodiscard]] std::uint64_t filled() const { return filled_; }
  /// Brings what the piece holds to `to`, in the order of `stream`; the next piece follows.
  Status send(std::byte* to, const Stream& stream);
  /// The same for other work that reads what the piece holds; `started`: what became of giving it to `stream`.  After
  /// an error too the piece is used again only when nothing can be reading it.
  Status release_after(Status started, const Stream& stream);

  /// Brings up `bytes` of any length, a buffer at a time; the buffer in hand holds nothing.  `fetch(at, into)` brings
  /// the bytes from `at` on; `fetched`: whether it could.  What is returned tells of the device.
  template <class Fetch>
  Status send_fetched(std::uint64_t bytes, std::byte* to, const Stream& stream, const Fetch& fetch, Status& fetched);
  Status send_all(ByteView bytes, std::byte* to, const Stream& stream);
  [[nodiscard]] double waited_seconds() const { return waited_seconds_; }

 private:
  Slab slab_;
  std::uint64_t bytes_ = 0;  ///< of a piece
  std::uint64_t filled_ = 0;
  std::array<std::optional<Event>, kStagingBuffers> sent_;
  std::size_t turn_ = 0;
  double waited_seconds_ = 0;  ///< for the device
};

template <class Fetch>
Status StagingBuffers::send_fetched(std::uint64_t bytes, std::byte* to, const Stream& stream, const Fetch& fetch,
                                    Status& fetched) {
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t n = std::min(bytes_, bytes - at);
    PENSTOCK_ASSIGN(const ByteSpan buffer, room(n));
    fetched = fetch(at, buffer);
    if (!fetched) return {};
    fill(n);
    PENSTOCK_TRY(send(to + at, stream));
    at += n;
  }
  return {};
}

}  // namespace penstock
