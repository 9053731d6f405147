// A store that answers from a thread of its own after a while, as one behind a network does, and counts.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "store/blocking_store.hpp"

namespace penstock::test {

class SlowStore final : public Store {
 public:
  SlowStore(std::shared_ptr<Store> inner, std::chrono::milliseconds delay, std::uint64_t in_flight)
      : inner_(std::move(inner)), delay_(delay), in_flight_(in_flight), answers_([this] { answer(); }) {}
  ~SlowStore() override {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    answers_.join();
  }
  SlowStore(const SlowStore&) = delete;
  SlowStore& operator=(const SlowStore&) = delete;

  std::string url() const override { return inner_->url(); }
  std::string path_taken() const override { return "slow"; }
  bool writable() const override { return true; }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override { return inner_->list_dir(prefix); }
  Status set(std::string_view key, ByteView value) override {
    const std::scoped_lock lock(mutex_);
    ++version_;
    return inner_->set(key, value);
  }
  Status erase(std::string_view key) override { return inner_->erase(key); }

  StoreTraits traits(std::string_view) const override {
    const std::scoped_lock lock(mutex_);
    StoreTraits traits;
    traits.requests_in_flight = in_flight_;
    traits.merge_gap_bytes = merge_gap_;
    traits.reason = "requests take long";
    return traits;
  }
  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions&) const override {
    const std::scoped_lock lock(mutex_);
    const auto due = Clock::now() + delay_;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      waiting_.push_back({due, requests[i], &sink, i});
      log_.push_back(std::string(requests[i].key));
    }
    most_ = std::max(most_, waiting_.size());  // one that is being answered is under way no more for who asked
    changed_.notify_all();
  }

  void set_merge_gap(std::uint64_t bytes) { merge_gap_ = bytes; }
  /// Keys of all requests so far; empties the list.
  std::vector<std::string> take_log() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(log_, {});
  }
  /// From now on answers whose bytes were wanted within `memory` are counted.
  void watch(ByteView memory) {
    const std::scoped_lock lock(mutex_);
    watched_ = memory;
    in_place_ = 0;
  }
  std::size_t in_place() const {
    const std::scoped_lock lock(mutex_);
    return in_place_;
  }
  std::size_t most_under_way() const {
    const std::scoped_lock lock(mutex_);
    return most_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Clock::time_point due;
    FetchRequest request;
    FetchSink* sink;
    std::size_t number;
  };
  void answer() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      ++answering_;
      const std::uint64_t version = version_;
      lock.unlock();
      std::this_thread::sleep_until(next.due);
      next.sink->done(next.number, answer_to(next, version));
      lock.lock();
      --answering_;
    }
  }
  /// Versions have numbers, and nothing leads back to an old one.
  FetchAnswer answer_to(const Waiting& question, std::uint64_t version) const {
    FetchAnswer answer;
    const auto fail = [&](Error error) {
      answer.status = std::move(error);
      return answer;
    };
    auto object = dynamic_cast<const BlockingStore&>(*inner_).open(question.request.key);
    if (!object) return fail(std::move(object).error());
    if (!*object) {
      answer.absent = true;
      return answer;
    }
    if (question.request.same_as != nullptr && question.request.same_as->number != version)
      return fail(Error(ErrorCode::changed, std::string(question.request.key) + ": replaced meanwhile"));
    answer.version.number = version;
    const std::uint64_t size = answer.object_bytes = (*object)->size_bytes();
    const ByteRange& range = question.request.range;
    std::uint64_t count = size;
    if (range.kind == ByteRange::Kind::last) {
      count = std::min(size, range.count);
      answer.offset_bytes = size - count;
    } else if (range.kind == ByteRange::Kind::span) {
      answer.offset_bytes = range.offset_bytes;
      count = range.count;
      if (range.offset_bytes + count > size)
        return fail(Error(ErrorCode::corrupt_data, std::string(question.request.key) + ": too short"));
    }
    auto room = question.sink->room(question.number, count);
    if (!room) return fail(std::move(room).error());
    {
      const std::scoped_lock lock(mutex_);
      const std::less_equal<> before;
      const bool inside = before(watched_.data(), room->data()) &&
                          before(room->data() + room->size(), watched_.data() + watched_.size());
      if (inside && !room->empty()) ++in_place_;
    }
    if (Status read = (*object)->read(answer.offset_bytes, *room); !read) return fail(std::move(read).error());
    answer.bytes = *room;
    return answer;
  }

  std::shared_ptr<Store> inner_;
  std::chrono::milliseconds delay_;
  std::uint64_t in_flight_, merge_gap_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::deque<Waiting> waiting_;
  mutable std::vector<std::string> log_;
  mutable std::size_t most_ = 0, answering_ = 0, in_place_ = 0;
  ByteView watched_;
  std::uint64_t version_ = 1;
  bool stop_ = false;
  std::thread answers_;  // last: it begins when all else is there
};

}  // namespace penstock::test
