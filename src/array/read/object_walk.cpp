#include "array/read/object_walk.hpp"

#include <algorithm>
#include <compare>
#include <span>

namespace penstock {
namespace {

constexpr std::size_t kBatch = 32768;  // parts; their lists take a few MB

/// A part, and where the coordinates of its object begin in a list.
struct Wanted {
  Part part;
  std::size_t object;
};

std::strong_ordering order(const Wanted& a, const Wanted& b, std::span<const std::uint64_t> coordinates) {
  const BoundRegion &x = *a.part.region, &y = *b.part.region;
  if (const auto by_array = x.state.get() <=> y.state.get(); by_array != 0) return by_array;
  if (const auto by_view = x.view.get() <=> y.view.get(); by_view != 0) return by_view;  // resized in between
  const auto p = coordinates.subspan(a.object, x.rank()), q = coordinates.subspan(b.object, x.rank());
  return std::lexicographical_compare_three_way(p.begin(), p.end(), q.begin(), q.end());
}

}  // namespace

void ObjectWalk::sort_some() {
  std::vector<Wanted> wanted;
  std::vector<std::uint64_t> coordinates;
  ChunkSliceArray buffer;
  while (wanted.size() < kBatch && region_ < regions_.size()) {
    const BoundRegion& region = regions_[region_];
    if (object_ == region.objects.size()) {
      ++region_;
      object_ = 0;
      continue;
    }
    const std::span<ChunkSlice> slices(buffer.data(), region.rank());
    region.objects.get(object_, slices);
    wanted.push_back({{&region, object_++}, coordinates.size()});
    for (const ChunkSlice& s : slices) coordinates.push_back(s.chunk);
  }
  std::sort(wanted.begin(), wanted.end(),
            [&](const Wanted& a, const Wanted& b) { return order(a, b, coordinates) == std::strong_ordering::less; });
  parts_.clear();
  ends_.clear();
  group_ = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    parts_.push_back(wanted[i].part);
    const bool last =
        i + 1 == wanted.size() || order(wanted[i], wanted[i + 1], coordinates) != std::strong_ordering::equal;
    if (last) ends_.push_back(i + 1);
  }
}

std::vector<Part> ObjectWalk::next() {
  if (regions_.size() == 1) {
    if (object_ == regions_.front().objects.size()) return {};
    return {{&regions_.front(), object_++}};
  }
  if (group_ == ends_.size()) sort_some();
  if (group_ == ends_.size()) return {};
  const auto begin = parts_.begin();
  const std::size_t first = group_ == 0 ? 0 : ends_[group_ - 1], last = ends_[group_++];
  return {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)};
}

}  // namespace penstock
