#include "array/index/fetcher.hpp"

#include <condition_variable>

namespace penstock {
namespace {

/// Keeps answers until all are there.
class Gather final : public FetchSink {
 public:
  explicit Gather(std::size_t count) : answers_(count), left_(count) {}
  Result<ByteSpan> room(std::size_t request, std::uint64_t bytes) override {
    PENSTOCK_TRY(answers_[request].memory.resize_discard(bytes));
    return answers_[request].memory.span();
  }
  void done(std::size_t request, FetchAnswer answer) override {
    answers_[request].answer = std::move(answer);
    const std::scoped_lock lock(mutex_);  // held while notifying: who waits destroys this
    if (--left_ == 0) all_done_.notify_all();
  }
  std::vector<Fetched> take() {
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [&] { return left_ == 0; });
    return std::move(answers_);
  }

 private:
  std::vector<Fetched> answers_;
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::size_t left_;
};

/// Waits for one answer.
class One final : public FetchSink {
 public:
  explicit One(ByteSpan into) : into_(into) {}
  Result<ByteSpan> room(std::size_t /*request*/, std::uint64_t bytes) override {
    if (bytes == into_.size()) return into_;
    return Error(ErrorCode::internal, "the store gives another number of bytes than it was asked for");
  }
  void done(std::size_t /*request*/, FetchAnswer answer) override {
    const std::scoped_lock lock(mutex_);
    answer_ = std::move(answer);
    done_ = true;
    changed_.notify_all();
  }
  FetchAnswer take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
    return std::move(answer_);
  }

 private:
  ByteSpan into_;
  FetchAnswer answer_;
  bool done_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

FetchAnswer fetch_one(const Store& store, const FetchRequest& request, ByteSpan into, const CancelToken& cancel) {
  One one(into);
  store.fetch({&request, 1}, one, {cancel});
  return one.take();
}

std::vector<Fetched> Fetcher::fetch(std::span<const FetchRequest> requests) {
  if (requests.empty()) return {};
  const StageClock clock(worker_, Stage::fetch);
  Gather gather(requests.size());
  store_.fetch(requests, gather, {cancel_});
  std::vector<Fetched> answers = gather.take();
  for (const Fetched& fetched : answers) {
    if (fetched.answer.bytes.empty()) continue;  // absent, failed, or it only opened the object
    worker_.requests += 1;
    worker_.stored_bytes += fetched.answer.bytes.size();
  }
  return answers;
}

}  // namespace penstock
