// One attempt of an exchange on a handle of libcurl.
#pragma once
#include <curl/curl.h>

#include <memory>

#include "store/http/client.hpp"
#include "store/http/pace.hpp"

namespace penstock::http {

struct CloseEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, CloseEasy>;

/// An exchange with its attempts.  Lives where it was made: libcurl holds pointers to it.
class Transfer {
 public:
  explicit Transfer(std::unique_ptr<Exchange> exchange)
      : exchange_(std::move(exchange)), attempts_(exchange_->patience()) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Prepares the next attempt on `easy`.  Errors: those of the exchange, which then must be told that it is over.
  Status begin(Easy easy);
  /// The attempt is over with this code.  Gives the handle back.  nullopt: so is the exchange, and was told; else when
  /// the next attempt is due.
  std::optional<Clock::time_point> end(CURLcode code, Easy& easy);
  /// Whether it must end before its attempt does.  Errors: cancelled, timed_out.
  [[nodiscard]] Status check() const { return exchange_->cancel().check("the request"); }
  void over(Status status) { exchange_->over(std::move(status)); }
  /// Whether the connection has brought and taken nothing for as long as the exchange is patient.
  [[nodiscard]] bool is_silent(Clock::time_point now) const { return now - last_ > exchange_->patience().silence; }
  [[nodiscard]] CURL* easy() const { return easy_.get(); }
  [[nodiscard]] const Exchange& exchange() const { return *exchange_; }
  Pace::Ticket ticket;  ///< of the attempt that is under way
  Easy take_easy() { return std::move(easy_); }

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_upload(char* into, std::size_t size, std::size_t count, void* self);
  static int on_seek(void* self, curl_off_t offset, int origin);
  bool take_header(std::string_view line);
  void set_up();
  Status add_field(const std::string& line);
  [[nodiscard]] Status transport_error(CURLcode code, long proxy_status) const;
  [[nodiscard]] Error given_up(Error error, Clock::time_point now, std::optional<milliseconds> retry_after) const;

  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  std::unique_ptr<Exchange> exchange_;
  Attempts attempts_;
  Easy easy_;
  Clock::time_point last_{};  ///< when something came or went
  Request request_;
  std::unique_ptr<curl_slist, FreeList> fields_;
  Head head_;
  std::size_t head_bytes_ = 0;
  Status told_;                         ///< what the exchange said to a head or a body
  std::size_t part_ = 0, part_at_ = 0;  ///< of the body that is sent
  bool head_complete_ = false, brought_bytes_ = false, sent_twice_ = false;
};

}  // namespace penstock::http
