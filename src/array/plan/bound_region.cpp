#include "array/plan/bound_region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/checked.hpp"

namespace penstock {

const CodecChain& innermost(const CodecChain& chain) {
  const CodecChain* c = &chain;
  while (const ShardingCodec* sharding = c->sharding()) c = &sharding->inner();
  return *c;
}

Result<std::vector<std::byte>> fill_element(const Dataset& dataset, Arena* arena) {
  const std::size_t item = dataset.dtype.size_bytes;
  std::vector<std::byte> element(item);
  if (!dataset.dtype.is_vlen()) {
    const Kind kind = dataset.dtype.kind;
    if (!dataset.fill.empty()) {
      std::memcpy(element.data(), dataset.fill.data(), item);
    } else if ((kind == Kind::datetime || kind == Kind::timedelta) && item == sizeof(std::int64_t)) {
      constexpr auto not_a_time = std::numeric_limits<std::int64_t>::min();
      std::memcpy(element.data(), &not_a_time, item);
    }
    return element;
  }
  VlenRef ref;
  if (!dataset.fill.empty() && arena != nullptr) {
    PENSTOCK_ASSIGN(Bytes copy, Bytes::copy_of(dataset.fill));
    const ByteView kept = arena->keep(std::move(copy));
    ref = {kept.data(), kept.size()};
  }
  std::memcpy(element.data(), &ref, sizeof ref);
  return element;
}

Result<BoundRegion> BoundRegion::make(const Array& array, const Region& region, const Target& target, Arena* arena) {
  BoundRegion r;
  r.state = ArrayAccess::share(array);
  r.view = r.state->current();
  const Dataset& dataset = r.view->dataset;
  PENSTOCK_TRY(check_region(region, dataset.shape));
  if (dataset.dtype.is_vlen() && arena == nullptr)
    return Error(ErrorCode::invalid_argument, "variable-length elements need an arena to live in");
  r.chain = &innermost(r.view->chain);
  r.region = region;
  PENSTOCK_ASSIGN(r.objects, GridPartition::make(region, dataset.chunk_shape));
  if (r.objects.size() > 0) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    const auto inner = GridPartition::make(region, r.chain->decoded().shape);
    r.chunks = inner ? inner->size() : kMax;
  }
  r.item_bytes = dataset.dtype.size_bytes;
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape_of(region)));
  PENSTOCK_ASSIGN(r.out_bytes, checked_mul(elements, r.item_bytes));
  r.target = static_cast<std::byte*>(target.data);
  r.strides = target.strides;
  if (target.strides.empty()) {
    PENSTOCK_ASSIGN(r.strides, c_strides(shape_of(region), r.item_bytes));
  } else if (target.strides.size() != region.size()) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} strides for {} dimensions", target.strides.size(), region.size()));
  }
  r.arena = arena;
  r.swaps = swap_runs(dataset.dtype);
  PENSTOCK_ASSIGN(r.fill, fill_element(dataset, arena));
  return r;
}

Result<BoundRegion> BoundRegion::make_discarding(const Array& array) {
  Arena arena;  // make() wants one for variable-length elements; each chunk gets its own when it is decoded
  PENSTOCK_ASSIGN(BoundRegion r, make(array, whole(array.dataset().shape), Target{}, &arena));
  r.discards = true;
  r.arena = nullptr;
  return r;
}

std::uint64_t BoundRegion::encoded_bytes() const {
  const std::uint64_t decoded = chain->decoded_size();
  const std::uint64_t encoded = max_encoded_bytes(*chain).value_or(2 * decoded);
  return chain->is_uncompressed() ? decoded : std::min(encoded, decoded + decoded / 8 + 4096);
}

std::uint64_t BoundRegion::bytes_per_worker() const {
  if (chain->is_uncompressed()) return chain->decoded_size();
  return encoded_bytes() + chain->decoded_size() + chain->scratch_bytes();
}

std::byte* BoundRegion::target_of(std::span<const ChunkSlice> slices, std::byte* base) const {
  if (discards) return nullptr;
  for (std::size_t d = 0; d < slices.size(); ++d) base += static_cast<std::int64_t>(slices[d].out_start) * strides[d];
  return base;
}

bool ChunkUse::takes_whole() const {
  const ChunkLayout& layout = chain->chunk_layout();
  if (region->discards || layout.swap || !layout.c_order) return false;
  const Shape& shape = chain->decoded().shape;
  for (std::size_t d = 0; d < slices.size(); ++d) {
    if (slices[d].count != shape[d] || slices[d].step != 1) return false;
    if (shape[d] > 1 && region->strides[d] != layout.strides[d]) return false;
  }
  return true;
}

PlaceItem ChunkUse::item(const std::byte* source, const PartArray& part) const {
  const ChunkLayout& layout = chain->chunk_layout();
  PlaceItem item;
  item.source = source;
  item.source_strides = layout.strides;
  item.part = part;
  item.target = out;
  item.target_strides = region->strides;
  item.item_bytes = static_cast<std::uint32_t>(region->item_bytes);
  if (layout.swap) item.swaps = region->swaps;
  item.fill = region->fill;
  constexpr std::uint64_t kMoreThanCaches = std::uint64_t{64} << 20;
  if (region->out_bytes >= kMoreThanCaches) item.next_use = PlaceItem::NextUse::after_all;
  return item;
}

Status ChunkUse::place(const std::byte* source, Source kind) const {
  if (region->discards) return {};
  PartArray part(slices);
  if (kind == Source::from_front) part.to_front();
  return place_cpu(item(source, part));
}

}  // namespace penstock
