#include "array/index/fetcher.hpp"

#include <condition_variable>

namespace penstock {
namespace {

/// Keeps answers until all are there.
class Gather final : public FetchSink {
 public:
  Gather(std::span<const FetchRequest> requests, const WholeObjects& whole)
      : requests_(requests), whole_(whole), answers_(requests.size()), left_(requests.size()) {}
  Result<ByteSpan> room(std::size_t request, std::uint64_t bytes) override {
    if (requests_[request].range.kind == ByteRange::Kind::whole && !whole_.fits(bytes))
      return Error(ErrorCode::out_of_range, "larger than objects that are read whole");
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
  std::span<const FetchRequest> requests_;
  const WholeObjects& whole_;
  std::vector<Fetched> answers_;
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::size_t left_;
};

}  // namespace

std::vector<Fetched> Fetcher::fetch(std::span<const FetchRequest> requests) {
  if (requests.empty()) return {};
  const StageClock clock(worker_, Stage::fetch);
  Gather gather(requests, whole_);
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
