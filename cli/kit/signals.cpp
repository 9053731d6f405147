#include "cli/kit/signals.hpp"

#include <csignal>

namespace penstock::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

const CancelToken& token() {
  static const CancelToken the_token;
  return the_token;
}

void on_signal(int number) {
  caught = number;
  token().cancel();  // made before the handler was installed: no initialisation here
}

void catch_signal(int number) {
  struct sigaction now = {};
  if (sigaction(number, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;  // the second one gets the default: the end
  sigaction(number, &action, nullptr);
}

}  // namespace

CancelToken cancel_on_signal() {
  static const bool installed = [] {
    (void)token();
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) catch_signal(number);
    return true;
  }();
  (void)installed;
  return token();
}

int caught_signal() { return caught; }

}  // namespace penstock::cli
