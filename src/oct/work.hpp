// Many indices of one piece of work, on the threads of the CPU or on a device: what a step does is written once.
#pragma once
#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "oct/memory.hpp"
#include "ops/operator.hpp"

namespace penstock::oct {

/// Neighbouring indices that the CPU does at once, so that its vector units have something to do.
inline constexpr int kHostLanes = 64;

/// f(0) ... f(count - 1) in the order of the stream.
template <class F>
Status run_on_cuda(const F& f, std::uint64_t count, const Stream& stream);

/// Work of which each index by itself is worth little: `f(i)` for i below `count`.
template <class F>
Status run_work(const F& f, std::uint64_t count, const Workspace& work, std::uint64_t task = 1 << 13) {
  if (work.on_device()) return run_on_cuda(f, count, work.stream);
  return work.job->for_each(div_up(count, task), true, [&](std::uint64_t t) -> Status {
    for (std::uint64_t i = t * task; i < std::min((t + 1) * task, count); ++i) f(i);
    return {};
  });
}

/// Work on lanes: `f.at<1>(i)` for i below f.count(1) on a device, `f.at<kHostLanes>(i)` on the CPU; the same sums in
/// the same order.
template <class F>
Status run_lanes(const F& f, const Workspace& work, std::uint64_t task = 1) {
  if (work.on_device()) return run_on_cuda(f, f.count(1), work.stream);
  const std::uint64_t count = f.count(kHostLanes);
  return work.job->for_each(div_up(count, task), true, [&](std::uint64_t t) -> Status {
    for (std::uint64_t i = t * task; i < std::min((t + 1) * task, count); ++i) f.template at<kHostLanes>(i);
    return {};
  });
}
inline constexpr std::uint64_t kShortTask = 128;  ///< for work that is short: kHostLanes elements an index

/// What a step has to work with.
struct Tools {
  Workspace work;
  Options options;  ///< of what is called for it
};
/// Calls f(tools) with all threads and a stream of the device, and waits for what it has begun.
template <class F>
Status with_tools(Device device, std::string_view what, const Options& given, const F& f) {
  const Options options = what_is_left(device.type == Device::Type::cpu ? on_host(given) : given);
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, 0));
  PENSTOCK_ASSIGN(const auto memory, working_memory(device, options));
  Job job(options, what, 0, plan.threads);
  Tools tools{{&job, {}, memory}, options};
  if (device.type != Device::Type::cpu) {
    PENSTOCK_ASSIGN(tools.work.stream, Stream::create(device));
  }
  return job.run([&]() -> Status {
    PENSTOCK_TRY(f(std::as_const(tools)));
    return tools.work.stream.synchronize();
  });
}

/// Numbers where the work is, for as long as it lasts.
template <class T>
class Numbers {
 public:
  static Result<Numbers> make(std::uint64_t count, const Workspace& work) {
    PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, sizeof(T)));
    Numbers made;
    PENSTOCK_ASSIGN(made.buffer_, work.scratch(bytes));
    made.count_ = count;
    return made;
  }
  static Result<Numbers> make(std::span<const T> values, const Workspace& work) {
    PENSTOCK_ASSIGN(Numbers made, make(values.size(), work));
    PENSTOCK_TRY(made.set(values, work));
    return made;
  }
  static Result<Numbers> make(const std::vector<T>& values, const Workspace& work) {
    return make(std::span<const T>(values), work);
  }
  [[nodiscard]] T* at() const { return reinterpret_cast<T*>(buffer_.data()); }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The first of them; they may change once this has returned.
  Status set(std::span<const T> values, const Workspace& work) {
    return copy_async(buffer_.data(), work.stream.device(), values.data(), {}, values.size_bytes(), work.stream);
  }
  /// All of them where the CPU can read them: themselves, or a copy in `held`; complete on return.
  [[nodiscard]] Result<std::span<const T>> here(std::vector<T>& held, const Workspace& work) const {
    if (!work.on_device()) return std::span<const T>(at(), count_);
    PENSTOCK_ASSIGN(held, get(count_, work));
    return std::span<const T>(held);
  }
  /// The first `count` of them, complete on return.
  [[nodiscard]] Result<std::vector<T>> get(std::uint64_t count, const Workspace& work) const {
    std::vector<T> values(count);
    PENSTOCK_TRY(copy_async(values.data(), {}, buffer_.data(), work.stream.device(), count * sizeof(T), work.stream));
    PENSTOCK_TRY(work.stream.synchronize());
    return values;
  }

 private:
  Buffer buffer_;
  std::uint64_t count_ = 0;
};

}  // namespace penstock::oct
