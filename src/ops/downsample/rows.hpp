// Rows of the list of operators that make blocks of elements one.
#pragma once
#include "ops/list.hpp"

namespace penstock::downsample {

Status add_downsample(Chain& chain, Arguments& arguments);

}  // namespace penstock::downsample
