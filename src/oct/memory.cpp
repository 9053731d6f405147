#include "oct/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"
#include "exec/budget.hpp"

namespace penstock::oct {

Result<Options> StepMemory::options(Device device, const Options& given) {
  Options owned = given;
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(given, 0));
  PENSTOCK_ASSIGN(std::shared_ptr<Memory> from, working_memory(device, given));
  owned.budget_bytes = plan.budget_bytes;
  owned = what_is_left(std::move(owned));
  owned.memory = std::make_shared<StepMemory>(std::move(from), owned.budget_bytes);
  return owned;
}

Result<void*> StepMemory::do_allocate(std::uint64_t bytes, std::size_t alignment, const Stream& stream) {
  if (!counter_.take(bytes)) {
    const std::uint64_t held = counter_.in_use();
    return Error(ErrorCode::budget_too_small,
                 fmt::format("a memory budget of {} is too small: {} are held, {} more are needed",
                             format_bytes(counter_.cap()), format_bytes(held), format_bytes(bytes)))
        .set_hint(fmt::format("Allow at least {} bytes.", held + bytes));
  }
  Result<Buffer> block = from_->allocate(bytes, alignment, stream);
  if (!block) {
    counter_.give(bytes);
    return block.error();
  }
  void* const data = block->data();
  try {
    const std::scoped_lock lock(mutex_);
    blocks_.emplace(data, *std::move(block));
  } catch (const std::bad_alloc&) {
    counter_.give(bytes);
    return Error(ErrorCode::out_of_memory, "out of memory");
  }
  return data;
}

void StepMemory::do_free(void* data, std::uint64_t bytes, const Stream& stream) noexcept {
  Buffer block;
  {
    const std::scoped_lock lock(mutex_);
    const auto at = blocks_.find(data);
    if (at == blocks_.end()) return;
    block = std::move(at->second);
    blocks_.erase(at);
  }
  block.free_on(stream);
  counter_.give(bytes);
}

Options what_is_left(Options options) {
  const auto* const owner = dynamic_cast<const StepMemory*>(options.memory.get());
  if (owner != nullptr)
    options.budget_bytes = std::max<std::uint64_t>(std::min(options.budget_bytes, owner->left_bytes()), 1);
  return options;
}

Options on_host(Options options) {
  if (options.memory && options.memory->device().type != Device::Type::cpu) options.memory = nullptr;
  return options;
}

}  // namespace penstock::oct
