// Staging memory between storage and a device: a bounded set of slabs of host memory that the device copies at full
// speed, shared by all readers of the process.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/backend.hpp"
#include "penstock/control.hpp"
#include "penstock/device.hpp"

namespace penstock {

class PinnedRing;

/// A slab on loan.  Goes back when it is destroyed, or when the work that uses it is done (release_after).
class Slab {
 public:
  Slab() = default;
  Slab(Slab&& other) noexcept;
  Slab& operator=(Slab&& other) noexcept;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() { release(); }

  [[nodiscard]] std::byte* data() const { return data_; }
  /// At least what was asked for.
  [[nodiscard]] std::size_t size() const { return size_; }
  void release();
  /// Gives the slab back once `event` has happened; does not wait.
  void release_after(Event event);

 private:
  friend class PinnedRing;
  Slab(std::shared_ptr<PinnedRing> ring, std::byte* data, std::size_t size)
      : ring_(std::move(ring)), data_(data), size_(size) {}
  std::shared_ptr<PinnedRing> ring_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Thread-safe.  Slabs are made when they are first needed (pinning is slow: outside the lock) and kept for the next
/// reader.  When the ring is full, callers wait in the order in which they came.
class PinnedRing : public std::enable_shared_from_this<PinnedRing> {
 public:
  /// At most `capacity_bytes` of the backend's pinned memory.
  static std::shared_ptr<PinnedRing> create(Backend& backend, std::uint64_t capacity_bytes);
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  /// A slab of at least `bytes`; waits until one is free.  Who holds a slab and waits for another can wait forever when
  /// others do the same: ask for all that is needed in one slab.
  /// Errors: budget_too_small (more than the whole ring), out_of_memory (cannot be pinned), cancelled, device_error.
  Result<Slab> acquire(std::uint64_t bytes, const CancelToken& cancel);
  /// The same without waiting; nullopt: there is none now, or others wait.  Who holds a slab may ask so for another.
  Result<std::optional<Slab>> try_acquire(std::uint64_t bytes);

  [[nodiscard]] std::uint64_t capacity_bytes() const { return capacity_; }
  /// Bytes pinned now (on loan or waiting), and on loan now.
  [[nodiscard]] std::uint64_t allocated_bytes() const;
  [[nodiscard]] std::uint64_t loaned_bytes() const;

 private:
  friend class Slab;
  struct Block {
    std::byte* data = nullptr;
    std::size_t size = 0;
  };
  struct Pending {
    Block block;
    Event event;
  };
  PinnedRing(Backend& backend, std::uint64_t capacity_bytes) : backend_(backend), capacity_(capacity_bytes) {}

  void give_back(Block block);
  void give_back_after(Block block, Event event);
  Status collect_pending();
  /// A slab to be: counted as on loan, perhaps still to be pinned.
  struct Reserved {
    Block block;                 // its data are nullptr: to be pinned
    std::vector<Block> evicted;  // to be freed before that
  };
  Status check_fits(std::uint64_t bytes) const;
  Block take_free(std::uint64_t bytes);
  bool make_room(std::uint64_t bytes, std::vector<Block>& evicted);
  Result<std::optional<Reserved>> reserve(std::uint64_t bytes);
  Result<Slab> make_slab(const Reserved& reserved);

  Backend& backend_;
  const std::uint64_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // With room for every slab from when it is made: giving one back takes no memory, and so cannot fail.
  std::vector<Block> free_;
  std::vector<Pending> pending_;
  std::list<int> waiting_;       ///< one node per caller of acquire, first come first
  std::size_t slabs_ = 0;        ///< also those being made
  std::uint64_t allocated_ = 0;  ///< bytes of them
  std::uint64_t loaned_ = 0;
};

/// The ring of the process for a kind of device; its capacity is the setting PENSTOCK_PINNED.
/// Errors: invalid_argument (the setting), no_device.
Result<std::shared_ptr<PinnedRing>> shared_pinned_ring(Device::Type type);

}  // namespace penstock
