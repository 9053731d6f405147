// Predictors undone by a team, a row at a time: differences are summed 32 pixels at once.
#pragma once
#include <cstdint>

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

/// Undoes row `row` of a strip or tile that check_predictor lets through.
template <class Team>
PENSTOCK_HD void undo_row_of_chunk(const Team& team, const PredictorKernel& kernel, const DecodeTask& task,
                                   std::uint64_t row) {
  const std::uint64_t at = row * kernel.rows.row_items * kernel.rows.item_bytes;
  const auto* const in = assume_global(reinterpret_cast<const std::uint8_t*>(task.in)) + at;
  auto* const out = assume_global(reinterpret_cast<std::uint8_t*>(task.out)) + at;
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
