// How the operators along axes, as people call them, become operators along one axis.
#pragma once
#include "ops/list.hpp"

namespace penstock::line {

Status add_correlate1d(Chain& chain, Arguments& arguments);
Status add_gaussian_filter(Chain& chain, Arguments& arguments);
Status add_gaussian_filter1d(Chain& chain, Arguments& arguments);
Status add_prewitt(Chain& chain, Arguments& arguments);
Status add_sobel(Chain& chain, Arguments& arguments);
Status add_uniform_filter(Chain& chain, Arguments& arguments);
Status add_uniform_filter1d(Chain& chain, Arguments& arguments);
Status add_minimum_filter(Chain& chain, Arguments& arguments);
Status add_minimum_filter1d(Chain& chain, Arguments& arguments);
Status add_maximum_filter(Chain& chain, Arguments& arguments);
Status add_maximum_filter1d(Chain& chain, Arguments& arguments);
Status add_spline_filter(Chain& chain, Arguments& arguments);
Status add_spline_filter1d(Chain& chain, Arguments& arguments);
Status add_resize(Chain& chain, Arguments& arguments);

/// Weights of a Gaussian of `sigma` elements or of its `order`-th derivative, at -radius ... radius, as they are
/// correlated with.
std::vector<double> gaussian_weights(double sigma, int order, std::int64_t radius);

}  // namespace penstock::line
