// How reductions, as people call them, become operators.
#pragma once
#include "ops/list.hpp"
#include "ops/reduce/reduce.hpp"

namespace penstock::reduce {

Status add_sum(Chain& chain, Arguments& arguments);
Status add_mean(Chain& chain, Arguments& arguments);
Status add_minimum(Chain& chain, Arguments& arguments);
Status add_maximum(Chain& chain, Arguments& arguments);
Status add_variance(Chain& chain, Arguments& arguments);
Status add_standard_deviation(Chain& chain, Arguments& arguments);

/// By the operator's name.  Errors: invalid_argument.
Result<Reduction> parse_reduction(std::string_view name);
/// Errors: invalid_argument (an extreme, or a mean, of nothing).
Status check_reduction(Reduction what, const Shape& shape, const std::vector<bool>& reduced);

}  // namespace penstock::reduce
