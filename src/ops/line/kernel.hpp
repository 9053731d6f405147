// Work along one axis: lines of n elements in an array seen as (outer, n, inner), whatever its rank.
//
// What stands at the ends of a line comes from a table (ops/border.hpp): row r of the extended line is row table[r] of
// the box in memory, or the constant where that is -1.  Output row j of a filter is made of the extended rows
// j ... j + taps - 1; a resampled one of two rows with two weights.
//
// Here: the tile of one team, for devices.  The CPU has loops of its own (loops.hpp), of the same arithmetic.
#pragma once
#include <cstdint>
#include <type_traits>

#include "device/portable.hpp"
#include "ops/divide.hpp"
#include "ops/element/kernel.hpp"

namespace penstock::line {

enum class Operation : std::uint32_t {
  correlate,  ///< sum of taps rows times weights
  uniform,    ///< mean of taps rows
  minimum,    ///< of taps rows
  maximum,
  blend,  ///< of rows table[2j] and table[2j + 1], with weights [2j] and [2j + 1]
};

/// The boxes in memory, both packed.
struct Shape3 {
  std::uint64_t outer = 1, in = 1, out = 1, inner = 1;
  PENSTOCK_HD std::uint64_t outputs() const { return outer * out * inner; }
};

/// T: elements in memory; C: the type that is computed in.
template <class T, class C>
struct LineJob {
  Operation operation = Operation::correlate;
  Shape3 shape;
  const T* in = nullptr;
  T* out = nullptr;
  const std::int32_t* table = nullptr;  ///< out + taps - 1 of them; blend: 2 out
  const C* weights = nullptr;           ///< correlate: taps of them; blend: 2 out
  std::uint32_t taps = 1;
  C constant = C(0);

  PENSTOCK_HD C load(std::uint64_t outer, std::uint64_t row, std::uint64_t inner) const {
    const std::int32_t at = table[row];
    return at < 0 ? constant
                  : static_cast<C>(in[(outer * shape.in + static_cast<std::uint64_t>(at)) * shape.inner + inner]);
  }
};

template <class C>
PENSTOCK_HD C smaller(C a, C b) {
  return b < a ? b : a;
}
template <class C>
PENSTOCK_HD C larger(C a, C b) {
  return b > a ? b : a;
}

/// Whether elements are computed on in C: order statistics keep their type, the rest needs fractions.
template <class T, class C>
inline constexpr bool kOrders = std::is_same_v<T, C>;
template <class C>
inline constexpr bool kWeighs = std::is_floating_point_v<C>;

/// One output by itself, straight from memory: for filters too long for a tile, and for blends.
template <class T, class C>
struct LineElement {
  LineJob<T, C> job;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    std::uint64_t inner = i, row = divide(inner, job.shape.inner);
    const std::uint64_t outer = divide(row, job.shape.out);
    job.out[i] = truncated<T>(value(outer, row, inner));
  }

 private:
  PENSTOCK_HD C value(std::uint64_t outer, std::uint64_t row, std::uint64_t inner) const {
    if constexpr (kWeighs<C>) {
      if (job.operation == Operation::blend)
        return job.weights[2 * row] * job.load(outer, 2 * row, inner) +
               job.weights[2 * row + 1] * job.load(outer, 2 * row + 1, inner);
      if (job.operation == Operation::correlate || job.operation == Operation::uniform) {
        C sum = 0;
        for (std::uint32_t t = 0; t < job.taps; ++t) {
          const C v = job.load(outer, row + t, inner);
          sum += job.operation == Operation::uniform ? v : job.weights[t] * v;
        }
        return job.operation == Operation::uniform ? sum / static_cast<C>(job.taps) : sum;
      }
    }
    C best = job.load(outer, row, inner);
    for (std::uint32_t t = 1; t < job.taps; ++t) {
      const C v = job.load(outer, row + t, inner);
      best = job.operation == Operation::minimum ? smaller(best, v) : larger(best, v);
    }
    return best;
  }
};

/// How the lines are cut into tiles: `width` lines and `rows` outputs of each.
struct TileShape {
  static constexpr std::uint32_t width = 32;
  static constexpr std::uint32_t each = 8;  ///< neighbouring outputs that a lane makes, so that it loads a row once
  std::uint32_t rows = 64;                  ///< a multiple of `each`
  std::uint32_t taps = 1;

