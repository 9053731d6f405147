// Operators on elements in memory: whole where the budget has room for what lies between, else a part at a time.
#include <fmt/format.h>

#include <algorithm>

#include "core/guard.hpp"
#include "exec/budget.hpp"
#include "ops/chain.hpp"
#include "ops/dispatch.hpp"
#include "penstock/bound_operators.hpp"

namespace penstock {
namespace {

/// Longer axes are worked on in parts: tables of them hold 32 bits.
constexpr std::uint64_t kMaxExtent = std::uint64_t{1} << 30;

Result<TensorView> part_of(const TensorView& whole, const Region& box) {
  std::vector<Index> indices;
  for (const Range& r : box)
    indices.push_back(Slice{static_cast<std::int64_t>(r.start), static_cast<std::int64_t>(r.start + r.count), 1});
  return whole.slice(indices);
}

/// First and last byte of a view; nothing for one without elements.
std::pair<std::uintptr_t, std::uintptr_t> reach(const TensorView& view) {
  auto first = reinterpret_cast<std::uintptr_t>(view.data), last = first + view.dtype.size_bytes;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 0) return {first, first};
    const std::int64_t step = view.strides_bytes[d] * static_cast<std::int64_t>(view.shape[d] - 1);
    (step < 0 ? first : last) += static_cast<std::uintptr_t>(step);
  }
  return {first, last};
}

bool overlap(const TensorView& a, const TensorView& b) {
  const auto [a_first, a_last] = reach(a);
  const auto [b_first, b_last] = reach(b);
  return a.device == b.device && a_first < b_last && b_first < a_last;
}

/// One application: a chain between two views.
struct Application {
  const Chain& chain;
  const TensorView &in, &out;
  Workspace work;
  std::uint64_t budget_bytes;

  /// Elements of `box` in C order without gaps: themselves, or a copy in `held`.
  Result<TensorView> packed(const TensorView& view, Buffer& held) const {
    if (view.is_contiguous()) return view;
    PENSTOCK_ASSIGN(const std::uint64_t bytes, view.bytes());
    PENSTOCK_ASSIGN(held, work.scratch(bytes));
    return TensorView::packed(held.data(), view.dtype, view.shape, work.stream);
  }

  Status run(const Region& box) const {
    const Region needed = chain.needs(box);
    PENSTOCK_ASSIGN(const std::optional<std::size_t> cut, where_to_cut(box, needed));
    if (!cut) return run_whole(box, needed);
    Region half = box;
    half[*cut].count = (box[*cut].count + 1) / 2;
    PENSTOCK_TRY(run(half));
    half[*cut].start += half[*cut].count;
    half[*cut].count = box[*cut].count - half[*cut].count;
    return run(half);
  }

  Status run_whole(const Region& box, const Region& needed) const {
    PENSTOCK_ASSIGN(const TensorView from, part_of(in, needed));
    PENSTOCK_ASSIGN(const TensorView to, part_of(out, box));
    Buffer in_memory, out_memory;
    PENSTOCK_ASSIGN(TensorView source, packed(from, in_memory));
    if (source.data != from.data) PENSTOCK_TRY(copy_elements(from, source));
    PENSTOCK_ASSIGN(TensorView target, packed(to, out_memory));
    PENSTOCK_TRY(chain.run({source, needed}, {target, box}, work));
    return target.data == to.data ? Status() : copy_elements(target, to);
  }

  /// The longest dimension where a box needs more memory than there is, or is too long; nullopt: it is well as it is.
  [[nodiscard]] Result<std::optional<std::size_t>> where_to_cut(const Region& box, const Region& needed) const {
    std::optional<std::size_t> longest;
    bool too_long = false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      if (!longest || box[d].count > box[*longest].count) longest = d;
      too_long = too_long || box[d].count > kMaxExtent;
    }
    PENSTOCK_ASSIGN(const TensorView from, part_of(in, needed));
    PENSTOCK_ASSIGN(const TensorView to, part_of(out, box));
    std::uint64_t bytes = chain.scratch_bytes(box);
    for (const TensorView* view : {&from, &to}) {
      PENSTOCK_ASSIGN(const std::uint64_t copy, view->bytes());
      if (!view->is_contiguous()) bytes += copy;
    }
    if (!too_long && bytes <= budget_bytes) return std::optional<std::size_t>();
    if (!longest || box[*longest].count <= 1)
      return Error(ErrorCode::budget_too_small,
                   fmt::format("a memory budget of {} bytes is too small: a single element needs {}", budget_bytes,
                               bytes))
          .set_hint(fmt::format("Allow at least {} bytes.", bytes));
    return longest;
  }
};

}  // namespace

