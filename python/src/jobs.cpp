#include "jobs.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/guard.hpp"

namespace penstock::python {
namespace {

// Only atomics: the handler runs in the child of a fork, where nothing else is safe.
std::atomic<bool> threads_started{false};
std::atomic<int> calls_under_way{0};
std::atomic<bool> child_is_broken{false};

void after_fork_in_child() {
  if (threads_started.load() || calls_under_way.load() > 0) child_is_broken.store(true);
}

/// The progress callback's exception, raised after the work has stopped.
struct CallbackError {
  std::mutex mutex;
  std::exception_ptr error;
};

ProgressFn progress_function(const nb::object& callback, const CancelToken& cancel, CallbackError& failed) {
  if (callback.is_none()) return {};
  // The callback outlives the work: the caller of run_job holds it.
  return [target = callback.ptr(), cancel, &failed](const Progress& p) {
    nb::gil_scoped_acquire gil;
    try {
      nb::borrow(target)(std::string(p.what), p.done, p.total);
    } catch (...) {
      cancel.cancel();
      std::lock_guard lock(failed.mutex);
      if (!failed.error) failed.error = std::current_exception();
    }
  };
}

/// Waits for the helper thread; true when a signal handler raised (the exception is set).
bool wait_watching_signals(std::mutex& mutex, std::condition_variable& changed, const bool& done,
                           const CancelToken& cancel) {
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds(30), [&] { return done; })) {
    lock.unlock();
    bool raised = false;
    {
      nb::gil_scoped_acquire gil;
      raised = PyErr_CheckSignals() != 0;
    }
    if (raised) {
      cancel.cancel();
      return true;
    }
    lock.lock();
  }
  return false;
}

/// A word of the enum CodecPlace, in its order.
CodecPlace place_of(const std::string& word, const char* what, const std::vector<std::string>& words) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return static_cast<CodecPlace>(at - words.begin());
  std::string message = std::string(what) + " '" + word + "': it is";
  for (const std::string& known : words) message += (&known == words.data() ? " '" : ", '") + known + "'";
  throw nb::value_error(message.c_str());
}

/// So many seconds from now; what is too far for the clock never comes.
std::optional<std::chrono::steady_clock::time_point> after(double seconds) {
  constexpr double kCentury = 3.2e9;
  if (seconds > kCentury) return std::nullopt;
  const std::chrono::duration<double> wait(std::max(seconds, -kCentury));
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
}

}  // namespace

CallGuard::CallGuard(Threads threads) {
  if (child_is_broken.load()) {
    nb::object error = nb::module_::import_("builtins")
                           .attr("RuntimeError")(
                               "penstock was in use when this process was forked: its threads do not "
                               "exist here, and calls cannot work");
    error.attr("add_note")(
        "Start worker processes with multiprocessing.get_context('spawn') or 'forkserver' (torch DataLoader: "
        "multiprocessing_context='spawn'), or fork before the first read.");
    PyErr_SetObject(PyExc_RuntimeError, error.ptr());
    throw nb::python_error();
  }
  calls_under_way.fetch_add(1);
  if (threads == Threads::starts) threads_started.store(true);
}

CallGuard::~CallGuard() { calls_under_way.fetch_sub(1); }

Result<Report> run_job(const JobOptions& job, const std::function<Result<Report>(const Options&)>& work) {
  CallGuard guard(CallGuard::Threads::starts);
  CallbackError failed;
  Options options = job.options;
  options.progress = progress_function(job.progress, options.cancel, failed);

  std::optional<Result<Report>> result;
  bool raised = false;
  {
    nb::gil_scoped_release release;
    if (job.watch == Watch::none) {
      result = guarded([&] { return work(options); });
    } else {
      std::mutex mutex;
      std::condition_variable changed;
      bool done = false;
      const auto help = [&] {
        auto r = guarded([&] { return work(options); });
        std::lock_guard lock(mutex);
        result = std::move(r);
        done = true;
        changed.notify_one();
      };
      std::thread helper;
      try {
        helper = std::thread(help);
      } catch (const std::system_error&) {  // no thread to be had: signals wait until the work is done
        help();
      }
      raised = wait_watching_signals(mutex, changed, done, options.cancel);
      if (helper.joinable()) helper.join();
    }
  }
  if (raised) throw nb::python_error();
  if (failed.error) std::rethrow_exception(failed.error);
  return *std::move(result);
}

Status run_waiting(const std::function<Status(const CancelToken&)>& work) {
  const auto done = run_job({{}, nb::none(), Watch::signals}, [&](const Options& options) -> Result<Report> {
    PENSTOCK_TRY(work(options.cancel));
    return Report();
  });
  return done ? Status() : Status(done.error());
}

void bind_jobs(nb::module_& m) {
  m.def(
      "check_process", [] { CallGuard guard(CallGuard::Threads::none); },
      "Raises RuntimeError in a child process whose parent was using the library.");
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  nb::class_<CancelToken>(m, "CancelToken", "A flag that asks running work to stop.")
      .def(nb::init<>())
      .def("cancel", [](const CancelToken& t) { t.cancel(); })
      .def_prop_ro("cancelled", &CancelToken::cancelled);
  nb::class_<JobOptions>(m, "Options", "How an operation may use the machine.")
      .def(
          "__init__",
          [](JobOptions* self, std::uint64_t budget_bytes, std::uint64_t threads, const std::string& on_error,
             const CancelToken& cancel, nb::object progress, bool watch_signals, bool store_fill_chunks,
             std::optional<std::string> decode, std::optional<std::string> encode, std::optional<double> seconds,
             std::shared_ptr<Memory> memory) {
            if (on_error != "fail" && on_error != "fill") throw nb::value_error("on_error must be 'fail' or 'fill'");
            Options options;
            options.budget_bytes = budget_bytes;
            options.threads = threads;
            options.on_error = on_error == "fill" ? OnError::fill : OnError::fail;
            options.store_fill_chunks = store_fill_chunks;
            options.cancel = cancel;
            if (decode) options.decode = place_of(*decode, "decode", {"auto", "cpu", "device", "nvcomp"});
            if (encode) options.encode = place_of(*encode, "encode", {"auto", "cpu", "device"});
            if (seconds) options.deadline = after(*seconds);
            options.memory = std::move(memory);
            new (self)
                JobOptions{std::move(options), std::move(progress), watch_signals ? Watch::signals : Watch::none};
          },
          nb::arg("budget_bytes") = 0, nb::arg("threads") = 0, nb::arg("on_error") = "fail",
          nb::arg("cancel") = CancelToken(), nb::arg("progress").none() = nb::none(), nb::arg("watch_signals") = false,
          nb::arg("store_fill_chunks") = false, nb::arg("decode").none() = nb::none(),
          nb::arg("encode").none() = nb::none(), nb::arg("seconds").none() = nb::none(),
          nb::arg("memory").none() = nb::none(), "`seconds`: from now to the deadline.");
}

}  // namespace penstock::python
