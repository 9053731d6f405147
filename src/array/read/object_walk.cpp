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
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    parts_.push_back(wanted[i].part);
    const bool last =
        i + 1 == wanted.size() || order(wanted[i], wanted[i + 1], coordinates) != std::strong_ordering::equal;
    if (last) ends_.push_back(i + 1);
  }
}

std::shared_ptr<ObjectWalk::Stretch> ObjectWalk::begin_stretch() {
  return stretches_.emplace_back(std::make_shared<Stretch>());
}

std::vector<Part> ObjectWalk::parts_of(std::uint64_t object) const {
  if (regions_.size() == 1) return {{&regions_.front(), object}};
  const auto begin = parts_.begin();
  const std::size_t first = object == 0 ? 0 : ends_[object - 1], last = ends_[object];
  return {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)};
}

bool ObjectWalk::find_more(Stretch& mine) {
  Stretch* longest = nullptr;
  for (const auto& other : stretches_)
    if (longest == nullptr || other->last - other->next > longest->last - longest->next) longest = other.get();
  if (longest != nullptr && longest->next < longest->last) {
    const std::uint64_t middle = longest->next + (longest->last - longest->next) / 2;
    mine = {middle, longest->last};
    longest->last = middle;
    return true;
  }
  if (regions_.size() == 1) {
    mine = {0, begun_ ? 0 : regions_.front().objects.size()};
    begun_ = true;
  } else {
    sort_some();  // all of the last ones are taken
    mine = {0, ends_.size()};
  }
  return mine.next < mine.last;
}

std::vector<Part> ObjectWalk::next(Stretch& mine) {
  if (mine.next == mine.last && !find_more(mine)) return {};
  return parts_of(mine.next++);
}

}  // namespace penstock
