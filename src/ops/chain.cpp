#include "ops/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/checked.hpp"
#include "core/json.hpp"
#include "core/suggest.hpp"
#include "ops/dispatch.hpp"
#include "ops/list.hpp"
#include "ops/run.hpp"

namespace penstock {
namespace {

Status add_call(Chain& chain, const OpCall& call) {
  const OpEntry* entry = find_op(call.name);
  if (entry == nullptr) {
    std::vector<std::string> known;
    for (const OpEntry& e : op_list()) known.emplace_back(e.name);
    return Error(ErrorCode::invalid_argument,
                 fmt::format("no operator '{}'.{}", call.name, did_you_mean(call.name, known)));
  }
  if (!is_operand(chain.output().dtype))
    return Error(ErrorCode::unsupported, "no elements of type " + chain.output().dtype.name());
  PENSTOCK_ASSIGN(const Json values, parse_json(call.arguments));
  if (!values.is_object()) return Error(ErrorCode::invalid_argument, "the arguments are no JSON object");
  Arguments arguments(values, chain.output().shape.size());
  Status added = entry->add(chain, arguments);
  if (added) return arguments.all_used();
  PENSTOCK_TRY(arguments.all_known(entry->arguments));  // a slip in a name is why another is not given
  return added;
}

}  // namespace

Result<Chain> Chain::make(const ArrayInfo& input, std::span<const OpCall> calls) {
  Chain chain(input);
  for (const OpCall& call : calls) PENSTOCK_TRY_IN(add_call(chain, call), call.name);
  return chain;
}

void Chain::add(std::unique_ptr<Operator> next) {
  auto both = empty() ? nullptr : operators_.back()->with_next(*next);
  if (both)
    operators_.back() = std::move(both);
  else
    operators_.push_back(std::move(next));
}

std::vector<Region> Chain::boxes(const Region& box) const {
  std::vector<Region> boxes(operators_.size() + 1);
  boxes.back() = box;
  for (std::size_t i = operators_.size(); i-- > 0;) boxes[i] = operators_[i]->needs(boxes[i + 1]);
  return boxes;
}

Region Chain::needs(const Region& box) const { return boxes(box).front(); }

std::vector<std::size_t> Chain::axes() const {
  std::vector<std::size_t> axes(input_.shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  for (const auto& op : operators_) {
    std::vector<std::size_t> next;
    for (const std::size_t d : op->axes()) next.push_back(axes[d]);
    axes = std::move(next);
  }
  return axes;
}

std::uint64_t Chain::scratch_bytes(const Region& box) const {
  const std::vector<Region> all = boxes(box);
  std::uint64_t most = 0, before = 0;
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    const bool last = i + 1 == operators_.size();
    const std::uint64_t made = last ? 0 : bytes_of(operators_[i]->output().dtype, all[i + 1]);
    const std::uint64_t own = operators_[i]->scratch_bytes(all[i + 1]);
    most = std::max(most, saturating_add(saturating_add(before, made), own));
    before = made;
  }
  return most;
}

Status Chain::run(const Tile& in, const Tile& out, const Workspace& work) const {
  PENSTOCK_ASSIGN(const std::uint64_t elements, out.view.elements());
  if (elements == 0) return {};
  const std::vector<Region> all = boxes(out.box);
  Tile from{in.view, all.front()};
  PENSTOCK_ASSIGN(from.view, part_of(in, all.front()));
  if (operators_.empty()) return copy_elements(from.view, out.view);
  Buffer held;  // what `from` lies in
  if (!from.view.is_contiguous()) {
    PENSTOCK_ASSIGN(held, work.scratch(bytes_of(input_.dtype, all.front())));
    PENSTOCK_ASSIGN(const TensorView packed,
                    TensorView::packed(held.data(), input_.dtype, from.view.shape, work.stream));
    PENSTOCK_TRY(copy_elements(from.view, packed));
    from.view = packed;
  }
  return run_operators(operators_, all, from, out, work);
}

std::string Chain::text() const {
  std::string text;
  for (const auto& op : operators_) text += fmt::format("operator  {}\n", op->text());
  return text;
}

}  // namespace penstock
