// How arithmetic on elements, as people call it, becomes operators.
#pragma once
#include "ops/list.hpp"

namespace penstock::element {

Status add_cast(Chain& chain, Arguments& arguments);
Status add_add(Chain& chain, Arguments& arguments);
Status add_subtract(Chain& chain, Arguments& arguments);
Status add_multiply(Chain& chain, Arguments& arguments);
Status add_divide(Chain& chain, Arguments& arguments);
Status add_clip(Chain& chain, Arguments& arguments);
Status add_scale(Chain& chain, Arguments& arguments);
Status add_log(Chain& chain, Arguments& arguments);
Status add_exp(Chain& chain, Arguments& arguments);
Status add_sqrt(Chain& chain, Arguments& arguments);
Status add_absolute(Chain& chain, Arguments& arguments);

}  // namespace penstock::element
