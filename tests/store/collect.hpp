// A sink that keeps the answers, for tests of what fetches.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/store.hpp"

namespace penstock::test {

class Collect final : public FetchSink {
 public:
  /// Called before each room is given; its error is passed on.
  std::function<Status(std::size_t request, std::uint64_t bytes)> on_room;

  Result<ByteSpan> room(std::size_t request, std::uint64_t bytes) override {
    if (on_room) PENSTOCK_TRY(on_room(request, bytes));
    const std::scoped_lock lock(mutex_);
    Bytes& memory = rooms_[request];
    if (!memory.empty()) ++asked_twice_;
    PENSTOCK_TRY(memory.resize_discard(bytes));
    return memory.span();
  }
  void done(std::size_t request, FetchAnswer answer) override {
    const std::scoped_lock lock(mutex_);
    if (!answers_.emplace(request, std::move(answer)).second) ++told_twice_;
    changed_.notify_all();
  }

  /// Waits until `count` requests are over; false after ten seconds.
  bool wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return answers_.size() == count; });
  }
  [[nodiscard]] std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return answers_.size();
  }
  /// The answers must be there.
  [[nodiscard]] const FetchAnswer& operator[](std::size_t request) const {
    const std::scoped_lock lock(mutex_);
    return answers_.at(request);
  }
  /// The bytes, "absent", or the name of the error.
  [[nodiscard]] std::string text(std::size_t request) const {
    const FetchAnswer& answer = (*this)[request];
    if (!answer.status) return std::string(error_name(answer.status.error().code()));
    return answer.absent ? "absent" : std::string(as_text(answer.bytes));
  }
  /// Requests that were told or asked about more than once: 0.
  [[nodiscard]] int repeated() const {
    const std::scoped_lock lock(mutex_);
    return asked_twice_ + told_twice_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Bytes> rooms_;
  std::map<std::size_t, FetchAnswer> answers_;
  int asked_twice_ = 0, told_twice_ = 0;
};

/// The answer to one request, in memory of the sink or the store's own.
inline std::string fetch_text(const Store& store, const FetchRequest& request, ObjectVersion* version = nullptr) {
  Collect sink;
  store.fetch({&request, 1}, sink, {});
  if (!sink.wait(1)) return "no answer";
  if (version != nullptr) *version = sink[0].version;
  return sink.text(0);
}

}  // namespace penstock::test
