#include "array/device/encode_wave.hpp"

#include <algorithm>
#include <cstring>

#include "array/assemble/place.hpp"
#include "array/device/fill_check.hpp"
#include "array/plan/encoded_chunk.hpp"
#include "codec/bytes/swap.hpp"

namespace penstock::device_write {
namespace {

constexpr std::uint64_t kPackAlign = 16;
constexpr std::uint64_t packed_bytes(std::uint64_t bytes) { return (bytes + kPackAlign - 1) / kPackAlign * kPackAlign; }

Status place(const DeviceSource& source, std::span<const PlaceItem> items, const Stream& stream) {
  if (source.device.type != Device::Type::cpu) return place_cuda(items, stream);
  for (const PlaceItem& item : items) PENSTOCK_TRY(place_cpu(item));
  return {};
}

/// The fill value as it lies in a raw chunk.
std::vector<std::byte> stored_fill(const RegionWriter& writer, const CodecChain& chain) {
  std::vector<std::byte> fill(writer.fill().begin(), writer.fill().end());
  if (chain.chunk_layout().swap) swap_units(ByteSpan(fill), writer.view().dataset.dtype);
  return fill;
}

/// Where the elements of a chunk go in its raw bytes.
struct Placement {
  std::vector<PlaceItem> fills, parts;
  std::vector<std::array<Range, kMaxRank>> ranges;
  std::vector<std::array<std::int64_t, kMaxRank>> strides;
};

PlaceItem fill_item(std::byte* to, const std::vector<std::byte>& fill, const Range& all, const std::int64_t& stride) {
  PlaceItem item;
  item.part = {&all, 1};
  item.target = to;
  item.source_strides = item.target_strides = {&stride, 1};
  item.item_bytes = static_cast<std::uint32_t>(fill.size());
  item.fill = fill;
  return item;
}

}  // namespace

Status ChunkWalk::open_next() {
  open_.reset();
  while (next_object_ < writer_->objects()) {
    PENSTOCK_ASSIGN(RegionWriter::Piece piece, writer_->piece(next_object_++));
    if (!piece.covered) continue;
    open_ = std::make_shared<OpenObject>();
    open_->left = writer_->parts(piece);
    if (writer_->is_sharded()) open_->chunks.resize(writer_->chunks_of_object());
    open_->piece = std::move(piece);
    next_part_ = 0;
    break;
  }
  return {};
}

Result<bool> ChunkWalk::next(Chunk& out) {
  if (!open_ || next_part_ == writer_->parts(open_->piece)) PENSTOCK_TRY(open_next());
  if (!open_) return false;
  out = {writer_->part(open_->piece, next_part_++), open_};
  return true;
}

std::uint64_t wave_device_bytes(const EncodeChain& chain, std::uint32_t count) {
  return EncodeRun(chain, count).device_bytes();
}

std::uint64_t wave_host_bytes(const EncodeChain& chain, std::uint32_t count) {
  return EncodeRun(chain, count).host_bytes() + count * packed_bytes(chain.max_bytes());
}

Status Wave::gather(const RegionWriter& writer, const DeviceSource& source, const EncodeChain& chain,
                    const CancelToken& cancel, bool skip_fill) {
  const auto count = static_cast<std::uint32_t>(chunks.size());
  const CodecChain& codecs = writer.encoder();
  run.emplace(chain, count);
  PENSTOCK_ASSIGN(stream, Stream::create(source.device));
  PENSTOCK_TRY(source.ready.wait_on(stream));
  PENSTOCK_ASSIGN(slab, source.ring->acquire(wave_host_bytes(chain, count), cancel));
  PENSTOCK_ASSIGN(device, source.memory->allocate(run->device_bytes(), kAlign, stream));
  PENSTOCK_TRY(run->begin(slab.data(), device.data(), skip_fill ? kNotEncoded : chain.raw_bytes(), stream));

  const Shape& shape = codecs.decoded().shape;
  const std::vector<std::byte> fill = stored_fill(writer, codecs);
  const std::vector<SwapRun> swaps = swap_runs(writer.view().dataset.dtype);
  const Range all{0, chain.raw_bytes() / fill.size(), 1};
  const auto item_stride = static_cast<std::int64_t>(fill.size());
  Placement p;
  p.ranges.resize(count);
  p.strides.resize(count);
  for (std::uint32_t c = 0; c < count; ++c) {
    PlaceItem item;
    item.source = chunks[c].from;
    item.source_strides = writer.strides();
    item.target = run->raw(c);
    bool full = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const ChunkSlice& s = chunks[c].segments[d];
      const std::int64_t stride = codecs.chunk_layout().strides[d];
      p.ranges[c][d] = {0, s.count, 1};
      p.strides[c][d] = stride * s.step;
      item.target += static_cast<std::int64_t>(s.local_start) * stride;
      full = full && s.count == shape[d];
    }
    item.part = {p.ranges[c].data(), shape.size()};
    item.target_strides = {p.strides[c].data(), shape.size()};
    item.item_bytes = static_cast<std::uint32_t>(fill.size());
    if (codecs.chunk_layout().swap) item.swaps = swaps;
    if (!full) p.fills.push_back(fill_item(run->raw(c), fill, all, item_stride));
    p.parts.push_back(item);
  }
  PENSTOCK_TRY(place(source, p.fills, stream));
  PENSTOCK_TRY(place(source, p.parts, stream));
  if (!skip_fill) return {};
  FillCheck check;
  check.chunks = reinterpret_cast<const std::uint8_t*>(run->raw(0));
  check.stride = static_cast<std::uint64_t>(run->raw(1) - run->raw(0));
  check.chunk_bytes = chain.raw_bytes();
  check.sizes = run->raw_sizes();
  check.item_bytes = static_cast<std::uint32_t>(fill.size());
  for (std::size_t i = 0; i < std::max<std::size_t>(16, fill.size()); ++i)
    check.fill[i] = static_cast<std::uint8_t>(fill[i % fill.size()]);
  if (source.device.type != Device::Type::cpu) return check_fill_cuda(check, count, stream);
  for (std::uint64_t i = 0; i < count * check.vectors(); ++i) check(i);
  return {};
}

