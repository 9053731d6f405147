// The loops of the CPU over small boxes; included once for each set of instructions (ops/isa.hpp), so it has no guard.
namespace penstock::line::PENSTOCK_ISA {

/// to[x] = the better of a[x], b[x] and c[x]; a pointer twice costs nothing but time.
template <bool kLeast, class T>
void best_of_rows(const T* a, const T* b, const T* c, T* __restrict to, std::size_t count) {
  for (std::size_t x = 0; x < count; ++x) {
    const T ab = better<kLeast>(a[x], b[x]);
    to[x] = better<kLeast>(ab, c[x]);
  }
}

/// One row of a plane: the better of the rows under the second axis' filter, then along the third.
template <bool kLeast, class T>
void best_row(const BoxJob<T>& job, const Run& run, const T* plane, std::uint64_t y, T* wide, T* to) {
  const std::size_t inner = job.inner, extent = job.in_extent[2] * inner;
  const std::uint32_t taps = job.taps[1];
  const T* row[kMaxBoxTaps];
  bool beyond = false;
  std::uint32_t rows = 0;
  for (std::uint32_t t = 0; t < taps; ++t) {
    const std::int32_t at = job.table[1][y + t];
    if (at < 0)
      beyond = true;
    else
      row[rows++] = plane + static_cast<std::size_t>(at) * extent;
  }
  const std::size_t width = (job.out_extent[2] + job.taps[2] - 1) * inner;
  if (rows == 0) {
    std::fill_n(wide, width, job.constant);
  } else {
    for (std::uint32_t t = rows; t < kMaxBoxTaps; ++t) row[t] = row[0];
    T* const body = wide + run.first * inner;
    const std::size_t from = run.from * inner, count = run.count * inner;
    best_of_rows<kLeast>(row[0] + from, row[1] + from, row[2] + from, body, count);
    if (beyond)
      for (std::size_t x = 0; x < count; ++x) body[x] = better<kLeast>(body[x], job.constant);
    for (std::size_t j = 0; j < job.out_extent[2] + job.taps[2] - 1; ++j) {  // what stands at the ends
      if (j == run.first) j += run.count;
      if (j >= job.out_extent[2] + job.taps[2] - 1) break;
      const std::int32_t at = job.table[2][j];
      for (std::size_t i = 0; i < inner; ++i) {
        T best = job.constant;
        if (at >= 0) {
          const std::size_t x = static_cast<std::size_t>(at) * inner + i;
          best = better<kLeast>(better<kLeast>(row[0][x], row[1][x]), row[2][x]);
          if (beyond) best = better<kLeast>(best, job.constant);
        }
        wide[j * inner + i] = best;
      }
    }
  }
  const std::size_t second = job.taps[2] > 1 ? inner : 0, third = job.taps[2] > 2 ? 2 * inner : 0;
  best_of_rows<kLeast>(wide, wide + second, wide + third, to, job.out_extent[2] * inner);
}

/// Outputs of one outer index: rows [piece.first, piece.last) of the first axis, [piece.y, piece.y_end) of the second.
/// `memory`: an extended row, then three times the piece's rows of outputs.
template <bool kLeast, class T>
void run_box(const BoxJob<T>& job, const Run& run, const BoxPiece& piece, T* memory) {
  const std::size_t row = job.out_extent[2] * job.inner, rows = piece.y_end - piece.y;
  T* const wide = memory;
  T* const held = memory + (job.out_extent[2] + job.taps[2] - 1) * job.inner;
  const T* const in = job.in + piece.outer * job.in_extent[0] * job.in_plane();
  T* const out = job.out + piece.outer * job.out_extent[0] * job.out_plane();
  const std::uint32_t taps = job.taps[0];
  for (std::size_t z = piece.first; z < piece.last + taps - 1; ++z) {
    const std::int32_t at = job.table[0][z];
    const auto plane = [&](std::size_t k) { return held + k % kMaxBoxTaps * rows * row; };
    T* const here = plane(z);
    for (std::size_t y = 0; y < rows; ++y) {
      if (at < 0)
        std::fill_n(here + y * row, row, job.constant);
      else
        best_row<kLeast>(job, run, in + static_cast<std::size_t>(at) * job.in_plane(), piece.y + y, wide,
                         here + y * row);
    }
    if (z + 1 < piece.first + taps) continue;
    const T* const second = taps > 1 ? plane(z - 1) : here;
    const T* const third = taps > 2 ? plane(z - 2) : here;
    best_of_rows<kLeast>(here, second, third, out + (z + 1 - taps) * job.out_plane() + piece.y * row, rows * row);
  }
}

}  // namespace penstock::line::PENSTOCK_ISA
#undef PENSTOCK_ISA