Status apply_chain(const Chain& chain, const TensorView& input, const TensorView& output, const Options& options) {
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
  PENSTOCK_ASSIGN(const std::uint64_t elements, output.elements());
  if (elements == 0) return {};
  const std::uint64_t threads =
      input.device.type == Device::Type::cpu ? allowed.threads : 1;  // a device is told by one
  Job job(options, "apply", elements * output.dtype.size_bytes, threads, reuse_within(allowed.budget_bytes));
  PENSTOCK_ASSIGN(const auto memory, working_memory(input.device, options));
  Workspace work{&job, input.stream, memory};
  const Region all = whole(chain.output().shape);
  return job.run([&] { return Application{chain, input, output, work, allowed.budget_bytes}.run(all); });
}

Result<ArrayInfo> result_of(std::span<const OpCall> calls, const ArrayInfo& input) {
  return guarded([&]() -> Result<ArrayInfo> {
    PENSTOCK_ASSIGN(const Chain chain, Chain::make(input, calls));
    return chain.output();
  });
}

Result<Tensor> apply_operators(std::span<const OpCall> calls, const TensorView& input, const Options& options) {
  return guarded([&]() -> Result<Tensor> {
    PENSTOCK_TRY(input.check());
    PENSTOCK_ASSIGN(const Chain chain, Chain::make({input.dtype, input.shape}, calls));
    PENSTOCK_ASSIGN(Tensor made,
                    Tensor::empty(chain.output().dtype, chain.output().shape, input.stream, options.memory));
    PENSTOCK_TRY(apply_chain(chain, input, made.view(), options));
    return made;
  });
}

Status apply_operators(std::span<const OpCall> calls, const TensorView& input, const TensorView& output,
                       const Options& options) {
  PENSTOCK_TRY(input.check());
  PENSTOCK_ASSIGN(const BoundOperators bound, BoundOperators::make(calls, {input.dtype, input.shape}));
  return bound.apply(input, output, options);
}

Result<BoundOperators> BoundOperators::make(std::span<const OpCall> calls, const ArrayInfo& input) {
  return guarded([&]() -> Result<BoundOperators> {
    PENSTOCK_ASSIGN(Chain chain, Chain::make(input, calls));
    BoundOperators bound;
    bound.chain_ = std::make_shared<const Chain>(std::move(chain));
    return bound;
  });
}

const ArrayInfo& BoundOperators::result() const { return chain_->output(); }

Status BoundOperators::apply(const TensorView& input, const TensorView& output, const Options& options) const {
  return guarded([&]() -> Status {
    PENSTOCK_TRY(input.check());
    PENSTOCK_TRY(output.check());
    const auto bad = [](std::string what) { return Error(ErrorCode::invalid_argument, std::move(what)); };
    if (!is_operand(input.dtype)) return Error(ErrorCode::unsupported, "no elements of type " + input.dtype.name());
    const ArrayInfo &taken = chain_->input(), &made = chain_->output();
    if (input.shape != taken.shape || input.dtype != taken.dtype)
      return bad(fmt::format("the input is {} of shape {}, the operators are bound to {} of shape {}",
                             input.dtype.name(), to_string(input.shape), taken.dtype.name(), to_string(taken.shape)));
    if (output.shape != made.shape)
      return bad(fmt::format("the output has shape {}, the result {}", to_string(output.shape), to_string(made.shape)));
    if (output.dtype != made.dtype)
      return bad(fmt::format("the output holds {}, the result {}", output.dtype.name(), made.dtype.name()));
    if (output.access == Access::read_only) return bad("the output is read-only");
    if (output.device != input.device)
      return bad(fmt::format("the output is on {}, the input on {}", output.device.name(), input.device.name()));
    TensorView target = output;
    target.stream = input.stream;
    if (!overlap(input, output)) return apply_chain(*chain_, input, target, options);
    PENSTOCK_ASSIGN(const Tensor apart, Tensor::empty(made.dtype, made.shape, input.stream, options.memory));
    PENSTOCK_TRY(apply_chain(*chain_, input, apart.view(), options));
    return copy_elements(apart.view(), target);
  });
}

}  // namespace penstock
