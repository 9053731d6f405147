#include "ops/border.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/suggest.hpp"

namespace penstock {

Result<Border> parse_border(std::string_view name) {
  struct Name {
    std::string_view name;
    Border border;
  };
  static constexpr Name names[] = {
      {"reflect", Border::reflect},        {"mirror", Border::mirror},  {"nearest", Border::nearest},
      {"constant", Border::constant},      {"wrap", Border::wrap},      {"grid-mirror", Border::reflect},
      {"grid-constant", Border::constant}, {"grid-wrap", Border::wrap},
  };
  std::vector<std::string> known;
  for (const Name& n : names) {
    if (n.name == name) return n.border;
    known.emplace_back(n.name);
  }
  return Error(ErrorCode::invalid_argument, fmt::format("no mode '{}'.{}", name, did_you_mean(name, known)))
      .set_hint(fmt::format("Modes are {}.", fmt::join(known, ", ")));
}

std::int64_t border_index(std::int64_t at, std::int64_t extent, Border border) {
  if (at >= 0 && at < extent) return at;
  const auto modulo = [](std::int64_t a, std::int64_t n) { return a % n + (a % n < 0 ? n : 0); };
  switch (border) {
    case Border::constant: return -1;
    case Border::nearest: return at < 0 ? 0 : extent - 1;
    case Border::wrap: return modulo(at, extent);
    case Border::reflect: {
      const std::int64_t i = modulo(at, 2 * extent);
      return i < extent ? i : 2 * extent - 1 - i;
    }
    case Border::mirror: {
      if (extent == 1) return 0;
      const std::int64_t i = modulo(at, 2 * extent - 2);
      return i < extent ? i : 2 * extent - 2 - i;
    }
  }
  return -1;
}

Result<std::vector<std::int32_t>> border_table(std::int64_t first, std::uint64_t count, std::uint64_t extent,
                                               std::uint64_t origin, Border border) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto too_long = [&] {
    return Error(ErrorCode::out_of_range,
                 fmt::format("a box with more than {} elements along an axis of {}", kMost, extent));
  };
  if (count > static_cast<std::uint64_t>(kMost)) return too_long();
  std::vector<std::int32_t> table(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t index =
        border_index(first + static_cast<std::int64_t>(i), static_cast<std::int64_t>(extent), border);
    const std::int64_t in_box = index - static_cast<std::int64_t>(origin);
    if (index >= 0 && in_box > kMost) return too_long();
    table[i] = index < 0 ? -1 : static_cast<std::int32_t>(in_box);
  }
  return table;
}

Range border_range(std::int64_t first, std::int64_t last, std::uint64_t extent, Border border) {
  const auto n = static_cast<std::int64_t>(extent);
  if (n == 0) return {0, 0, 1};
  std::int64_t low = std::clamp<std::int64_t>(first, 0, n - 1), high = std::clamp<std::int64_t>(last, 0, n - 1);
  // More than an extent outside: every element stands there, if it is not the constant or the end.
  const auto outside = [&](std::int64_t from, std::int64_t to) {
    if (from > to || border == Border::constant || border == Border::nearest) return;
    if (to - from >= n) {
      low = 0, high = n - 1;
      return;
    }
    for (std::int64_t at = from; at <= to; ++at) {
      const std::int64_t index = border_index(at, n, border);
      low = std::min(low, index), high = std::max(high, index);
    }
  };
  outside(first, std::min<std::int64_t>(last, -1));
  outside(std::max(first, n), last);
  return {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low + 1), 1};
}

}  // namespace penstock