Status Wave::encode() {
  PENSTOCK_TRY(run->encode(stream));
  PENSTOCK_ASSIGN(sized, Event::record(stream));
  return {};
}

Status Wave::pack(const DeviceSource& source) {
  PENSTOCK_TRY(sized.synchronize());
  const std::uint32_t count = run->count();
  packed.assign(count, 0);
  std::vector<Range> ranges(count);
  std::vector<PlaceItem> items;
  std::uint64_t at = 0;
  const std::int64_t stride = kPackAlign;
  for (std::uint32_t c = 0; c < count; ++c) {
    if (run->left_out(c)) continue;
    PENSTOCK_ASSIGN_IN(const std::uint64_t bytes, run->encoded_bytes(c), chunks[c].object->piece.key);
    packed[c] = at;
    ranges[c] = {0, packed_bytes(bytes) / kPackAlign, 1};
    PlaceItem item;
    item.source = run->encoded(c);
    item.target = run->free_memory() + at;
    item.part = {&ranges[c], 1};
    item.source_strides = item.target_strides = {&stride, 1};
    item.item_bytes = kPackAlign;
    items.push_back(item);
    at += packed_bytes(bytes);
  }
  PENSTOCK_TRY(place(source, items, stream));
  std::byte* const to = slab.data() + run->host_bytes();
  if (at > 0) PENSTOCK_TRY(copy_async(to, {}, run->free_memory(), source.device, at, stream));
  PENSTOCK_ASSIGN(down, Event::record(stream));
  return {};
}

Result<ByteView> Wave::encoded(std::uint32_t chunk) const {
  if (run->left_out(chunk)) return ByteView{};
  PENSTOCK_ASSIGN(const std::uint64_t bytes, run->encoded_bytes(chunk));
  return ByteView(slab.data() + run->host_bytes() + packed[chunk], bytes);
}

}  // namespace penstock::device_write
