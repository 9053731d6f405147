#include "store/http/poller.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace penstock::http {

Result<std::unique_ptr<Poller>> Poller::create() {
  std::unique_ptr<Poller> made(new Poller);
  made->ready_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!made->ready_) return errno_error(errno, "epoll");
  made->calls_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made->calls_) return errno_error(errno, "eventfd");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = made->calls_.get();
  if (::epoll_ctl(made->ready_.get(), EPOLL_CTL_ADD, made->calls_.get(), &event) != 0)
    return errno_error(errno, "epoll");
  made->multi_.reset(curl_multi_init());
  if (made->multi_ == nullptr) return Error(ErrorCode::out_of_memory, "out of memory");
  curl_multi_setopt(made->multi(), CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(made->multi(), CURLMOPT_SOCKETDATA, made.get());
  curl_multi_setopt(made->multi(), CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(made->multi(), CURLMOPT_TIMERDATA, made.get());
  return made;
}

Poller::~Poller() {
  if (multi_ == nullptr) return;
  curl_multi_setopt(multi(), CURLMOPT_SOCKETFUNCTION, nullptr);
  curl_multi_setopt(multi(), CURLMOPT_TIMERFUNCTION, nullptr);
}

int Poller::on_socket(CURL*, curl_socket_t socket, int what, void* self, void* /*known*/) {
  const int epoll = static_cast<Poller*>(self)->ready_.get();
  epoll_event event{};
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) {
    (void)::epoll_ctl(epoll, EPOLL_CTL_DEL, socket, &event);
    return 0;
  }
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  // Where the system refuses both, the connection stays silent, and is given up as those are.
  if (::epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT)
    (void)::epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  return 0;
}

int Poller::on_timer(CURLM*, long wait_ms, void* self) {
  auto& due = static_cast<Poller*>(self)->due_;
  if (wait_ms < 0)
    due.reset();
  else
    due = Clock::now() + milliseconds(wait_ms);
  return 0;
}

int Poller::sleep_ms(milliseconds most) const {
  if (due_) most = std::min(most, std::chrono::ceil<milliseconds>(*due_ - Clock::now()));
  return static_cast<int>(std::max<std::int64_t>(most.count(), 0));
}

void Poller::move(milliseconds most) {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(ready_.get(), events.data(), static_cast<int>(events.size()), sleep_ms(most));
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == calls_.get()) {
      std::uint64_t calls = 0;
      (void)!::read(calls_.get(), &calls, sizeof calls);
      continue;
    }
    int bits = 0;
    if ((event.events & (EPOLLIN | EPOLLHUP)) != 0) bits |= CURL_CSELECT_IN;
    if ((event.events & EPOLLOUT) != 0) bits |= CURL_CSELECT_OUT;
    if ((event.events & EPOLLERR) != 0) bits |= CURL_CSELECT_ERR;
    curl_multi_socket_action(multi(), event.data.fd, bits, &running);
  }
  if (!due_ || *due_ > Clock::now()) return;
  due_.reset();
  curl_multi_socket_action(multi(), CURL_SOCKET_TIMEOUT, 0, &running);
}

void Poller::wake() {
  const std::uint64_t once = 1;
  (void)!::write(calls_.get(), &once, sizeof once);
}

}  // namespace penstock::http
