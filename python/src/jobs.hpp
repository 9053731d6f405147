// Calls that take time: without the GIL, stopped by Ctrl-C, refused in a forked child whose threads are gone.
#pragma once
#include <nanobind/nanobind.h>

#include <functional>
#include <optional>

#include "errors.hpp"
#include "penstock/array.hpp"

namespace penstock::python {

/// How a long call is watched.
enum class Watch : std::uint8_t {
  none,     ///< runs in the calling thread
  signals,  ///< runs in a helper thread while the caller, Python's main thread, answers signals
};

/// Counts a call that may hold a lock of the library.  Raises RuntimeError in a child process that was forked after the
/// library had started threads, or while a call was under way.
class CallGuard {
 public:
  enum class Threads : std::uint8_t { none, starts };
  explicit CallGuard(Threads threads);
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
};

/// Options as Python gives them; keeps an exception that the progress callback raised.
struct JobOptions {
  Options options;
  nb::object progress;  ///< callable(what, done, total) or None
  Watch watch = Watch::none;
};

/// Runs `work` without the GIL; `work` gets the options with cancel and progress connected.  A pending Python signal
/// (its handler raises) or an exception in the progress callback cancels the work, and is raised once the work has
/// stopped: memory given to the work is never touched after this returns.
Result<Report> run_job(const JobOptions& job, const std::function<Result<Report>(const Options&)>& work);

/// As run_job for short calls that may wait for other writers: Ctrl-C ends the wait.
Status run_waiting(const std::function<Status(const CancelToken&)>& work);

/// As run_job for calls without progress; the GIL is released.
template <class F>
auto without_gil(CallGuard::Threads threads, F&& call) {
  CallGuard guard(threads);
  nb::gil_scoped_release release;
  return call();
}

void bind_jobs(nb::module_& m);

}  // namespace penstock::python
