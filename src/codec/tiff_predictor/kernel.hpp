// Predictors undone by a team, a row at a time: differences are summed 32 pixels at once.
#pragma once
#include <cstdint>
#include <type_traits>

#include "codec/status.hpp"
#include "codec/tiff_predictor/tiff_predictor.hpp"
#include "device/portable.hpp"

namespace penstock::tiff {

/// How rows are stored, for devices: these are little-endian.
struct PredictorKernel {
  PredictorRows rows;
  int predictor = 2;
  bool swaps = false;  ///< predictor 2: the stored items are big-endian
};

/// Sums `items` differences of a row, each to that of the pixel before it, of `samples` samples a pixel.
/// load(i) -> difference; store(i, sum).
template <class Sum, class Team, class Load, class Store>
PENSTOCK_HD void sum_row(const Team& team, std::uint64_t items, std::uint64_t samples, Load load, Store store) {
  const std::uint64_t pixels = items / samples;
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    Sum before = 0;
    PENSTOCK_NO_UNROLL
    for (std::uint64_t first = 0; first < pixels; first += Team::lanes) {
      auto sums = team.inclusive_sum(team.map([&](std::uint32_t lane) {
        return first + lane < pixels ? static_cast<Sum>(load((first + lane) * samples + sample)) : Sum{0};
      }));
      team.each_lane([&](std::uint32_t lane) {
        if (first + lane < pixels)
          store((first + lane) * samples + sample, static_cast<Sum>(before + Team::at(sums, lane)));
      });
      before = static_cast<Sum>(before + team.broadcast(sums, Team::lanes - 1));
    }
  }
}

/// Predictor 2: items of `bytes` bytes.
template <class Sum, class Team>
PENSTOCK_HD void undo_differences_of_row(const Team& team, const PredictorKernel& kernel, const std::uint8_t* in,
                                         std::uint8_t* out) {
  const std::uint32_t bytes = kernel.rows.item_bytes;
  const auto load = [&](std::uint64_t i) {
    Sum value = 0;
    for (std::uint32_t b = 0; b < bytes; ++b)
      value |= static_cast<Sum>(in[i * bytes + b]) << (8 * (kernel.swaps ? bytes - 1 - b : b));
    return value;
  };
  const auto store = [&](std::uint64_t i, Sum value) {
    for (std::uint32_t b = 0; b < bytes; ++b) out[i * bytes + b] = static_cast<std::uint8_t>(value >> (8 * b));
  };
  sum_row<Sum>(team, kernel.rows.row_items, kernel.rows.samples, load, store);
}

/// Predictor 3: bytes by significance, the highest first, summed as bytes and put back into their floats.
template <class Team>
PENSTOCK_HD void undo_float_bytes_of_row(const Team& team, const PredictorKernel& kernel, const std::uint8_t* in,
                                         std::uint8_t* out) {
  const std::uint32_t bytes = kernel.rows.item_bytes;
  const std::uint64_t items = kernel.rows.row_items;
  const auto load = [&](std::uint64_t i) { return static_cast<std::uint32_t>(in[i]); };
  const auto store = [&](std::uint64_t i, std::uint32_t value) {
    out[i % items * bytes + (bytes - 1 - i / items)] = static_cast<std::uint8_t>(value);
  };
  sum_row<std::uint32_t>(team, items * bytes, kernel.rows.samples, load, store);
}

// Rows of one sample a pixel whose bytes are whole words of eight, as nearly all are: a lane takes a word at a time.

