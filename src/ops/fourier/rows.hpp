// How transforms, as people call them, become operators.
#pragma once
#include "ops/list.hpp"

namespace penstock::fourier {

Status add_dct(Chain& chain, Arguments& arguments);

}  // namespace penstock::fourier
