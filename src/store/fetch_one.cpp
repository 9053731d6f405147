#include "store/fetch_one.hpp"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

namespace penstock {
namespace {

/// Waits for one answer.
class One final : public FetchSink {
 public:
  using Room = std::function<Result<ByteSpan>(std::uint64_t bytes)>;
  explicit One(Room room) : room_(std::move(room)) {}
  Result<ByteSpan> room(std::size_t /*request*/, std::uint64_t bytes) override { return room_(bytes); }
  void done(std::size_t /*request*/, FetchAnswer answer) override {
    const std::scoped_lock lock(mutex_);  // held while notifying: the waiting thread destroys this
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
  Room room_;
  FetchAnswer answer_;
  bool done_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

FetchAnswer waited_for(const Store& store, const FetchRequest& request, One::Room room, const CancelToken& cancel) {
  One one(std::move(room));
  store.fetch({&request, 1}, one, {cancel});
  return one.take();
}

}  // namespace

FetchAnswer fetch_one(const Store& store, const FetchRequest& request, ByteSpan into, const CancelToken& cancel) {
  const auto room = [&](std::uint64_t bytes) -> Result<ByteSpan> {
    if (bytes == into.size()) return into;
    return Error(ErrorCode::internal, "the store gives another number of bytes than it was asked for");
  };
  return waited_for(store, request, room, cancel);
}

FetchAnswer fetch_in_place(const Store& store, const FetchRequest& request, Bytes& into,
                           const std::function<Status(std::uint64_t bytes)>& fits, const CancelToken& cancel) {
  const auto room = [&](std::uint64_t bytes) -> Result<ByteSpan> {
    if (fits) PENSTOCK_TRY(fits(bytes));
    PENSTOCK_TRY(into.resize_discard(bytes));
    return into.span();
  };
  into.clear();
  FetchAnswer answer = waited_for(store, request, room, cancel);
  // The store's own memory was not asked for.
  if (fits && answer.status && !answer.absent && answer.owner != nullptr) answer.status = fits(answer.bytes.size());
  return answer;
}

FetchAnswer fetch_one(const Store& store, const FetchRequest& request, Bytes& into,
                      const std::function<Status(std::uint64_t bytes)>& fits, const CancelToken& cancel) {
  FetchAnswer answer = fetch_in_place(store, request, into, fits, cancel);
  if (!answer.status || answer.absent || answer.bytes.data() == into.data()) return answer;
  if (Status room = into.resize_discard(answer.bytes.size()); !room) {
    answer.status = std::move(room);
  } else if (!answer.bytes.empty()) {
    std::memcpy(into.data(), answer.bytes.data(), answer.bytes.size());
  }
  answer.bytes = into.view();
  answer.owner = nullptr;
  return answer;
}

FetchAnswer probe(const Store& store, std::string_view key) {
  return fetch_one(store, {key, ByteRange::span(0, 0), nullptr}, ByteSpan(), {});
}

}  // namespace penstock
