#include <fmt/format.h>

#include <cstring>

#include "codec/vlen_bytes/vlen.hpp"
#include "core/checked.hpp"

namespace penstock {
namespace {

std::uint32_t load_u32(const std::byte* at) {
  const auto byte = [&](int i) { return static_cast<std::uint32_t>(at[i]); };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}

void store_u32(std::byte* at, std::uint64_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

VlenRef load_ref(ByteView elements, std::size_t i) {
  VlenRef ref;
  std::memcpy(&ref, elements.data() + i * sizeof ref, sizeof ref);
  return ref;
}

Error truncated(std::uint64_t element, std::uint64_t at, std::uint64_t needed, std::uint64_t size) {
  return {ErrorCode::corrupt_data, fmt::format("element {}: {} bytes are needed at byte {}, the chunk ends at byte {}",
                                               element, needed, at, size)};
}

/// Checks every length and the end; gives the number of bytes of all elements together.
Result<std::uint64_t> measure(ByteView in, std::uint64_t count) {
  if (in.size() < 4) return Error(ErrorCode::corrupt_data, fmt::format("{} bytes, the count needs 4", in.size()));
  const std::uint32_t said = load_u32(in.data());
  if (said != count)
    return Error(ErrorCode::corrupt_data, fmt::format("{} elements expected, byte 0 says {}", count, said));
  std::uint64_t at = 4;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (in.size() - at < 4) return truncated(i, at, 4, in.size());
    const std::uint32_t length = load_u32(in.data() + at);
    at += 4;
    if (in.size() - at < length) return truncated(i, at, length, in.size());
    at += length;
    total += length;
  }
  if (at != in.size())
    return Error(ErrorCode::corrupt_data, fmt::format("{} bytes too many from byte {} on", in.size() - at, at));
  return total;
}

}  // namespace

Status encode_vlen(ByteView in, Bytes& out) {
  const std::uint64_t count = in.size() / sizeof(VlenRef);
  if (count > UINT32_MAX)
    return Error(ErrorCode::out_of_range, fmt::format("{} elements in a chunk, the format holds 2^32 - 1", count));
  std::uint64_t bytes = 4;
  for (std::uint64_t i = 0; i < count; ++i) {
    const VlenRef ref = load_ref(in, i);
    if (ref.size > UINT32_MAX)
      return Error(ErrorCode::out_of_range,
                   fmt::format("element {} has {} bytes, the format holds 2^32 - 1", i, ref.size));
    PENSTOCK_ASSIGN(bytes, checked_add(bytes, ref.size + 4));
  }
  PENSTOCK_TRY(out.resize_discard(bytes));
  std::byte* at = out.data();
  store_u32(at, count);
  at += 4;
  for (std::uint64_t i = 0; i < count; ++i) {
    const VlenRef ref = load_ref(in, i);
    store_u32(at, ref.size);
    if (ref.size > 0) std::memcpy(at + 4, ref.data, ref.size);
    at += 4 + ref.size;
  }
  return {};
}

Status decode_vlen(ByteView in, ByteSpan out, Arena& arena) {
  const std::uint64_t count = out.size() / sizeof(VlenRef);
  PENSTOCK_ASSIGN(const std::uint64_t total, measure(in, count));
  Bytes block;
  PENSTOCK_TRY(block.resize_discard(total));
  std::byte* to = block.data();
  const std::byte* from = in.data() + 4;
  for (std::uint64_t i = 0; i < count; ++i) {
    const VlenRef ref{to, load_u32(from)};
    if (ref.size > 0) std::memcpy(to, from + 4, ref.size);
    std::memcpy(out.data() + i * sizeof ref, &ref, sizeof ref);
    from += 4 + ref.size;
    to += ref.size;
  }
  if (total > 0) arena.keep(std::move(block));  // moving a block does not move its memory
  return {};
}

}  // namespace penstock
