#include "ops/downsample/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/suggest.hpp"
#include "ops/common.hpp"
#include "ops/downsample/downsample.hpp"

namespace penstock::downsample {
namespace {

Result<Downsample> parse_method(const std::string& word) {
  std::vector<std::string> known;
  for (const Downsample method : {Downsample::mean, Downsample::nearest, Downsample::gaussian, Downsample::mode}) {
    if (word == name_of(method)) return method;
    known.emplace_back(name_of(method));
  }
  return bad_argument(fmt::format("method is {}, not {}.{}", fmt::join(known, ", "), word, did_you_mean(word, known)));
}

}  // namespace

Status add_downsample(Chain& chain, Arguments& arguments) {
  PENSTOCK_ASSIGN(const auto axes, arguments.axes());
  PENSTOCK_ASSIGN(const auto given, arguments.integer_each("factor", axes.size(), 2));
  PENSTOCK_ASSIGN(const std::string word, arguments.text("method", "mean"));
  PENSTOCK_ASSIGN(const Downsample method, parse_method(word));
  std::vector<std::uint32_t> factors(chain.output().shape.size(), 1);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (given[k] < 1 || given[k] > kMaxFactor)
      return bad_argument(fmt::format("factor {}: must be 1 to {}", given[k], kMaxFactor));
    factors[axes[k]] = static_cast<std::uint32_t>(given[k]);
  }
  PENSTOCK_ASSIGN(auto made, make_downsample(chain.output(), std::move(factors), method));
  chain.add(std::move(made));
  return {};
}

}  // namespace penstock::downsample
