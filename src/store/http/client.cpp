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
#include "store/http/poller.hpp"
#include "store/http/transfer.hpp"

namespace penstock::http {
namespace {

constexpr milliseconds kLook{20};  // how often is looked for what was cancelled or is silent: nothing wakes for that
constexpr milliseconds kIdle{10'000};

Status stopped() { return Error(ErrorCode::cancelled, "the process ends"); }

/// Owns the thread.  Everything but `incoming_` belongs to it.
class Client {
 public:
  static Result<std::unique_ptr<Client>> create() {
    PENSTOCK_ASSIGN(auto poller, Poller::create());
    std::unique_ptr<Client> made(new Client(std::move(poller)));
    made->thread_ = std::thread([client = made.get()] { client->run(); });
    return made;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    if (!thread_.joinable()) return;
    over_ = true;
    poller_->wake();
    thread_.join();
  }

  Status submit(std::unique_ptr<Exchange> exchange) {
    return guarded([&]() -> Status {
      auto transfer = std::make_unique<Transfer>(std::move(exchange));
      bool is_first = false;  // who came before has called
      {
        const std::scoped_lock lock(mutex_);
        is_first = incoming_.empty();
        incoming_.push_back(std::move(transfer));
      }
      if (is_first) poller_->wake();
      return {};
    });
  }

 private:
  explicit Client(std::unique_ptr<Poller> poller) : poller_(std::move(poller)) {
    curl_multi_setopt(multi(), CURLMOPT_MAXCONNECTS, long{2 * kMaxUnderWay});
  }
  [[nodiscard]] CURLM* multi() const { return poller_->multi(); }

  struct Paused {
    Clock::time_point due;
    std::unique_ptr<Transfer> transfer;
  };

  void run() {
    while (!over_) {
      take_incoming();
      if (const auto now = Clock::now(); now >= next_look_) {
        next_look_ = now + kLook;
        end_cancelled();
        end_silent(now);
        resume_paused(now);
      }
      start_waiting();
      const bool is_idle = active_.empty() && waiting_.empty() && paused_.empty();
      poller_->move(is_idle ? kIdle : kLook);
      take_ended();
    }
    for (auto& one : active_) curl_multi_remove_handle(multi(), one->easy());
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

  /// Those of a server that has enough wait; so do not all others behind them.
  void start_waiting() {
    for (std::size_t i = 0; i < std::min(waiting_.size(), kMaxUnderWay) && active_.size() < kMaxUnderWay;) {
      const Exchange& exchange = waiting_[i]->exchange();
      const auto ticket = pace_.begin(exchange.server(), exchange.expected_bytes());
      if (!ticket) {
        ++i;
        continue;
      }
      std::unique_ptr<Transfer> one = std::move(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      one->ticket = *ticket;
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
    const Status begun =
        easy == nullptr ? Status(Error(ErrorCode::out_of_memory, "out of memory")) : guarded([&]() -> Status {
          PENSTOCK_TRY(one->check());
          return one->begin(std::move(easy));
        });
    if (!begun) {
      pace_.end(one->ticket, std::nullopt, 0);
      one->over(begun);
      return;
    }
    curl_multi_add_handle(multi(), one->easy());
    active_.push_back(std::move(one));
  }

  void resume_paused(Clock::time_point now) {
    for (std::size_t i = 0; i < paused_.size();) {
      if (paused_[i].due > now) {
        ++i;
        continue;
      }
      waiting_.push_front(std::move(paused_[i].transfer));
      paused_.erase(paused_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void take_ended() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const handle = message->easy_handle;
      end(std::find_if(active_.begin(), active_.end(), [&](const auto& one) { return one->easy() == handle; }),
          message->data.result);
    }
  }

  void end(std::list<std::unique_ptr<Transfer>>::iterator which, CURLcode code) {
    curl_multi_remove_handle(multi(), (*which)->easy());
    std::unique_ptr<Transfer> one = std::move(*which);
    tell_pace(*one);
    active_.erase(which);
    Easy easy;
    if (const auto due = one->end(code, easy)) {
      if (*due <= Clock::now())
        waiting_.push_front(std::move(one));
      else
        paused_.push_back({*due, std::move(one)});
    }
    if (easy != nullptr) idle_.push_back(std::move(easy));
  }

  void tell_pace(const Transfer& one) {
    curl_off_t asked = 0, answered = 0, body = 0;
    (void)curl_easy_getinfo(one.easy(), CURLINFO_PRETRANSFER_TIME_T, &asked);
    (void)curl_easy_getinfo(one.easy(), CURLINFO_STARTTRANSFER_TIME_T, &answered);
    (void)curl_easy_getinfo(one.easy(), CURLINFO_SIZE_DOWNLOAD_T, &body);
    std::optional<std::chrono::microseconds> first_byte;
    if (asked > 0 && answered >= asked) first_byte = std::chrono::microseconds(answered - asked);
    pace_.end(one.ticket, first_byte, static_cast<std::uint64_t>(body));
  }

  /// libcurl's own limit of speed is an average of some seconds.
  void end_silent(Clock::time_point now) {
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
      curl_multi_remove_handle(multi(), one->easy());  // first: libcurl writes nothing more
      pace_.end(one->ticket, std::nullopt, 0);
      return ends(*one);
    });
  }

  const std::unique_ptr<Poller> poller_;
  Clock::time_point next_look_{};
  Pace pace_;
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
    if (pid_ != ::getpid()) leave_to_parent();
  }
  Status submit(std::unique_ptr<Exchange> exchange) {
    return guarded([&]() -> Status {
      const std::scoped_lock lock(mutex_);
      if (pid_ != ::getpid()) {
        leave_to_parent();
        PENSTOCK_ASSIGN(client_, Client::create());
        pid_ = ::getpid();
      }
      return client_->submit(std::move(exchange));
    });
  }

 private:
  /// Its thread is in the parent; here nothing can end it.
  void leave_to_parent() { [[maybe_unused]] Client* const parents = client_.release(); }

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
