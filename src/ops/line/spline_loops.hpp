// The recursions of the CPU, many lines side by side; included once for each set of instructions (ops/isa.hpp), so it
// has no guard.
namespace penstock::line::PENSTOCK_ISA {

/// to[x] = the sum of the rows that a recursion begins with.
template <class C>
void start_rows(const C* __restrict rows, std::size_t width, const Start<C>* starts, std::size_t count,
                C* __restrict to) {
  for (std::size_t x = 0; x < width; ++x) to[x] = C(0);
  for (std::size_t i = 0; i < count; ++i) {
    const C w = starts[i].weight;
    const C* const row = rows + starts[i].row * width;
    for (std::size_t x = 0; x < width; ++x) to[x] += w * row[x];
  }
}

/// Lines side by side: `rows` holds n rows of `width` elements; `row` has room for one.
template <class C>
void filter_rows(const SplineJob<C>& job, C* __restrict rows, std::size_t width, C* __restrict row) {
  const std::size_t n = job.shape.in;
  const Start<C>* starts = job.starts;
  for (std::size_t i = 0; i < n * width; ++i) rows[i] *= job.gain;
  for (std::uint32_t p = 0; p < job.poles; ++p) {
    const C z = job.pole[p];
    start_rows(rows, width, starts, job.forwards[p], row);
    std::memcpy(rows, row, width * sizeof(C));
    for (std::size_t k = 1; k < n; ++k) {
      const C* __restrict before = rows + (k - 1) * width;
      C* __restrict here = rows + k * width;
      for (std::size_t x = 0; x < width; ++x) here[x] += z * before[x];
    }
    starts += job.forwards[p];
    start_rows(rows, width, starts, job.backwards[p], row);
    std::memcpy(rows + (n - 1) * width, row, width * sizeof(C));
    for (std::size_t k = n - 1; k-- > 0;) {
      const C* __restrict after = rows + (k + 1) * width;
      C* __restrict here = rows + k * width;
      for (std::size_t x = 0; x < width; ++x) here[x] = z * (after[x] - here[x]);
    }
    starts += job.backwards[p];
  }
}

/// Columns [column, column + width) of one outer index.
template <class C>
void filter_columns(const SplineJob<C>& job, std::size_t outer, std::size_t column, std::size_t width, C* rows) {
  const std::size_t n = job.shape.in, inner = job.shape.inner, first = outer * n * inner + column;
  for (std::size_t k = 0; k < n; ++k) std::memcpy(rows + k * width, job.in + first + k * inner, width * sizeof(C));
  filter_rows(job, rows, width, rows + n * width);
  for (std::size_t k = 0; k < n; ++k) std::memcpy(job.out + first + k * inner, rows + k * width, width * sizeof(C));
}

/// `lines` neighbouring lines of which each is contiguous, turned so that they lie side by side.
template <class C>
void filter_lines(const SplineJob<C>& job, std::size_t outer, std::size_t lines, C* rows) {
  const std::size_t n = job.shape.in;
  const C* const in = job.in + outer * n;
  C* const out = job.out + outer * n;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t line = 0; line < lines; ++line) rows[k * lines + line] = in[line * n + k];
  filter_rows(job, rows, lines, rows + n * lines);
  for (std::size_t line = 0; line < lines; ++line)
    for (std::size_t k = 0; k < n; ++k) out[line * n + k] = rows[k * lines + line];
}

}  // namespace penstock::line::PENSTOCK_ISA
#undef PENSTOCK_ISA
