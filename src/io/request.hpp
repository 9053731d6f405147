// One request for bytes of a file, on its way.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "io/choose.hpp"
#include "penstock/io.hpp"

namespace penstock::io {

/// A request that one core is done with in the time that it takes to wake another.
inline constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 18;

/// A part of a request that one thread moves.
struct Piece {
  std::shared_ptr<Request> request;
  std::byte* memory = nullptr;
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t bytes = 0;
};

/// What a request is; does not change while it runs.
struct Order {
  std::shared_ptr<OpenFile> file;
  Direction direction = Direction::read;
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::vector<FilePart> parts;  ///< none is empty; no parts: `bytes` from `offset` on
  Device device;
  void* after = nullptr;  ///< on a device: the stream whose work comes before
  std::shared_ptr<const void> keep;
  CancelToken stop = CancelToken::never();
  Choice choice;
  std::uint64_t piece_bytes = 0;
  std::uint64_t threads = 1;  ///< that are at it at a time
  [[nodiscard]] std::size_t part_count() const { return parts.empty() ? (bytes > 0 ? 1 : 0) : parts.size(); }
  [[nodiscard]] FilePart part(std::size_t i) const { return parts.empty() ? FilePart{offset, 0, bytes} : parts[i]; }
};

class Request {
 public:
  /// The file counts it until it has ended.
  explicit Request(Order order);
  ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// One that has ended before it began.
  static std::shared_ptr<Request> failed(Error error);

  [[nodiscard]] const Order& order() const { return order_; }
  [[nodiscard]] std::uint64_t pieces() const;

  /// The next piece; not called once has_more is false.  After a piece has failed there is none.  The caller sees to it
  /// that one thread at a time calls these (Pool: its mutex).
  [[nodiscard]] bool has_more() const { return part_ < order_.part_count() && !error_; }
  [[nodiscard]] std::size_t parts_left() const { return order_.part_count() - part_; }
  /// How large it is, and where in the file it begins.
  [[nodiscard]] std::uint64_t next_bytes() const;
  [[nodiscard]] std::uint64_t next_offset() const { return order_.part(part_).offset + next_; }
  Piece claim(const std::shared_ptr<Request>& self);
  /// Whether another thread may be at a piece now.
  [[nodiscard]] bool may_hold() const { return held_ < order_.threads; }
  /// Whether another thread may take the next piece now.
  [[nodiscard]] bool has_room() const { return has_more() && may_hold(); }
  void hold() { ++held_; }
  /// The thread is done with a piece, which may still be on the bus.
  void let_go() { --held_; }
  /// No more pieces: what is claimed ends, and then the request.
  void fail(Status status);
  [[nodiscard]] bool has_failed() const { return error_.has_value(); }
  /// Whether `conclude` is to be called.
  [[nodiscard]] bool is_over() const { return active_ == 0 && !has_more(); }
  /// A piece has ended; true: it was the last, and `conclude` is to be called.
  bool ended(Status status, double seconds);
  /// Ends the request, outside of any lock.
  void conclude();

  [[nodiscard]] bool done() const { return state_.load(std::memory_order_acquire) == State::over; }
  [[nodiscard]] bool wait_for(std::optional<std::chrono::nanoseconds> time) const;
  /// Waits for the end, and says how it went.
  [[nodiscard]] Status status() const;
  [[nodiscard]] Result<Report> result() const;
  void then(std::function<void(const Result<Report>&)> call);

 private:
  friend class Door;
  [[nodiscard]] Report report() const;
  /// Looks for the end of a small request for a while, awake.
  [[nodiscard]] bool ends_soon(std::optional<std::chrono::nanoseconds> time) const;

  Order order_;
  std::shared_ptr<Request> link_;  // at a door: itself; fetched from there: the one behind it
  Request* before_ = nullptr;      // at a door
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t part_ = 0;
  std::uint64_t next_ = 0, active_ = 0, held_ = 0, claimed_ = 0;  // `next_`: in the part
  double seconds_ = 0;
  std::optional<Error> error_;
  double wall_seconds_ = 0;

  /// Once it is over nothing changes any more.  Who waits says so: where nobody does the end takes no lock.
  enum class State : std::uint8_t { under_way, watched, over };
  /// Asks for `ended_` or a call at the end, with the mutex; false: it is over.
  bool watch() const;

  mutable std::atomic<State> state_{State::under_way};
  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable ended_;
  std::vector<std::function<void(const Result<Report>&)>> calls_;
  std::uint32_t process_;  ///< that has the threads
};

/// Where requests are left by who submits them and fetched by who carries them out, without a lock.
class Door {
 public:
  void leave(const std::shared_ptr<Request>& request) noexcept;
  [[nodiscard]] bool is_empty() const { return last_.load() == nullptr; }
  /// The first of all that are there, in the order in which they came.
  std::shared_ptr<Request> fetch() noexcept;
  /// The next of them; `take` where the link is needed no more.
  static const Request* behind(const Request& one) { return one.link_.get(); }
  static std::shared_ptr<Request> take_behind(Request& one) { return std::exchange(one.link_, nullptr); }

 private:
  std::atomic<Request*> last_{nullptr};
};

}  // namespace penstock::io
