#include "penstock/control.hpp"

#include <string>

namespace penstock {

Status CancelToken::check(std::string_view what) const {
  if (cancelled()) return Error(ErrorCode::cancelled, std::string(what) + " was cancelled");
  if (deadline_ && std::chrono::steady_clock::now() >= *deadline_)
    return Error(ErrorCode::timed_out, std::string(what) + " was not done by its deadline")
        .set_hint("Give it more time, or ask for less at once.");
  return {};
}

}  // namespace penstock
