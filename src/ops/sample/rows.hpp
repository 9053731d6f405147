// How the operators that sample at coordinates, as people call them, become operators.
#pragma once
#include "ops/list.hpp"

namespace penstock::sample {

Status add_affine_transform(Chain& chain, Arguments& arguments);
Status add_shift(Chain& chain, Arguments& arguments);
Status add_zoom(Chain& chain, Arguments& arguments);

}  // namespace penstock::sample
