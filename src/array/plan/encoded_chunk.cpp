#include "array/plan/encoded_chunk.hpp"

#include <fmt/format.h>

namespace penstock {

ByteExtent touched_bytes(const ChunkLayout& layout, std::span<const ChunkSlice> segments, std::uint64_t item_bytes) {
  ByteExtent extent{0, item_bytes};
  for (std::size_t d = 0; d < segments.size(); ++d) {
    const ChunkSlice& s = segments[d];
    const auto stride = static_cast<std::uint64_t>(layout.strides[d]);  // raw strides are never negative
    const std::uint64_t span =
        (s.count - 1) * (s.step > 0 ? static_cast<std::uint64_t>(s.step) : static_cast<std::uint64_t>(-s.step));
    const std::uint64_t low = s.step > 0 ? s.local_start : s.local_start - span;
    extent.first += low * stride;
    extent.last += (low + span) * stride;
  }
  return extent;
}

std::optional<std::uint64_t> max_encoded_bytes(const CodecChain& chain) {
  if (const auto exact = chain.encoded_size()) return exact;
  std::optional<std::uint64_t> size = chain.array_to_bytes().max_encoded_size();
  if (!size) return std::nullopt;
  for (const auto& codec : chain.bytes_codecs()) size = codec->max_encoded_size(*size);
  return *size + *size / 2 + (std::uint64_t{1} << 20);
}

Status check_encoded_size(const CodecChain& chain, std::uint64_t size_bytes) {
  if (const auto exact = chain.encoded_size(); exact && *exact != size_bytes)
    return Error(ErrorCode::corrupt_data, fmt::format("the chunk has {} bytes; it must have {}", size_bytes, *exact));
  if (const auto most = max_encoded_bytes(chain); most && size_bytes > *most)
    return Error(ErrorCode::corrupt_data,
                 fmt::format("the object has {} bytes; a chunk of this array takes at most {}", size_bytes, *most));
  return {};
}

}  // namespace penstock
