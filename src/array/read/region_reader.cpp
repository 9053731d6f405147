#include "array/read/region_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "array/read/encoded_chunk.hpp"

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

Result<RegionReader> RegionReader::make(const Array& array, const Region& region, const Target& target, Arena* arena) {
  RegionReader reader;
  Array::State& state = ArrayAccess::state(array);
  reader.view_ = state.current();
  const Dataset& dataset = reader.view_->dataset;
  PENSTOCK_TRY(check_region(region, dataset.shape));
  if (dataset.dtype.is_vlen() && arena == nullptr)
    return Error(ErrorCode::invalid_argument, "variable-length elements need an arena to live in");
  reader.state_ = ArrayAccess::share(array);
  PENSTOCK_ASSIGN(reader.cut_, GridPartition::make(region, dataset.chunk_shape));
  reader.data_ = static_cast<std::byte*>(target.data);
  reader.strides_ = target.strides;
  if (target.strides.empty()) {
    PENSTOCK_ASSIGN(reader.strides_, c_strides(shape_of(region), dataset.dtype.size_bytes));
  } else if (target.strides.size() != region.size()) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} strides for {} dimensions", target.strides.size(), region.size()));
  }
  reader.arena_ = arena;
  reader.swaps_ = swap_runs(dataset.dtype);
  PENSTOCK_ASSIGN(reader.fill_, fill_element(dataset, arena));
  return reader;
}

Result<RegionReader> RegionReader::make_discarding(const Array& array) {
  Arena arena;  // make() wants one for variable-length elements; each chunk gets its own below
  PENSTOCK_ASSIGN(RegionReader reader, make(array, whole(array.dataset().shape), Target{}, &arena));
  reader.discard_ = true;
  reader.arena_ = nullptr;
  return reader;
}

std::uint64_t RegionReader::bytes_per_worker() const {
  const CodecChain& chain = innermost(view_->chain);
  const std::uint64_t decoded = chain.decoded_size();
  if (chain.is_uncompressed()) return decoded;
  const std::uint64_t encoded = max_encoded_bytes(chain).value_or(2 * decoded);
  return std::min(encoded, decoded + decoded / 8 + 4096) + decoded + chain.scratch_bytes();
}

std::byte* RegionReader::locate(std::uint64_t i, std::span<ChunkSlice> segments) const {
  cut_.get(i, segments);
  return target_of(segments, data_);
}

std::byte* RegionReader::target_of(std::span<const ChunkSlice> segments, std::byte* base) const {
  if (discard_) return nullptr;
  for (std::size_t d = 0; d < segments.size(); ++d)
    base += static_cast<std::int64_t>(segments[d].out_start) * strides_[d];
  return base;
}

bool RegionReader::takes_whole(const CodecChain& chain, std::span<const ChunkSlice> segments) const {
  const ChunkLayout& layout = chain.chunk_layout();
  if (discard_ || layout.swap || !layout.c_order) return false;
  const Shape& shape = chain.decoded().shape;
  for (std::size_t d = 0; d < segments.size(); ++d) {
    if (segments[d].count != shape[d] || segments[d].step != 1) return false;
    if (shape[d] > 1 && strides_[d] != layout.strides[d]) return false;
  }
  return true;
}

Status RegionReader::place(const std::byte* raw, const ChunkLayout& layout, std::span<const Range> part,
                           std::byte* out) const {
  if (discard_) return {};
  PlaceItem item;
  item.source = raw;
  item.source_strides = layout.strides;
  item.part = part;
  item.target = out;
  item.target_strides = strides_;
  item.item_bytes = view_->dataset.dtype.size_bytes;
  if (layout.swap) item.swaps = swaps_;
  item.fill = fill_;
  return place_cpu(item);
}

Status RegionReader::place_fill(std::span<const ChunkSlice> segments, std::byte* out) const {
  return place(nullptr, view_->chain.chunk_layout(), PartArray(segments), out);
}

}  // namespace penstock
