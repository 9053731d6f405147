#include "codec/strided.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace penstock {
namespace {

struct Axis {
  std::uint64_t extent;
  std::int64_t to, from;
};

/// Two innermost loops, in tiles so that both sides stay in cache when their fast axes differ.
template <std::size_t N>
void copy_plane(std::byte* to, const std::byte* from, const Axis& outer, const Axis& inner, std::size_t item) {
  constexpr std::uint64_t kTile = 32;
  for (std::uint64_t i0 = 0; i0 < outer.extent; i0 += kTile) {
    const std::uint64_t i1 = std::min(outer.extent, i0 + kTile);
    for (std::uint64_t j0 = 0; j0 < inner.extent; j0 += kTile) {
      const std::uint64_t j1 = std::min(inner.extent, j0 + kTile);
      for (std::uint64_t i = i0; i < i1; ++i) {
        std::byte* t = to + static_cast<std::int64_t>(i) * outer.to + static_cast<std::int64_t>(j0) * inner.to;
        const std::byte* f =
            from + static_cast<std::int64_t>(i) * outer.from + static_cast<std::int64_t>(j0) * inner.from;
        for (std::uint64_t j = j0; j < j1; ++j, t += inner.to, f += inner.from)
          std::memcpy(t, f, N == 0 ? item : N);  // N fixed: a plain load and store
      }
    }
  }
}

using PlaneCopy = void (*)(std::byte*, const std::byte*, const Axis&, const Axis&, std::size_t);

PlaneCopy plane_copy(std::size_t item) {
  switch (item) {
    case 1: return copy_plane<1>;
    case 2: return copy_plane<2>;
    case 4: return copy_plane<4>;
    case 8: return copy_plane<8>;
    case 16: return copy_plane<16>;
    default: return copy_plane<0>;
  }
}

}  // namespace

void copy_strided(std::byte* to, std::span<const std::int64_t> to_strides, const std::byte* from,
                  std::span<const std::int64_t> from_strides, std::span<const std::uint64_t> shape,
                  std::size_t item_bytes) {
  std::array<Axis, kMaxRank + 2> axes{};
  std::size_t n = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return;
    if (shape[d] > 1) axes[n++] = {shape[d], to_strides[d], from_strides[d]};
  }
  // The target is written in order of its own strides; neighbouring axes that continue each other become one.
  // Insertion: there are few axes, and nothing is allocated.
  for (std::size_t i = 1; i < n; ++i)
    for (std::size_t k = i; k > 0 && std::abs(axes[k - 1].to) < std::abs(axes[k].to); --k)
      std::swap(axes[k - 1], axes[k]);
  std::size_t merged = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Axis& a = axes[i];
    const auto extent = static_cast<std::int64_t>(a.extent);
    if (merged > 0 && axes[merged - 1].to == a.to * extent && axes[merged - 1].from == a.from * extent)
      axes[merged - 1] = {axes[merged - 1].extent * a.extent, a.to, a.from};
    else
      axes[merged++] = a;
  }
  n = merged;
  std::size_t item = item_bytes;  // a contiguous innermost axis is one item
  if (n > 0 && axes[n - 1].to == static_cast<std::int64_t>(item) && axes[n - 1].from == static_cast<std::int64_t>(item))
    item *= axes[--n].extent;
  // The second loop of the plane is the axis along which the source is densest.
  if (n > 2) {
    std::size_t best = n - 2;
    for (std::size_t i = 0; i + 1 < n; ++i)
      if (std::abs(axes[i].from) < std::abs(axes[best].from)) best = i;
    std::rotate(axes.begin() + static_cast<std::ptrdiff_t>(best), axes.begin() + static_cast<std::ptrdiff_t>(best) + 1,
                axes.begin() + static_cast<std::ptrdiff_t>(n) - 1);
  }
  const Axis none{1, 0, 0};
  const Axis inner = n > 0 ? axes[n - 1] : none;
  const Axis outer = n > 1 ? axes[n - 2] : none;
  const std::size_t loops = n > 2 ? n - 2 : 0;
  const PlaneCopy copy = plane_copy(item);
  std::array<std::uint64_t, kMaxRank + 2> at{};
  for (;;) {
    copy(to, from, outer, inner, item);
    std::size_t d = loops;
    for (; d-- > 0;) {
      to += axes[d].to;
      from += axes[d].from;
      if (++at[d] < axes[d].extent) break;
      to -= axes[d].to * static_cast<std::int64_t>(axes[d].extent);
      from -= axes[d].from * static_cast<std::int64_t>(axes[d].extent);
      at[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace penstock
