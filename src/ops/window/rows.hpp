// How the operators under a footprint, as people call them, become operators.
#pragma once
#include "ops/list.hpp"

namespace penstock::window {

Status add_rank_filter(Chain& chain, Arguments& arguments);
Status add_median_filter(Chain& chain, Arguments& arguments);
Status add_percentile_filter(Chain& chain, Arguments& arguments);
/// Of any footprint; of boxes line/ has what is faster.
Status add_footprint_minimum(Chain& chain, Arguments& arguments);
Status add_footprint_maximum(Chain& chain, Arguments& arguments);

}  // namespace penstock::window