  [[nodiscard]] PENSTOCK_HD std::uint32_t in_rows() const { return rows + taps - 1; }
  /// One column more than lines, so that neither the lines nor the rows of a warp fall into one bank.
  static constexpr std::uint32_t pitch = width + 1;
  /// Of shared memory: what is read and, where lines lie along memory, what is made.
  [[nodiscard]] PENSTOCK_HD std::uint32_t elements(const Shape3& shape) const {
    return (in_rows() + (shape.inner == 1 ? rows : 0)) * pitch;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t tiles(const Shape3& shape) const {
    return ((shape.outer * shape.inner + width - 1) / width) * ((shape.out + rows - 1) / rows);
  }
};

/// `each` outputs of one line, from its extended rows in shared memory, to put(k, output k).
template <class T, class C, class Put>
PENSTOCK_HD void make_outputs(const LineJob<T, C>& job, const C* rows, std::uint32_t pitch, const Put& put) {
  constexpr std::uint32_t kEach = TileShape::each;
  C sum[kEach], window[kEach];
  PENSTOCK_UNROLL
  for (std::uint32_t k = 0; k < kEach; ++k) window[k] = rows[k * pitch];
  PENSTOCK_UNROLL
  for (std::uint32_t k = 0; k < kEach; ++k) sum[k] = C(0);
  const std::uint32_t taps = job.taps;
  if constexpr (kWeighs<C>) {
    if (job.operation == Operation::correlate || job.operation == Operation::uniform) {
      const bool weigh = job.operation == Operation::correlate;
      // In step u the row t + u + k stands in window[(u + k) % kEach].
      const auto add = [&](std::uint32_t t, std::uint32_t u) {
        const C w = weigh ? job.weights[t + u] : C(1);
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kEach; ++k) sum[k] += w * window[(u + k) % kEach];
      };
      std::uint32_t t = 0;
      for (; t + kEach < taps; t += kEach) {  // without a question, so that the weights are read ahead
        PENSTOCK_UNROLL
        for (std::uint32_t u = 0; u < kEach; ++u) {
          add(t, u);
          window[u] = rows[(t + u + kEach) * pitch];
        }
      }
      PENSTOCK_UNROLL
      for (std::uint32_t u = 0; u < kEach; ++u) {
        if (t + u < taps) add(t, u);
        if (t + u + 1 < taps) window[u] = rows[(t + u + kEach) * pitch];
      }
      const C scale = weigh ? C(1) : static_cast<C>(taps);
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kEach; ++k) put(k, weigh ? sum[k] : sum[k] / scale);
      return;
    }
  }
  const bool least = job.operation == Operation::minimum;
  PENSTOCK_UNROLL
  for (std::uint32_t k = 0; k < kEach; ++k) sum[k] = window[k];
  for (std::uint32_t t = 1; t < taps; t += kEach) {
    // In step u the row t + u + k stands in window[(1 + u + k) % kEach].
    PENSTOCK_UNROLL
    for (std::uint32_t u = 0; u < kEach; ++u) {
      if (t + u < taps) {
        window[u] = rows[(t + u + kEach - 1) * pitch];
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kEach; ++k) {
          const C v = window[(1 + u + k) % kEach];
          sum[k] = least ? smaller(sum[k], v) : larger(sum[k], v);
        }
      }
    }
  }
  PENSTOCK_UNROLL
  for (std::uint32_t k = 0; k < kEach; ++k) put(k, sum[k]);
}

/// Loads of a lane that are under way at once.
inline constexpr std::uint32_t kAhead = 4;

