#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "codec/tiff_predictor/avx2.hpp"
#include "codec/tiff_predictor/sixteen.hpp"
#include "codec/tiff_predictor/tiff_predictor.hpp"

namespace penstock::tiff {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void undo_row(const std::byte* from, std::byte* to, std::uint64_t items, std::uint64_t samples) {
  if (from != to) std::memcpy(to, from, std::min(samples, items) * sizeof(T));
  for (std::uint64_t i = samples; i < items; ++i) {
    const T value = static_cast<T>(load<T>(from + i * sizeof(T)) + load<T>(to + (i - samples) * sizeof(T)));
    std::memcpy(to + i * sizeof(T), &value, sizeof value);
  }
}

/// One sample a pixel, as most rasters have: sixteen bytes or more are summed at a time.
template <class T>
void undo_row_of_one(const std::byte* from, std::byte* to, std::uint64_t items) {
  constexpr std::uint64_t kItems = sizeof(Sixteen) / sizeof(T);
  T sum = 0;
  std::uint64_t i = 0;
  if constexpr (sizeof(T) < 8) i = sum_items_avx2<T>(from, to, items, sum);
  Sixteen before = repeat<T>(sum);  // the sum so far, in every item
  for (; i + kItems <= items; i += kItems) {
    const Sixteen sums = sum_sixteen<T>(load<Sixteen>(from + i * sizeof(T)));
    const Sixteen here = add_sixteen<T>(sums, before);
    std::memcpy(to + i * sizeof(T), &here, sizeof here);
    before = add_sixteen<T>(before, repeat_last<T>(sums));
  }
  sum = load<T>(reinterpret_cast<const std::byte*>(&before));
  for (; i < items; ++i) {
    sum = static_cast<T>(sum + load<T>(from + i * sizeof(T)));
    std::memcpy(to + i * sizeof(T), &sum, sizeof sum);
  }
}

template <class T>
void make_row(std::byte* row, std::uint64_t items, std::uint64_t samples) {
  for (std::uint64_t i = items; i-- > samples;) {
    const T value = static_cast<T>(load<T>(row + i * sizeof(T)) - load<T>(row + (i - samples) * sizeof(T)));
    std::memcpy(row + i * sizeof(T), &value, sizeof value);
  }
}

template <class T>
void undo(const PredictorRows& rows, const std::byte* from, std::byte* to) {
  const std::uint64_t row_bytes = rows.row_items * sizeof(T);
  for (std::uint64_t r = 0; r < rows.rows; ++r, from += row_bytes, to += row_bytes)
    if (rows.samples == 1)
      undo_row_of_one<T>(from, to, rows.row_items);
    else
      undo_row<T>(from, to, rows.row_items, rows.samples);
}

template <class T>
void make(const PredictorRows& rows, std::byte* data) {
  for (std::uint64_t r = 0; r < rows.rows; ++r, data += rows.row_items * sizeof(T))
    make_row<T>(data, rows.row_items, rows.samples);
}

/// Where byte `b` of an item, counted from the highest, lies in native order.
std::uint32_t native_byte(std::uint32_t b, std::uint32_t item_bytes) {
  return std::endian::native == std::endian::little ? item_bytes - 1 - b : b;
}

}  // namespace

void undo_differences(const PredictorRows& rows, const std::byte* stored, std::byte* native) {
  switch (rows.item_bytes) {
    case 1: return undo<std::uint8_t>(rows, stored, native);
    case 2: return undo<std::uint16_t>(rows, stored, native);
    case 4: return undo<std::uint32_t>(rows, stored, native);
    default: return undo<std::uint64_t>(rows, stored, native);
  }
}

void make_differences(const PredictorRows& rows, std::byte* data) {
  switch (rows.item_bytes) {
    case 1: return make<std::uint8_t>(rows, data);
    case 2: return make<std::uint16_t>(rows, data);
    case 4: return make<std::uint32_t>(rows, data);
    default: return make<std::uint64_t>(rows, data);
  }
}

namespace {

/// Items of bytes that lie apart, the highest first: sixteen items at a time.
template <class T>
void join_bytes(const std::byte* row, std::uint64_t items, std::byte* to) {
  constexpr std::uint64_t kItems = sizeof(Sixteen);
  std::uint64_t i = 0;
  if constexpr (sizeof(T) == 4) i = join_four_avx2(row, items, to);
  for (; i + kItems <= items; i += kItems) {
    std::array<Sixteen, sizeof(T)> parts;
    for (std::uint32_t b = 0; b < sizeof(T); ++b)
      parts[b] = load<Sixteen>(row + (sizeof(T) - 1 - b) * items + i);  // the lowest first
    const std::array<Sixteen, sizeof(T)> whole = interleave(parts);
    std::memcpy(to + i * sizeof(T), whole.data(), sizeof whole);
  }
  for (; i < items; ++i) {
    T item = 0;
    for (std::uint32_t b = 0; b < sizeof(T); ++b)
      item = static_cast<T>(item | static_cast<T>(static_cast<T>(row[b * items + i]) << 8 * (sizeof(T) - 1 - b)));
    std::memcpy(to + i * sizeof(T), &item, sizeof item);
  }
}
static_assert(std::endian::native == std::endian::little, "the lowest byte of an item is its first");

}  // namespace

void undo_float_bytes(const PredictorRows& rows, const std::byte* stored, std::byte* native, Bytes& row) {
  const std::uint64_t row_bytes = rows.row_items * rows.item_bytes;
  for (std::uint64_t r = 0; r < rows.rows; ++r, stored += row_bytes, native += row_bytes) {
    undo<std::uint8_t>({1, row_bytes, rows.samples, 1}, stored, row.data());
    if (rows.item_bytes == 2)
      join_bytes<std::uint16_t>(row.data(), rows.row_items, native);
    else if (rows.item_bytes == 4)
      join_bytes<std::uint32_t>(row.data(), rows.row_items, native);
    else
      join_bytes<std::uint64_t>(row.data(), rows.row_items, native);
  }
}

void make_float_bytes(const PredictorRows& rows, const std::byte* native, std::byte* stored) {
  const std::uint64_t row_bytes = rows.row_items * rows.item_bytes;
  for (std::uint64_t r = 0; r < rows.rows; ++r, stored += row_bytes, native += row_bytes) {
    for (std::uint32_t b = 0; b < rows.item_bytes; ++b) {
      const std::byte* const from = native + native_byte(b, rows.item_bytes);
      std::byte* const to = stored + b * rows.row_items;
      for (std::uint64_t i = 0; i < rows.row_items; ++i) to[i] = from[i * rows.item_bytes];
    }
    make<std::uint8_t>({1, row_bytes, rows.samples, 1}, stored);
  }
}

}  // namespace penstock::tiff