/// Item by item, modulo what an item holds.
template <class T>
PENSTOCK_HD std::uint64_t add_items(std::uint64_t a, std::uint64_t b) {
  if constexpr (sizeof(T) == 8) return a + b;
  constexpr std::uint64_t kOnes = ~std::uint64_t{0} / static_cast<T>(~T{0});  // 1 in every item
  constexpr std::uint64_t kHigh = kOnes << (8 * sizeof(T) - 1);
  return ((a & ~kHigh) + (b & ~kHigh)) ^ ((a ^ b) & kHigh);
}
/// Every item and those before it in the word, as a sum.
template <class T>
PENSTOCK_HD std::uint64_t sum_items(std::uint64_t word) {
  PENSTOCK_UNROLL
  for (std::uint32_t shift = 8 * sizeof(T); shift < 64; shift *= 2) word = add_items<T>(word, word << shift);
  return word;
}
template <class T>
PENSTOCK_HD T last_item(std::uint64_t word) {
  return static_cast<T>(word >> (64 - 8 * sizeof(T)));
}
/// The item in every place.
template <class T>
PENSTOCK_HD std::uint64_t repeat_item(T item) {
  return ~std::uint64_t{0} / static_cast<T>(~T{0}) * item;
}
/// Each item with its bytes the other way round.
template <class T>
PENSTOCK_HD std::uint64_t swap_items(std::uint64_t word) {
  constexpr std::uint64_t kBytes = 0x00FF00FF00FF00FF, kPairs = 0x0000FFFF0000FFFF;
  if constexpr (sizeof(T) >= 2) word = (word & kBytes) << 8 | (word >> 8 & kBytes);
  if constexpr (sizeof(T) >= 4) word = (word & kPairs) << 16 | (word >> 16 & kPairs);
  if constexpr (sizeof(T) >= 8) word = word << 32 | word >> 32;
  return word;
}

PENSTOCK_HD bool has_words(const PredictorRows& rows, const void* in, const void* out) {
  // Of predictor 3 each byte of the floats has a part of the row of its own.
  return rows.samples == 1 && rows.row_items % 8 == 0 && misalignment(in, 8) == 0 && misalignment(out, 8) == 0;
}

template <class T, class Team>
PENSTOCK_HD void undo_difference_words(const Team& team, const PredictorKernel& kernel, const std::uint8_t* in,
                                       std::uint8_t* out) {
  const std::uint64_t words = kernel.rows.row_items * sizeof(T) / 8;
  T before = 0;
  PENSTOCK_NO_UNROLL
  for (std::uint64_t first = 0; first < words; first += Team::lanes) {
    auto word = team.map([&](std::uint32_t lane) {
      if (first + lane >= words) return std::uint64_t{0};
      const auto stored = load_aligned<std::uint64_t>(in + 8 * (first + lane));
      return sum_items<T>(kernel.swaps ? swap_items<T>(stored) : stored);
    });
    auto sums = team.inclusive_sum(team.map([&](std::uint32_t lane) {
      using Sum = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
      return static_cast<Sum>(last_item<T>(Team::at(word, lane)));
    }));
    team.each_lane([&](std::uint32_t lane) {
      if (first + lane >= words) return;
      const std::uint64_t mine = Team::at(word, lane);
      const auto base = static_cast<T>(before + Team::at(sums, lane) - last_item<T>(mine));
      store_aligned(out + 8 * (first + lane), add_items<T>(mine, repeat_item<T>(base)));
    });
    before = static_cast<T>(before + team.broadcast(sums, Team::lanes - 1));
  }
}

