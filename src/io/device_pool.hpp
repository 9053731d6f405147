// The threads that all requests for memory of devices share, and the slabs by way of which bytes travel.
//
// A load is a slab with pieces in it.  Reading, all threads fill the pieces of a load together, and it goes over the
// bus at once; writing, it comes over the bus at once, and all threads write its pieces.  So the bus is handed work
// once for 8 MiB, while other loads are filled or emptied.  Small requests share loads.  While the bus has nothing to
// do a load need not be full.  Who submits a request leaves it at the door: it calls no driver, and takes a lock only
// where all threads sleep.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/load.hpp"

namespace penstock::io {

class DevicePool {
 public:
  DevicePool();
  /// Starts a request with at least one piece.
  void submit(const std::shared_ptr<Request>& request);
  /// Waits until no request is under way.
  void wait_idle();

 private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Wait : std::uint8_t { no, yes };

  /// The way between files and one device, in one direction.
  struct Lane {
    Lane(Device device_of_lane, Direction direction_of_lane);
    Device device;
    Direction direction;
    std::optional<Stream> stream;
    std::deque<std::shared_ptr<Request>> queue;  ///< that have pieces to claim
    std::array<Load, kLoads> loads;
    std::vector<Load*> bare;    ///< that have no slab
    std::vector<Load*> free;    ///< that have one, and nothing in it
    Load* open = nullptr;       ///< takes pieces
    std::vector<Load*> on_bus;  ///< in the order in which they end
    std::vector<Load*> landed;  ///< came over the bus on their way to files
    bool getting = false;       ///< a thread gets memory
    bool enough = false;        ///< there was no memory for more
    bool collecting = false;    ///< a thread looks after the bus
    [[nodiscard]] std::size_t used() const { return kLoads - bare.size() - free.size(); }
    [[nodiscard]] bool starves() const { return bare.size() == kLoads && !queue.empty(); }
  };

  /// A request whose stream has work before it, up to the mark.
  struct Late {
    std::shared_ptr<Request> request;
    Event mark;
  };
  /// Whether a stream has work, looked at once for all requests that came together.
  struct Before {
    Device device;
    void* stream;
    Result<std::optional<Event>> mark;
  };

  bool start_thread();
  void work();
  /// Does one thing that is to be done; false: there was nothing.
  bool step(Lock& lock);
  bool step(Lock& lock, Lane& lane);
  /// Waits until there may be something to do.
  void rest(Lock& lock, std::uint64_t seen);
  /// Lets those in that are at the door.
  bool admit(Lock& lock);
  bool look_at_late(Lock& lock);

  bool fill_pieces(Lock& lock, Lane& lane);
  void claim_some(Lane& lane, Load& load);
  bool fetch_load(Lock& lock, Lane& lane);
  bool store_piece(Lock& lock, Lane& lane);
  /// Gives a closed load to the bus.
  void send(Lock& lock, Lane& lane, Load& load);
  /// Sees to the load that ends next on the bus.
  bool collect(Lock& lock, Lane& lane, Wait wait);
  /// All is done with a load.
  void finish(Lock& lock, Lane& lane, Load& load);
  /// Memory for one more load; false: not now.
  bool get_slab(Lock& lock, Lane& lane);
  Result<std::optional<Slab>> new_slab(Lane& lane, const CancelToken& stop, bool may_wait);
  /// Gives the slabs of loads with nothing in them back to the ring.
  void release_slabs(Lock& lock);

  Lane& lane_of(const Order& order);
  void put(const std::shared_ptr<Request>& request);
  void start_threads_for(const Order& order, std::uint64_t pieces);
  void conclude(Lock& lock, const std::shared_ptr<Request>& request);
  /// There is something new to do, for so many threads.
  void wake(std::uint64_t threads);

  std::mutex mutex_;  // guards all but what is said
  std::condition_variable changed_, idle_;
  std::atomic<std::uint64_t> version_{0};  ///< of all that a thread may wait for
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Late> late_, looked_at_;
  std::chrono::steady_clock::time_point next_look_{};
  bool looking_ = false, watching_ = false;
  std::atomic<std::uint64_t> threads_{0}, waiting_{0};  // changed with the mutex
  std::uint64_t requests_ = 0;                          ///< that were let in and have not ended
  std::size_t turn_ = 0, slabs_ = 0;

  std::atomic<std::uint64_t> spinning_{0};
  std::atomic<bool> called_{false};  ///< somebody was called to the door
  alignas(64) Door door_;            // a cache line of its own: who submits writes nothing else
};

}  // namespace penstock::io
