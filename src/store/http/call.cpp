#include "store/http/call.hpp"

#include <condition_variable>
#include <mutex>

namespace penstock::http {
namespace {

/// Counts those that are under way.
struct Waiting {
  std::mutex mutex;
  std::condition_variable none_left;
  std::size_t left = 0;
};

class CallExchange final : public Exchange {
 public:
  CallExchange(const Call& call, Result<Reply>& out, Waiting& waiting, const CancelToken& cancel,
               const Patience& patience)
      : Exchange(cancel, patience), call_(call), out_(out), waiting_(waiting) {}

  Result<Request> request() override {
    reply_.body.clear();
    return call_.request();
  }
  Status head(const Head& /*head*/) override { return {}; }
  Status body(ByteView bytes) override {
    if (reply_.body.size() + bytes.size() > call_.max_body_bytes)
      return Error(ErrorCode::io_error, call_.where + ": the answer is too large");
    reply_.body.append(as_text(bytes));
    return {};
  }
  Next ended(const Ended& ended) override {
    if (!ended.transport) return after_failure(ended, call_.where);
    reply_.head = ended.head;
    return call_.judge(ended.head, reply_.body, detour_);
  }
  void over(Status status) override {
    const std::scoped_lock lock(waiting_.mutex);  // held while notifying: who waits destroys it
    if (status)
      out_ = std::move(reply_);
    else
      out_ = std::move(status).error();
    if (--waiting_.left == 0) waiting_.none_left.notify_all();
  }

 private:
  const Call& call_;
  Result<Reply>& out_;
  Waiting& waiting_;
  Reply reply_;
  Detour detour_;
};

}  // namespace

std::vector<Result<Reply>> carry_out(std::span<const Call> calls, const CancelToken& cancel, const Patience& patience) {
  std::vector<Result<Reply>> replies(calls.size(), Result<Reply>(Error(ErrorCode::internal, "no answer")));
  Waiting waiting;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    {
      const std::scoped_lock lock(waiting.mutex);
      ++waiting.left;
    }
    if (Status begun = submit(std::make_unique<CallExchange>(calls[i], replies[i], waiting, cancel, patience));
        !begun) {
      replies[i] = std::move(begun).error();
      const std::scoped_lock lock(waiting.mutex);
      --waiting.left;
    }
  }
  std::unique_lock lock(waiting.mutex);
  waiting.none_left.wait(lock, [&] { return waiting.left == 0; });
  return replies;
}

Result<Reply> carry_out(const Call& call, const CancelToken& cancel, const Patience& patience) {
  std::vector<Result<Reply>> replies = carry_out({&call, 1}, cancel, patience);
  return std::move(replies.front());
}

}  // namespace penstock::http
