#include "codec/bytes/swap.hpp"

#include <bit>
#include <cstring>

namespace penstock {
namespace {

template <class T>
T reversed(T value) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

/// `out` may be `in`; memcpy because elements of structures are not aligned.
template <class T>
void swap_all(const std::byte* in, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof(T), sizeof(T));
    value = reversed(value);
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

void swap_run(const std::byte* in, std::byte* out, std::size_t bytes, std::uint32_t unit) {
  switch (unit) {
    case 2: return swap_all<std::uint16_t>(in, out, bytes / 2);
    case 4: return swap_all<std::uint32_t>(in, out, bytes / 4);
    case 8: return swap_all<std::uint64_t>(in, out, bytes / 8);
    default:
      if (in != out && bytes > 0) std::memcpy(out, in, bytes);
  }
}

/// One field of every element, in place.
void swap_field(std::byte* data, std::size_t count, std::size_t stride, const DType& dtype, std::size_t repeat) {
  if (dtype.kind != Kind::structure) {
    if (dtype.swap_unit() <= 1) return;
    for (std::size_t i = 0; i < count; ++i)
      swap_run(data + i * stride, data + i * stride, repeat * dtype.size_bytes, dtype.swap_unit());
    return;
  }
  for (std::size_t r = 0; r < repeat; ++r) {
    for (const Field& field : dtype.fields) {
      std::size_t times = 1;
      for (const std::uint64_t extent : field.shape) times *= extent;
      swap_field(data + r * dtype.size_bytes + field.offset_bytes, count, stride, field.dtype, times);
    }
  }
}

}  // namespace

void swap_units(ByteSpan data, const DType& dtype) {
  if (dtype.kind != Kind::structure) return swap_run(data.data(), data.data(), data.size(), dtype.swap_unit());
  if (dtype.size_bytes == 0) return;
  swap_field(data.data(), data.size() / dtype.size_bytes, dtype.size_bytes, dtype, 1);
}

void swap_units(ByteView in, ByteSpan out, const DType& dtype) {
  if (dtype.kind != Kind::structure) return swap_run(in.data(), out.data(), in.size(), dtype.swap_unit());
  if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
  swap_units(out, dtype);
}

bool has_byte_order(const DType& dtype) {
  if (dtype.kind != Kind::structure) return dtype.swap_unit() > 1;
  for (const Field& field : dtype.fields)
    if (has_byte_order(field.dtype)) return true;
  return false;
}

}  // namespace penstock
