// What the thread that talks HTTP sleeps on: the sockets that libcurl names, libcurl's timer, and calls of other
// threads.  Only what is ready is looked at: asking all connections after each packet would cost more than the packets.
#pragma once
#include <curl/curl.h>

#include <memory>
#include <optional>

#include "store/http/retry.hpp"
#include "store/posix.hpp"

namespace penstock::http {

class Poller {
 public:
  /// Errors: out_of_memory, io_error (no descriptors).
  static Result<std::unique_ptr<Poller>> create();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  [[nodiscard]] CURLM* multi() const { return multi_.get(); }
  /// Sleeps until something is ready, a timer is due, somebody calls wake(), or `most` has passed; then lets libcurl
  /// move what is ready.
  void move(milliseconds most);
  /// From any thread.
  void wake();

 private:
  Poller() = default;
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int on_timer(CURLM* multi, long wait_ms, void* self);
  [[nodiscard]] int sleep_ms(milliseconds most) const;

  struct Close {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  FileDescriptor ready_;  ///< epoll
  FileDescriptor calls_;  ///< eventfd
  std::optional<Clock::time_point> due_;
  std::unique_ptr<CURLM, Close> multi_;
};

}  // namespace penstock::http
