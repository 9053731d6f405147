#include <bit>
#include <cstring>

#include "codec/tiff_predictor/kernel.hpp"
#include "codec/tiff_predictor/tiff_predictor.hpp"

namespace penstock::tiff {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// `first`, `last` of the items of a row that have one before them, from the front.
template <class T>
void undo_row(std::byte* row, std::uint64_t items, std::uint64_t samples) {
  for (std::uint64_t i = samples; i < items; ++i) {
    const T value = static_cast<T>(load<T>(row + i * sizeof(T)) + load<T>(row + (i - samples) * sizeof(T)));
    std::memcpy(row + i * sizeof(T), &value, sizeof value);
  }
}

/// One sample a pixel, as most rasters have: the sum stays in a register.
template <class T>
void undo_row_of_one(std::byte* row, std::uint64_t items) {
  T sum = 0;
  for (std::uint64_t i = 0; i < items; ++i) {
    sum = static_cast<T>(sum + load<T>(row + i * sizeof(T)));
    std::memcpy(row + i * sizeof(T), &sum, sizeof sum);
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
void undo(const PredictorRows& rows, std::byte* data) {
  for (std::uint64_t r = 0; r < rows.rows; ++r, data += rows.row_items * sizeof(T))
    if (rows.samples == 1)
      undo_row_of_one<T>(data, rows.row_items);
    else
      undo_row<T>(data, rows.row_items, rows.samples);
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

void undo_differences(const PredictorRows& rows, std::byte* data) {
  switch (rows.item_bytes) {
    case 1: return undo<std::uint8_t>(rows, data);
    case 2: return undo<std::uint16_t>(rows, data);
    case 4: return undo<std::uint32_t>(rows, data);
    default: return undo<std::uint64_t>(rows, data);
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

/// Differences of bytes of a row of one sample a pixel, eight at a time.
void undo_bytes(std::byte* row, std::uint64_t bytes) {
  std::uint64_t i = 0;
  std::uint8_t sum = 0;
  for (; i + 8 <= bytes; i += 8) {
    const std::uint64_t word =
        add_items<std::uint8_t>(sum_items<std::uint8_t>(load<std::uint64_t>(row + i)), repeat_item<std::uint8_t>(sum));
    std::memcpy(row + i, &word, sizeof word);
    sum = last_item<std::uint8_t>(word);
  }
  for (; i < bytes; ++i) {
    sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(row[i]));
    row[i] = static_cast<std::byte>(sum);
  }
}
static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");

/// Items of bytes that lie apart, the highest first.
template <class T>
void join_bytes(const std::byte* row, std::uint64_t items, std::byte* to) {
  for (std::uint64_t i = 0; i < items; ++i) {
    T item = 0;
    for (std::uint32_t b = 0; b < sizeof(T); ++b)
      item = static_cast<T>(item | static_cast<T>(static_cast<T>(row[b * items + i]) << 8 * (sizeof(T) - 1 - b)));
    std::memcpy(to + i * sizeof(T), &item, sizeof item);
  }
}

}  // namespace

void undo_float_bytes(const PredictorRows& rows, const std::byte* stored, std::byte* native, Bytes& row) {
  const std::uint64_t row_bytes = rows.row_items * rows.item_bytes;
  for (std::uint64_t r = 0; r < rows.rows; ++r, stored += row_bytes, native += row_bytes) {
    std::memcpy(row.data(), stored, row_bytes);
    if (rows.samples == 1)
      undo_bytes(row.data(), row_bytes);
    else
      undo<std::uint8_t>({1, row_bytes, rows.samples, 1}, row.data());
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
