// How the operators under a footprint, as people call them, become operators.
#pragma once
#include "ops/list.hpp"

namespace penstock::window {

Status add_rank_filter(Chain& chain, Arguments& arguments);
Status add_median_filter(Chain& chain, Arguments& arguments);
Status add_percentile_filter(Chain& chain, Arguments& arguments);
/// Of any footprint; a box is left to line/, which takes one axis after the other.
Status add_minimum_filter(Chain& chain, Arguments& arguments);
Status add_maximum_filter(Chain& chain, Arguments& arguments);

}  // namespace penstock::window