/// `T`: an unsigned whole number as large as the floats.
template <class T, class Team>
PENSTOCK_HD void undo_float_words(const Team& team, const PredictorKernel& kernel, const std::uint8_t* in,
                                  std::uint8_t* out) {
  constexpr std::uint32_t kBytes = sizeof(T);
  const std::uint64_t items = kernel.rows.row_items, words = items / 8;
  std::uint8_t before[kBytes] = {};  // the sum up to where the loop is, of each byte of the floats, the highest first
  PENSTOCK_UNROLL
  for (std::uint32_t b = 0; b + 1 < kBytes; ++b) {
    auto all = team.inclusive_sum(team.map([&](std::uint32_t lane) {
      std::uint32_t sum = 0;
      for (std::uint64_t w = lane; w < words; w += Team::lanes)
        sum += last_item<std::uint8_t>(sum_items<std::uint8_t>(load_aligned<std::uint64_t>(in + b * items + 8 * w)));
      return sum;
    }));
    before[b + 1] = static_cast<std::uint8_t>(before[b] + team.broadcast(all, Team::lanes - 1));
  }
  PENSTOCK_NO_UNROLL
  for (std::uint64_t first = 0; first < words; first += Team::lanes) {
    typename Team::template var<std::uint64_t> word[kBytes];
    PENSTOCK_UNROLL
    for (std::uint32_t b = 0; b < kBytes; ++b) {
      word[b] = team.map([&](std::uint32_t lane) {
        return first + lane < words
                   ? sum_items<std::uint8_t>(load_aligned<std::uint64_t>(in + b * items + 8 * (first + lane)))
                   : std::uint64_t{0};
      });
      auto sums = team.inclusive_sum(team.map([&](std::uint32_t lane) {
        return static_cast<std::uint32_t>(last_item<std::uint8_t>(Team::at(word[b], lane)));
      }));
      team.each_lane([&](std::uint32_t lane) {
        std::uint64_t& mine = Team::at(word[b], lane);
        const auto base = static_cast<std::uint8_t>(before[b] + Team::at(sums, lane) - last_item<std::uint8_t>(mine));
        mine = add_items<std::uint8_t>(mine, repeat_item<std::uint8_t>(base));
      });
      before[b] = static_cast<std::uint8_t>(before[b] + team.broadcast(sums, Team::lanes - 1));
    }
    team.each_lane([&](std::uint32_t lane) {
      if (first + lane >= words) return;
      PENSTOCK_UNROLL
      for (std::uint32_t w = 0; w < kBytes; ++w) {  // eight floats are kBytes words
        std::uint64_t whole = 0;
        PENSTOCK_UNROLL
        for (std::uint32_t byte = 0; byte < 8; ++byte) {
          const std::uint32_t item = (8 * w + byte) / kBytes, b = kBytes - 1 - byte % kBytes;
          whole |= (Team::at(word[b], lane) >> 8 * item & 0xFF) << 8 * byte;
        }
        store_aligned(out + (first + lane) * 8 * kBytes + 8 * w, whole);
      }
    });
  }
}

/// Whether there was a way by words.
template <class Team>
PENSTOCK_HD bool undo_words_of_row(const Team& team, const PredictorKernel& kernel, const std::uint8_t* in,
                                   std::uint8_t* out) {
  if (!has_words(kernel.rows, in, out)) return false;
  const std::uint32_t bytes = kernel.rows.item_bytes;
  if (kernel.predictor == 3) {
    if (bytes == 2) return undo_float_words<std::uint16_t>(team, kernel, in, out), true;
    if (bytes == 4) return undo_float_words<std::uint32_t>(team, kernel, in, out), true;
    return undo_float_words<std::uint64_t>(team, kernel, in, out), true;
  }
  if (bytes == 1) return undo_difference_words<std::uint8_t>(team, kernel, in, out), true;
  if (bytes == 2) return undo_difference_words<std::uint16_t>(team, kernel, in, out), true;
  if (bytes == 4) return undo_difference_words<std::uint32_t>(team, kernel, in, out), true;
  return undo_difference_words<std::uint64_t>(team, kernel, in, out), true;
}

/// Undoes row `row` of a strip or tile that check_predictor lets through.
template <class Team>
PENSTOCK_HD void undo_row_of_chunk(const Team& team, const PredictorKernel& kernel, const DecodeTask& task,
                                   std::uint64_t row) {
  const std::uint64_t at = row * kernel.rows.row_items * kernel.rows.item_bytes;
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in)) + at;
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out)) + at;
  if (undo_words_of_row(team, kernel, in, out)) return;
  if (kernel.predictor == 3)
    undo_float_bytes_of_row(team, kernel, in, out);
  else if (kernel.rows.item_bytes == 8)
    undo_differences_of_row<std::uint64_t>(team, kernel, in, out);
  else
    undo_differences_of_row<std::uint32_t>(team, kernel, in, out);
}

/// Whether a chunk has the bytes of its rows; only such a one may be undone.
PENSTOCK_HD ChunkStatus check_predictor(const PredictorKernel& kernel, const DecodeTask& task) {
  const std::uint64_t bytes = kernel.rows.rows * kernel.rows.row_items * kernel.rows.item_bytes;
  ChunkStatus result = check_size(task, bytes);
  if (result.status == DecodeStatus::ok && task.out_bytes != bytes) {
    result.status = task.out_bytes < bytes ? DecodeStatus::output_too_small : DecodeStatus::short_output;
    result.output_bytes = 0;
  }
  return result;
}

}  // namespace penstock::tiff
