// The memory of a step: one owner gives it, who knows the budget.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "device/capped_counter.hpp"
#include "penstock/device.hpp"
#include "penstock/options.hpp"

namespace penstock::oct {

/// What a step holds where it works: all large blocks come from here, and never more than the budget.  Steps that a
/// step runs have an owner each, which takes from its.
class StepMemory final : public Memory {
 public:
  /// `from`: where blocks truly come from.
  StepMemory(std::shared_ptr<Memory> from, std::uint64_t budget_bytes)
      : from_(std::move(from)), counter_(budget_bytes) {}

  /// For what works on `device`: the budget filled in, and memory that keeps to it.  Errors: invalid_argument
  /// (settings; options.memory is of another device), no_device, device_error.
  static Result<Options> options(Device device, const Options& given);

  [[nodiscard]] std::uint64_t left_bytes() const { return counter_.cap() - counter_.in_use(); }
  [[nodiscard]] Device device() const override { return from_->device(); }
  [[nodiscard]] std::uint64_t in_use_bytes() const override { return counter_.in_use(); }
  [[nodiscard]] std::uint64_t peak_bytes() const override { return counter_.peak(); }

 protected:
  /// Errors: budget_too_small (how much the step would need), out_of_memory.
  Result<void*> do_allocate(std::uint64_t bytes, std::size_t alignment, const Stream& stream) override;
  void do_free(void* data, std::uint64_t bytes, const Stream& stream) noexcept override;

 private:
  std::shared_ptr<Memory> from_;
  CappedCounter counter_;
  std::mutex mutex_;
  std::map<void*, Buffer> blocks_;
};

/// `options` with no more of a budget than their owner has left to give.
Options what_is_left(Options options);

/// `options` of a step for elements in host memory: those of a device come from elsewhere.
Options on_host(Options options);

}  // namespace penstock::oct
