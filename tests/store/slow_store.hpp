// A store around a store that answers after a while, from threads of its own, as one across a network does.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "penstock/store.hpp"

namespace penstock::test {

class SlowStore final : public Store {
 public:
  using Clock = std::chrono::steady_clock;

  /// Each request takes `delay`, however many are under way.
  SlowStore(std::shared_ptr<Store> inner, std::chrono::microseconds delay) : inner_(std::move(inner)), delay_(delay) {
    traits_.requests_in_flight = 64;
    traits_.merge_gap_bytes = 64 << 10;
    traits_.merge_max_bytes = 8 << 20;
    traits_.reason = "a test's store, slow to answer";
    for (int i = 0; i < 4; ++i) threads_.emplace_back([this] { answer_requests(); });
  }
  SlowStore(const SlowStore&) = delete;
  SlowStore& operator=(const SlowStore&) = delete;
  ~SlowStore() override {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
  }

  /// What traits() says; to be set before anybody asks.
  StoreTraits traits_;

  /// Requests so far: those of fetch, and each exists and list, which are answered as slowly.
  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  /// Bytes that were fetched.
  [[nodiscard]] std::uint64_t bytes_fetched() const { return bytes_fetched_; }
  /// Requests under way at once, at most so far.
  [[nodiscard]] std::uint64_t max_under_way() const { return max_under_way_; }
  void reset_counts() { requests_ = max_under_way_ = bytes_fetched_ = 0; }

  std::string url() const override { return inner_->url(); }
  std::string path_taken() const override { return inner_->path_taken() + ", slow"; }
  bool writable() const override { return inner_->writable(); }
  std::string identity() const override { return inner_->identity(); }
  StoreTraits traits(std::string_view) const override { return traits_; }

  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const override {
    const auto due = Clock::now() + delay_;
    begin(requests.size());
    {
      const std::scoped_lock lock(mutex_);
      for (std::size_t i = 0; i < requests.size(); ++i) waiting_.push({due, next_++, requests[i], i, &sink, options});
    }
    changed_.notify_all();
  }

  Result<bool> exists(std::string_view key) const override {
    const Waited waited(*this);
    return inner_->exists(key);
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    const Waited waited(*this);
    return inner_->list_dir(prefix);
  }
  Result<std::vector<std::string>> list(std::string_view prefix) const override {
    const Waited waited(*this);
    return inner_->list(prefix);
  }
  Status set(std::string_view key, ByteView value) override { return inner_->set(key, value); }
  Status set_parts(std::string_view key, std::span<const ByteView> parts) override {
    return inner_->set_parts(key, parts);
  }
  Status erase(std::string_view key) override { return inner_->erase(key); }
  Status erase_prefix(std::string_view prefix) override { return inner_->erase_prefix(prefix); }
  Status flush() override { return inner_->flush(); }

 private:
  struct Waiting {
    Clock::time_point due;
    std::uint64_t order;
    FetchRequest request;
    std::size_t number;
    FetchSink* sink;
    FetchOptions options;
    bool operator<(const Waiting& other) const { return std::tie(due, order) > std::tie(other.due, other.order); }
  };

  /// Passes on what the inner store says of one request under the number that it had in its call.
  class Renumbered final : public FetchSink {
   public:
    Renumbered(const SlowStore& store, const Waiting& one) : store_(store), one_(one) {}
    Result<ByteSpan> room(std::size_t, std::uint64_t bytes) override { return one_.sink->room(one_.number, bytes); }
    void done(std::size_t, FetchAnswer answer) override {
      store_.bytes_fetched_ += answer.bytes.size();
      --store_.under_way_;  // before the sink hears of it: it may ask the next at once
      one_.sink->done(one_.number, std::move(answer));
    }

   private:
    const SlowStore& store_;
    const Waiting& one_;
  };

  /// A request that the thread which makes it waits for.
  class Waited {
   public:
    explicit Waited(const SlowStore& store) : store_(store) {
      store_.begin(1);
      std::this_thread::sleep_for(store_.delay_);
    }
    Waited(const Waited&) = delete;
    Waited& operator=(const Waited&) = delete;
    ~Waited() { --store_.under_way_; }

   private:
    const SlowStore& store_;
  };

  void begin(std::size_t count) const {
    requests_ += count;
    const std::uint64_t now = under_way_ += count;
    for (std::uint64_t max = max_under_way_; now > max && !max_under_way_.compare_exchange_weak(max, now);) {
    }
  }

  void answer_requests() const {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (waiting_.empty()) {
        if (over_) return;
        changed_.wait(lock);
        continue;
      }
      if (const auto due = waiting_.top().due; due > Clock::now()) {
        changed_.wait_until(lock, due);
        continue;
      }
      const Waiting one = waiting_.top();
      waiting_.pop();
      lock.unlock();
      Renumbered sink(*this, one);
      inner_->fetch({&one.request, 1}, sink, one.options);
      lock.lock();
    }
  }

  std::shared_ptr<Store> inner_;
  const std::chrono::microseconds delay_;
  mutable std::atomic<std::uint64_t> requests_{0}, under_way_{0}, max_under_way_{0}, bytes_fetched_{0};
  mutable std::mutex mutex_;  // guards the four below
  mutable std::condition_variable changed_;
  mutable std::priority_queue<Waiting> waiting_;
  mutable std::uint64_t next_ = 0;
  bool over_ = false;
  std::vector<std::jthread> threads_;  // last: joined first
};

}  // namespace penstock::test
