#include "array/write/contention.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/backoff.hpp"
#include "core/units.hpp"
#include "store/condition.hpp"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kMaxAttempts = 100;
constexpr milliseconds kFirst{10}, kMost{1000};
constexpr milliseconds kLook{10};  // how soon a pause notices that it is cancelled

milliseconds patience_with(const Store& store) {
  const auto* const looks = dynamic_cast<const AtomicConditions*>(&store);
  return looks != nullptr ? looks->patience() : AtomicConditions::kPatience;
}

/// Errors: what the job's are.
Status pause(const Job& job, Clock::time_point until) {
  for (;;) {
    PENSTOCK_TRY(job.check());
    const Clock::time_point now = Clock::now();
    if (now >= until) return {};
    std::this_thread::sleep_for(std::min<Clock::duration>(until - now, kLook));
  }
}

std::string attempts_text(int attempts, Clock::time_point begun) {
  const auto spent = std::chrono::duration<double>(Clock::now() - begun);
  return "another writer kept changing it, in each of " + std::to_string(attempts) + " attempts in " +
         format_seconds(spent.count());
}

/// A server that refuses whatever the condition looks the same.
Error given_up(const Error& last, const std::string& attempts) {
  return Error(last.code(), last.message() + "; " + attempts)
      .set_hint(
          "many write the same chunk, or the server refuses every write by condition; where option `deadline` of "
          "the store allows it, up to " +
          std::to_string(kMaxAttempts) + " attempts are made");
}

Error stopped(const Error& why, const Error& last, const std::string& attempts) {
  return Error(why.code(), why.message() + "; " + last.message() + "; " + attempts).set_hint(why.hint());
}

}  // namespace

Status change_until_done(const Store& store, Job& job, FunctionRef<Status()> change) {
  const Clock::time_point begun = Clock::now();
  Clock::time_point end;  // from the first refusal: one change of a large object may take as long
  for (int attempts = 1;; ++attempts) {
    Status status = change();
    if (status || status.error().code() != ErrorCode::changed) return status;
    if (attempts == 1) end = Clock::now() + patience_with(store);
    const Clock::time_point next = Clock::now() + backoff(attempts, kFirst, kMost);
    if (attempts >= kMaxAttempts || next >= end) return given_up(status.error(), attempts_text(attempts, begun));
    const StageClock clock(job.worker(), Stage::store);
    if (const Status paused = pause(job, next); !paused)
      return stopped(paused.error(), status.error(), attempts_text(attempts, begun));
  }
}

}  // namespace penstock
