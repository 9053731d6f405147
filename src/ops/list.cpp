#include "ops/list.hpp"

#include <algorithm>
#include <iterator>

#include "ops/downsample/rows.hpp"
#include "ops/element/rows.hpp"
#include "ops/fourier/rows.hpp"
#include "ops/line/rows.hpp"
#include "ops/reduce/rows.hpp"
#include "ops/sample/rows.hpp"
#include "ops/window/rows.hpp"

namespace penstock {

std::span<const OpEntry> op_list() {
  static constexpr OpEntry list[] = {
      {"correlate1d", "a sum with weights along one axis", "weights, axis=-1, mode=reflect, cval=0, origin=0",
       line::add_correlate1d},
      {"gaussian_filter", "a Gaussian, or derivatives of it, along each axis",
       "sigma, order=0, mode=reflect, cval=0, truncate=4, radius, axes", line::add_gaussian_filter},
      {"gaussian_filter1d", "a Gaussian, or a derivative of it, along one axis",
       "sigma, axis=-1, order=0, mode=reflect, cval=0, truncate=4, radius", line::add_gaussian_filter1d},
      {"prewitt", "edges across one axis, smoothed evenly along the others", "axis=-1, mode=reflect, cval=0",
       line::add_prewitt},
      {"sobel", "edges across one axis, smoothed along the others", "axis=-1, mode=reflect, cval=0", line::add_sobel},
      {"uniform_filter", "the mean of a box", "size=3, mode=reflect, cval=0, origin=0, axes", line::add_uniform_filter},
      {"uniform_filter1d", "the mean along one axis", "size, axis=-1, mode=reflect, cval=0, origin=0",
       line::add_uniform_filter1d},
      {"minimum_filter", "the least of a box or footprint", "size, footprint, mode=reflect, cval=0, origin=0, axes",
       window::add_minimum_filter},
      {"minimum_filter1d", "the least along one axis", "size, axis=-1, mode=reflect, cval=0, origin=0",
       line::add_minimum_filter1d},
      {"maximum_filter", "the largest of a box or footprint", "size, footprint, mode=reflect, cval=0, origin=0, axes",
       window::add_maximum_filter},
      {"maximum_filter1d", "the largest along one axis", "size, axis=-1, mode=reflect, cval=0, origin=0",
       line::add_maximum_filter1d},
      {"median_filter", "the middle element under a footprint", "size, footprint, mode=reflect, cval=0, origin=0, axes",
       window::add_median_filter},
      {"percentile_filter", "a percentile under a footprint",
       "percentile, size, footprint, mode=reflect, cval=0, origin=0, axes", window::add_percentile_filter},
      {"rank_filter", "the rank-th smallest under a footprint",
       "rank, size, footprint, mode=reflect, cval=0, origin=0, axes", window::add_rank_filter},
      {"spline_filter", "the coefficients of a spline through the elements", "order=3, mode=mirror, output=float64",
       line::add_spline_filter},
      {"spline_filter1d", "the coefficients of a spline along one axis",
       "order=3, axis=-1, mode=mirror, output=float64", line::add_spline_filter1d},
      {"affine_transform", "values at a matrix times the output's indices, plus an offset",
       "matrix, offset=0, output_shape, order=3, mode=constant, cval=0, prefilter=true", sample::add_affine_transform},
      {"shift", "the array moved by fractions of elements", "shift, order=3, mode=constant, cval=0, prefilter=true",
       sample::add_shift},
      {"zoom", "another shape, first and last elements on each other",
       "zoom, order=3, mode=constant, cval=0, prefilter=true, grid_mode=false, compat", sample::add_zoom},
      {"resize", "another shape, smoothed first where it is smaller",
       "output_shape or scale, order=1, align=half_pixel, anti_aliasing=true, mode, cval=0", line::add_resize},
      {"downsample", "blocks of elements become one: their mean, most frequent, first, or a Gaussian",
       "factor=2, method=mean, axes", downsample::add_downsample},
      {"cast", "elements of another type, rounded to the nearest", "output", element::add_cast},
      {"add", "plus a number", "value, output", element::add_add},
      {"subtract", "less a number", "value, output", element::add_subtract},
      {"multiply", "times a number", "value, output", element::add_multiply},
      {"divide", "divided by a number", "value, output", element::add_divide},
      {"clip", "at least min, at most max", "min, max, output", element::add_clip},
      {"scale", "low ... high become to_low ... to_high", "low, high, to_low=0, to_high=1, output", element::add_scale},
      {"log", "the natural logarithm", "output", element::add_log},
      {"exp", "the exponential", "output", element::add_exp},
      {"sqrt", "the square root", "output", element::add_sqrt},
      {"absolute", "without the sign", "output", element::add_absolute},
      {"dct", "the cosine transform of type 2 or 3 of images", "type=2, axes=-2,-1, norm=backward", fourier::add_dct},
      {"sum", "the sum along axes, which go away", "axes", reduce::add_sum},
      {"mean", "the mean along axes", "axes", reduce::add_mean},
      {"minimum", "the least along axes", "axes", reduce::add_minimum},
      {"maximum", "the largest along axes: a projection", "axes", reduce::add_maximum},
      {"variance", "the mean square distance from the mean along axes", "axes", reduce::add_variance},
      {"standard_deviation", "the root of the variance along axes", "axes", reduce::add_standard_deviation},
  };
  return list;
}

const OpEntry* find_op(std::string_view name) {
  const auto all = op_list();
  const auto it = std::ranges::find(all, name, &OpEntry::name);
  return it == all.end() ? nullptr : &*it;
}

}  // namespace penstock
