#include "ops/window/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/common.hpp"
#include "ops/element/element.hpp"
#include "ops/line/extend.hpp"
#include "ops/line/rows.hpp"
#include "ops/window/window.hpp"

namespace penstock::window {
namespace {

constexpr std::uint64_t kMaxElements = 1u << 20;  // under a footprint

/// Which rank of so many elements is wanted.
using RankOf = Result<std::uint32_t> (*)(Arguments&, std::uint32_t count);

/// The elements that count: of `axes`, in their order.  `footprint` is a flat list in C order, `size` its extents.
Result<std::vector<bool>> read_mask(Arguments& arguments, const std::vector<std::int64_t>& sizes) {
  std::uint64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1) return bad_argument(fmt::format("size {}: must be 1 or more", size));
    count *= static_cast<std::uint64_t>(size);
    if (count > kMaxElements) return bad_argument("the footprint has too many elements");
  }
  std::vector<bool> mask(count, true);
  if (!arguments.given("footprint")) {
    PENSTOCK_TRY(arguments.text("footprint", ""));
    return mask;
  }
  PENSTOCK_ASSIGN(const auto values, arguments.numbers("footprint"));
  if (values.size() != count)
    return bad_argument(fmt::format("the footprint has {} values for a box of {}", values.size(), count));
  for (std::size_t i = 0; i < count; ++i) mask[i] = values[i] != 0;
  if (std::ranges::none_of(mask, [](bool set) { return set; })) return bad_argument("the footprint is empty");
  return mask;
}

/// A footprint of some axes as one of all of them.
Footprint spread(const std::vector<bool>& mask, const std::vector<std::int64_t>& sizes,
                 const std::vector<std::size_t>& axes, std::size_t rank) {
  Footprint made;
  made.shape.assign(rank, 1);
  for (std::size_t i = 0; i < axes.size(); ++i) made.shape[axes[i]] = static_cast<std::uint64_t>(sizes[i]);
  made.mask.resize(mask.size());
  for (std::uint64_t i = 0; i < mask.size(); ++i) {
    std::vector<std::uint64_t> at(rank, 0);
    std::uint64_t rest = i;
    for (std::size_t k = axes.size(); k-- > 0;) {
      at[axes[k]] = rest % static_cast<std::uint64_t>(sizes[k]);
      rest /= static_cast<std::uint64_t>(sizes[k]);
    }
    std::uint64_t to = 0;
    for (std::size_t d = 0; d < rank; ++d) to = to * made.shape[d] + at[d];
    made.mask[to] = mask[i];
  }
  return made;
}

Status add_rank(Chain& chain, Arguments& arguments, RankOf rank_of) {
  PENSTOCK_ASSIGN(const auto common, FilterArguments::read(chain, arguments, FilterArguments::Axes::some));
  const std::size_t n = common.axes.size();
  PENSTOCK_ASSIGN(const auto sizes, arguments.integer_each("size", n, std::nullopt));
  PENSTOCK_ASSIGN(const auto origins, arguments.integer_each("origin", n, 0));
  PENSTOCK_ASSIGN(const std::vector<bool> mask, read_mask(arguments, sizes));
  const auto count = static_cast<std::uint32_t>(std::ranges::count(mask, true));
  PENSTOCK_ASSIGN(const std::uint32_t rank, rank_of(arguments, count));
  const DType input = chain.output().dtype;
  // Unsigned numbers are their own order; the constant is put beside the elements while they are what they are.
  std::vector<line::Extension> extensions(chain.output().shape.size());
  const bool empty = std::ranges::find(chain.output().shape, 0u) != chain.output().shape.end();
  bool extends = false;
  for (std::size_t i = 0; i < n; ++i) {
    PENSTOCK_ASSIGN(const std::int64_t before, window_start(sizes[i], origins[i], common.axes[i]));
    if (sizes[i] == 1 || empty) continue;
    extensions[common.axes[i]] = {static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(sizes[i] - 1 - before),
                                  common.borders[i]};
    extends = true;
  }
  if (extends) chain.add(line::make_extend(chain.output(), std::move(extensions), common.constant));
  const bool ordered = input.kind == Kind::unsigned_int || input.kind == Kind::boolean;
  if (!ordered) chain.add(make_keys(chain.output()));
  if (!empty) chain.add(make_rank(chain.output(), spread(mask, sizes, common.axes, chain.output().shape.size()), rank));
  if (!ordered) chain.add(make_elements(chain.output(), input));
  if (common.output != input) chain.add(element::make_cast(chain.output(), common.output, Rounding::truncate));
  return {};
}

}  // namespace

Status add_rank_filter(Chain& chain, Arguments& arguments) {
  return add_rank(chain, arguments, [](Arguments& a, std::uint32_t count) -> Result<std::uint32_t> {
    PENSTOCK_ASSIGN(std::int64_t rank, a.integer("rank", std::nullopt));
    if (rank < 0) rank += count;
    if (rank < 0 || rank >= count) return bad_argument(fmt::format("rank not within filter footprint size {}", count));
    return static_cast<std::uint32_t>(rank);
  });
}
Status add_median_filter(Chain& chain, Arguments& arguments) {
  return add_rank(chain, arguments, [](Arguments&, std::uint32_t count) -> Result<std::uint32_t> { return count / 2; });
}
Status add_percentile_filter(Chain& chain, Arguments& arguments) {
  return add_rank(chain, arguments, [](Arguments& a, std::uint32_t count) -> Result<std::uint32_t> {
    PENSTOCK_ASSIGN(double percent, a.number("percentile", std::nullopt));
    if (percent < 0) percent += 100;
    if (percent < 0 || percent > 100) return bad_argument(fmt::format("invalid percentile {}", percent));
    return percent == 100 ? count - 1 : static_cast<std::uint32_t>(count * percent / 100);
  });
}
Status add_minimum_filter(Chain& chain, Arguments& arguments) {
  if (!arguments.given("footprint")) return line::add_minimum_filter(chain, arguments);
  return add_rank(chain, arguments, [](Arguments&, std::uint32_t) -> Result<std::uint32_t> { return 0; });
}
Status add_maximum_filter(Chain& chain, Arguments& arguments) {
  if (!arguments.given("footprint")) return line::add_maximum_filter(chain, arguments);
  return add_rank(chain, arguments, [](Arguments&, std::uint32_t count) -> Result<std::uint32_t> { return count - 1; });
}

}  // namespace penstock::window
