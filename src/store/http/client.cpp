#include "store/http/client.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "core/guard.hpp"
#include "store/http/transfer.hpp"

namespace penstock::http {
namespace {

struct CloseMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

Status stopped() { return Error(ErrorCode::cancelled, "the process ends"); }

/// Owns the thread.  Everything but `incoming_` belongs to it.
class Client {
 public:
  Client() {
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, long{2 * kMaxUnderWay});
    thread_ = std::thread([this] { run(); });
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    over_ = true;
    curl_multi_wakeup(multi_.get());
    thread_.join();
  }

  Status submit(std::unique_ptr<Exchange> exchange) {
    return guarded([&]() -> Status {
      auto transfer = std::make_unique<Transfer>(std::move(exchange));
      {
        const std::scoped_lock lock(mutex_);
        incoming_.push_back(std::move(transfer));
      }
      curl_multi_wakeup(multi_.get());
      return {};
    });
  }

 private:
  struct Paused {
    Clock::time_point due;
    std::unique_ptr<Transfer> transfer;
  };

  void run() {
    while (!over_) {
      take_incoming();
      end_cancelled();
      end_silent();
      resume_paused();
      start_waiting();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      if (take_ended()) continue;  // their places are free
      curl_multi_poll(multi_.get(), nullptr, 0, pause_ms(), nullptr);
    }
    for (auto& one : active_) curl_multi_remove_handle(multi_.get(), one->easy());
    for (auto& one : active_) one->over(stopped());
    for (auto& one : waiting_) one->over(stopped());
    for (auto& one : paused_) one.transfer->over(stopped());
    take_incoming();
    for (auto& one : waiting_) one->over(stopped());
  }

  void take_incoming() {
    const std::scoped_lock lock(mutex_);
    if (over_) waiting_.clear();
    std::move(incoming_.begin(), incoming_.end(), std::back_inserter(waiting_));
    incoming_.clear();
  }

  void start_waiting() {
    while (active_.size() < kMaxUnderWay && !waiting_.empty()) {
      std::unique_ptr<Transfer> one = std::move(waiting_.front());
      waiting_.pop_front();
      start(std::move(one));
    }
  }

  void start(std::unique_ptr<Transfer> one) {
    Easy easy;
    if (idle_.empty()) {
      easy.reset(curl_easy_init());
    } else {
      easy = std::move(idle_.back());
      idle_.pop_back();
    }
    const Status begun = easy == nullptr ? Status(Error(ErrorCode::out_of_memory, "out of memory"))
                                         : guarded([&] { return one->begin(std::move(easy)); });
    if (!begun) {
      one->over(begun);
      return;
    }
    curl_multi_add_handle(multi_.get(), one->easy());
    active_.push_back(std::move(one));
  }

  void resume_paused() {
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < paused_.size();) {
      if (paused_[i].due > now) {
        ++i;
        continue;
      }
      waiting_.push_front(std::move(paused_[i].transfer));
      paused_.erase(paused_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  bool take_ended() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      CURL* const handle = message->easy_handle;
      end(std::find_if(active_.begin(), active_.end(), [&](const auto& one) { return one->easy() == handle; }),
          message->data.result);
    }
    return any;
  }

  void end(std::list<std::unique_ptr<Transfer>>::iterator which, CURLcode code) {
    curl_multi_remove_handle(multi_.get(), (*which)->easy());
    std::unique_ptr<Transfer> one = std::move(*which);
    active_.erase(which);
    Easy easy;
    if (const auto due = one->end(code, easy)) paused_.push_back({*due, std::move(one)});
    if (easy != nullptr) idle_.push_back(std::move(easy));
  }

  /// libcurl's own limit of speed is an average of some seconds.
  void end_silent() {
    const Clock::time_point now = Clock::now();
    for (auto one = active_.begin(); one != active_.end();) {
      const auto next = std::next(one);
      if ((*one)->is_silent(now)) end(one, CURLE_OPERATION_TIMEDOUT);
      one = next;
    }
  }

  void end_cancelled() {
    const auto ends = [](Transfer& one) {
      Status status = one.check();
      if (status) return false;
      one.over(std::move(status));
      return true;
    };
    std::erase_if(waiting_, [&](auto& one) { return ends(*one); });
    std::erase_if(paused_, [&](auto& one) { return ends(*one.transfer); });
    std::erase_if(active_, [&](auto& one) {
      if (one->check()) return false;
      curl_multi_remove_handle(multi_.get(), one->easy());  // first: libcurl writes nothing more
      return ends(*one);
    });
  }

  /// Cancelling wakes nobody, so it is looked for.
  [[nodiscard]] int pause_ms() const {
    constexpr int kLookMs = 20, kIdleMs = 10'000;
    return active_.empty() && waiting_.empty() && paused_.empty() ? kIdleMs : kLookMs;
  }

  std::unique_ptr<CURLM, CloseMulti> multi_{curl_multi_init()};
  std::vector<Easy> idle_;
  std::list<std::unique_ptr<Transfer>> active_;
  std::deque<std::unique_ptr<Transfer>> waiting_;
  std::vector<Paused> paused_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<Transfer>> incoming_;  // guarded by mutex_
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// The client of this process.  A child of fork() has no thread: it makes a client of its own and lets its parent's be.
class Owner {
 public:
  Owner() { curl_global_init(CURL_GLOBAL_DEFAULT); }  // before this is registered for the end: TLS outlives the thread
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (pid_ != ::getpid()) (void)client_.release();
  }
  Status submit(std::unique_ptr<Exchange> exchange) {
    return guarded([&]() -> Status {
      const std::scoped_lock lock(mutex_);
      if (pid_ != ::getpid()) {
        (void)client_.release();
        client_ = std::make_unique<Client>();
        pid_ = ::getpid();
      }
      return client_->submit(std::move(exchange));
    });
  }

 private:
  std::mutex mutex_;
  pid_t pid_ = 0;
  std::unique_ptr<Client> client_;
};

}  // namespace

Status submit(std::unique_ptr<Exchange> exchange) {
  static Owner owner;
  return owner.submit(std::move(exchange));
}

}  // namespace penstock::http
