#include "ops/reduce/rows.hpp"

#include <fmt/format.h>

#include "core/suggest.hpp"
#include "ops/common.hpp"
#include "ops/element/element.hpp"

namespace penstock::reduce {
namespace {

Status add(Chain& chain, Arguments& arguments, Reduction what) {
  PENSTOCK_ASSIGN(const auto axes, arguments.axes());
  std::vector<bool> reduced(chain.output().shape.size(), false);
  for (const std::size_t axis : axes) reduced[axis] = true;
  PENSTOCK_TRY(check_reduction(what, chain.output().shape, reduced));
  PENSTOCK_ASSIGN(const DType output, arguments.dtype("output", result_type(what, chain.output().dtype)));
  chain.add(make_reduction(chain.output(), what, reduced));
  if (chain.output().dtype != output) chain.add(element::make_cast(chain.output(), output, Rounding::truncate));
  return {};
}

}  // namespace

Status add_sum(Chain& chain, Arguments& arguments) { return add(chain, arguments, Reduction::sum); }
Status add_mean(Chain& chain, Arguments& arguments) { return add(chain, arguments, Reduction::mean); }
Status add_minimum(Chain& chain, Arguments& arguments) { return add(chain, arguments, Reduction::minimum); }
Status add_maximum(Chain& chain, Arguments& arguments) { return add(chain, arguments, Reduction::maximum); }
Status add_variance(Chain& chain, Arguments& arguments) { return add(chain, arguments, Reduction::variance); }
Status add_standard_deviation(Chain& chain, Arguments& arguments) {
  return add(chain, arguments, Reduction::standard_deviation);
}

Result<Reduction> parse_reduction(std::string_view name) {
  struct Name {
    std::string_view name;
    Reduction what;
  };
  static constexpr Name names[] = {
      {"sum", Reduction::sum},           {"mean", Reduction::mean},
      {"minimum", Reduction::minimum},   {"maximum", Reduction::maximum},
      {"variance", Reduction::variance}, {"standard_deviation", Reduction::standard_deviation}};
  std::vector<std::string> known;
  for (const Name& n : names) {
    if (n.name == name) return n.what;
    known.emplace_back(n.name);
  }
  return bad_argument(fmt::format("no reduction '{}'.{}", name, did_you_mean(name, known)));
}

Status check_reduction(Reduction what, const Shape& shape, const std::vector<bool>& reduced) {
  if (what == Reduction::sum) return {};
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (reduced[d] && shape[d] == 0) return bad_argument(fmt::format("axis {} has no elements to reduce", d));
  return {};
}

}  // namespace penstock::reduce