/// Extended rows [first, first + rows) of some lines into shared memory.  Where a line's neighbours lie beside it in
/// memory the lanes are lines, else (inner is 1) they follow each other along the rows.  What belongs to a line is
/// found once: an index costs a device more than an element.
template <class Team, class T, class C>
PENSTOCK_HD void load_tile(const Team& team, const LineJob<T, C>& job, std::uint64_t first_line, std::uint32_t lines,
                           std::uint64_t first, std::uint32_t rows, C* shared) {
  constexpr std::uint32_t kWidth = TileShape::width, kPitch = TileShape::pitch, kStep = Team::lanes / kWidth;
  const Shape3& array = job.shape;
  const std::int32_t* const table = job.table + first;
  const auto load_rows = [&](const T* base, std::uint32_t line, std::uint32_t row, std::uint32_t step) {
    for (; row < rows; row += kAhead * step) {
      C values[kAhead] = {};
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kAhead; ++k) {
        if (row + k * step >= rows) break;
        const std::int32_t at = table[row + k * step];
        values[k] = at < 0 ? job.constant : static_cast<C>(base[static_cast<std::uint64_t>(at) * array.inner]);
      }
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kAhead; ++k)
        if (row + k * step < rows) shared[(row + k * step) * kPitch + line] = values[k];
    }
  };
  team.each_lane([&](std::uint32_t lane) {
    if (array.inner == 1) {
      for (std::uint32_t line = lane / kWidth; line < lines; line += kStep)
        load_rows(job.in + (first_line + line) * array.in, line, lane % kWidth, kWidth);
      return;
    }
    const std::uint32_t line = lane % kWidth;
    if (line >= lines) return;
    std::uint64_t inner = first_line + line;
    const std::uint64_t outer = divide(inner, array.inner);
    load_rows(job.in + outer * array.in * array.inner + inner, line, lane / kWidth, kStep);
  });
}

/// The outputs [first, first + rows) of some lines that lie along memory, from shared memory.
template <class Team, class T, class C>
PENSTOCK_HD void store_tile(const Team& team, const LineJob<T, C>& job, std::uint64_t first_line, std::uint32_t lines,
                            std::uint64_t first, std::uint32_t rows, const C* made) {
  constexpr std::uint32_t kWidth = TileShape::width, kPitch = TileShape::pitch, kStep = Team::lanes / kWidth;
  team.each_lane([&](std::uint32_t lane) {
    for (std::uint32_t line = lane / kWidth; line < lines; line += kStep) {
      T* const out = job.out + (first_line + line) * job.shape.out + first;
      for (std::uint32_t row = lane % kWidth; row < rows; row += kWidth)
        out[row] = truncated<T>(made[row * kPitch + line]);
    }
  });
}

/// Tile number `tile`; `shared`: shape.elements(job.shape) of C; the team has whole warps.
template <class Team, class T, class C>
PENSTOCK_HD void line_tile(const Team& team, const LineJob<T, C>& job, const TileShape& shape, std::uint64_t tile,
                           C* shared) {
  constexpr std::uint32_t kWidth = TileShape::width, kPitch = TileShape::pitch, kEach = TileShape::each;
  const Shape3& array = job.shape;
  const std::uint64_t segments = (array.out + shape.rows - 1) / shape.rows;
  const std::uint64_t first_line = tile / segments * kWidth, first_row = tile % segments * shape.rows;
  const std::uint64_t lines_left = array.outer * array.inner - first_line, rows_left = array.out - first_row;
  const std::uint32_t lines = lines_left < kWidth ? static_cast<std::uint32_t>(lines_left) : kWidth;
  const std::uint32_t rows = rows_left < shape.rows ? static_cast<std::uint32_t>(rows_left) : shape.rows;
  load_tile(team, job, first_line, lines, first_row, rows + job.taps - 1, shared);
  C* const made = shared + static_cast<std::size_t>(shape.in_rows()) * kPitch;
  const bool columns = array.inner > 1;
  // Of the last tile of a line more is made than there is, of what lies in shared memory; it is not stored.
  team.for_each((rows + kEach - 1) / kEach * kWidth, [&](std::uint32_t i) {
    const std::uint32_t line = i % kWidth, row = i / kWidth * kEach;
    if (line >= lines) return;
    std::uint64_t inner = first_line + line;
    const std::uint64_t outer = columns ? divide(inner, array.inner) : 0;
    T* const out = job.out + (outer * array.out + first_row + row) * array.inner + inner;
    make_outputs(job, shared + row * kPitch + line, kPitch, [&](std::uint32_t k, C value) {
      if (!columns)
        made[(row + k) * kPitch + line] = value;
      else if (row + k < rows)  // the lanes are lines, which lie side by side in memory
        out[k * array.inner] = truncated<T>(value);
    });
  });
  if (!columns) store_tile(team, job, first_line, lines, first_row, rows, made);
}

}  // namespace penstock::line
