#include "penstock/region.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "core/checked.hpp"
#include "core/selection.hpp"

namespace penstock {
namespace {

Error syntax(std::string_view text, std::string_view part) {
  return {
      ErrorCode::invalid_argument,
      fmt::format("region '{}': '{}' is no range; write start:stop, start:stop:step, an index, or ...", text, part)};
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

bool parse_int(std::string_view s, std::optional<std::int64_t>& out) {
  s = trim(s);
  if (s.empty()) return true;
  std::int64_t value = 0;
  const auto [ptr, ec] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (ec != std::errc() || ptr != s.data() + s.size()) return false;
  out = value;
  return true;
}

bool parse_index(std::string_view part, Index& out) {
  const std::size_t a = part.find(':');
  Slice slice;
  if (a == std::string_view::npos) {
    if (!parse_int(part, slice.start) || !slice.start) return false;
    out = *slice.start;
    return true;
  }
  const std::size_t b = part.find(':', a + 1);
  if (!parse_int(part.substr(0, a), slice.start)) return false;
  if (b == std::string_view::npos) {
    if (!parse_int(part.substr(a + 1), slice.stop)) return false;
  } else if (!parse_int(part.substr(a + 1, b - a - 1), slice.stop) || !parse_int(part.substr(b + 1), slice.step) ||
             part.find(':', b + 1) != std::string_view::npos || slice.step.value_or(1) == 0) {
    return false;
  }
  out = slice;
  return true;
}

}  // namespace

Result<Range> range_of(const Index& index, std::uint64_t extent, std::size_t dimension) {
  const auto n = static_cast<std::int64_t>(extent);
  if (const auto* at = std::get_if<std::int64_t>(&index)) {
    const std::int64_t i = *at < 0 ? *at + n : *at;
    if (i < 0 || i >= n)
      return Error(ErrorCode::out_of_range,
                   fmt::format("index {} is outside dimension {} of extent {}", *at, dimension, extent));
    return Range{static_cast<std::uint64_t>(i), 1, 1};
  }
  const Slice& s = *std::get_if<Slice>(&index);
  const std::int64_t step = s.step.value_or(1);
  if (step == 0)
    return Error(ErrorCode::invalid_argument, fmt::format("a slice of dimension {} has step 0", dimension));
  const auto clip = [&](std::int64_t v) {
    if (v < 0) v += n;
    const std::int64_t low = step > 0 ? 0 : -1;
    const std::int64_t high = step > 0 ? n : n - 1;
    return std::min(std::max(v, low), high);
  };
  const std::int64_t start = s.start ? clip(*s.start) : (step > 0 ? 0 : n - 1);
  const std::int64_t stop = s.stop ? clip(*s.stop) : (step > 0 ? n : -1);
  const std::int64_t span = step > 0 ? stop - start : start - stop;
  if (span <= 0) return Range{0, 0, step};
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  return Range{static_cast<std::uint64_t>(start), div_up(static_cast<std::uint64_t>(span), stride), step};
}

Region whole(std::span<const std::uint64_t> shape) {
  Region region;
  for (const std::uint64_t n : shape) region.push_back({0, n, 1});
  return region;
}

Shape shape_of(const Region& region) {
  Shape shape;
  for (const Range& r : region) shape.push_back(r.count);
  return shape;
}

Result<std::uint64_t> element_count(std::span<const std::uint64_t> shape) {
  // Zero extents first: an empty array with a huge other extent has no elements, not too many.
  for (const std::uint64_t n : shape)
    if (n == 0) return std::uint64_t{0};
  std::uint64_t count = 1;
  for (const std::uint64_t n : shape) {
    PENSTOCK_ASSIGN(count, checked_mul(count, n));
  }
  return count;
}

Result<Strides> c_strides(std::span<const std::uint64_t> shape, std::uint64_t item_bytes) {
  Strides strides(shape.size());
  std::uint64_t step = item_bytes;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (step > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return Error(ErrorCode::out_of_range, "a stride does not fit in 63 bits");
    strides[i] = static_cast<std::int64_t>(step);
    PENSTOCK_ASSIGN(step, checked_mul(step, std::max<std::uint64_t>(shape[i], 1)));
  }
  return strides;
}

Status check_region(const Region& region, std::span<const std::uint64_t> shape) {
  if (region.size() != shape.size())
    return Error(ErrorCode::out_of_range,
                 fmt::format("the region has {} dimensions, the array {}", region.size(), shape.size()));
  for (std::size_t i = 0; i < region.size(); ++i) {
    const Range& r = region[i];
    if (r.count == 0) continue;
    const auto outside = [&] {
      return Error(ErrorCode::out_of_range,
                   fmt::format("dimension {}: start {}, count {}, step {} is outside extent {}", i, r.start, r.count,
                               r.step, shape[i]));
    };
    if (r.step == 0 || r.start >= shape[i]) return outside();
    const std::uint64_t steps = r.count - 1;
    const std::uint64_t room = r.step > 0 ? shape[i] - 1 - r.start : r.start;
    const std::uint64_t stride =
        r.step > 0 ? static_cast<std::uint64_t>(r.step) : std::uint64_t{0} - static_cast<std::uint64_t>(r.step);
    if (steps > room / stride) return outside();
  }
  return {};
}

Result<Selection> parse_selection(std::string_view text, std::span<const std::uint64_t> shape) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = trim(text); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    parts.push_back(trim(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
    if (trim(rest).empty()) break;  // a trailing comma
  }
  std::size_t ellipses = 0;
  for (const std::string_view p : parts) ellipses += p == "...";
  const std::size_t given = parts.size() - ellipses;
  if (ellipses > 1) return syntax(text, "...");
  if (given > shape.size())
    return Error(ErrorCode::out_of_range,
                 fmt::format("region '{}' has {} dimensions, the array {}", text, given, shape.size()));
  Selection selection;
  Region& region = selection.region;
  for (const std::string_view part : parts) {
    if (part == "...") {
      for (std::size_t k = given; k < shape.size(); ++k) region.push_back({0, shape[region.size()], 1});
      continue;
    }
    Index index;
    if (!parse_index(part, index)) return syntax(text, part);
    PENSTOCK_ASSIGN(const Range range, range_of(index, shape[region.size()], region.size()));
    region.push_back(range);
    selection.is_index.resize(region.size(), false);
    selection.is_index.back() = std::holds_alternative<std::int64_t>(index);
  }
  while (region.size() < shape.size()) region.push_back({0, shape[region.size()], 1});
  selection.is_index.resize(region.size(), false);
  return selection;
}

Result<Region> parse_region(std::string_view text, std::span<const std::uint64_t> shape) {
  PENSTOCK_ASSIGN(Selection selection, parse_selection(text, shape));
  return std::move(selection.region);
}

Shape Selection::shape() const {
  Shape kept;
  for (std::size_t d = 0; d < region.size(); ++d)
    if (!is_index[d]) kept.push_back(region[d].count);
  return kept;
}

std::string to_string(std::span<const std::uint64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string to_string(const Region& region) {
  std::string text;
  for (const Range& r : region) {
    if (!text.empty()) text += ", ";
    const std::int64_t stop = static_cast<std::int64_t>(r.start) + static_cast<std::int64_t>(r.count) * r.step;
    if (r.step == 1)
      text += fmt::format("{}:{}", r.start, stop);
    else
      text += fmt::format("{}:{}:{}", r.start, stop < 0 ? "" : std::to_string(stop), r.step);
  }
  return text;
}

}  // namespace penstock
