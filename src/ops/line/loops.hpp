// The loops of the CPU along an axis; included once for each set of instructions (ops/isa.hpp), so it has no guard.
namespace penstock::line::PENSTOCK_ISA {

/// 64 bytes that move through registers together, as many as the instructions have them.
template <class C>
struct Lanes {
  using Number = std::conditional_t<std::is_same_v<C, bool>, std::uint8_t, C>;  // there are no registers of bool
  static constexpr std::size_t kCount = 64 / sizeof(C);
  typedef Number Vector __attribute__((vector_size(64)));
  Vector v;
  static void load(Lanes& lanes, const C* from) { std::memcpy(&lanes.v, from, 64); }
  void store(C* to) const { std::memcpy(to, &v, 64); }
};

/// out[x] = the sum over t of weights[t] in[x + t stride]
template <class C>
void weigh(const C* __restrict in, std::size_t stride, const C* __restrict weights, std::size_t taps, C* __restrict out,
           std::size_t count) {
  constexpr std::size_t kLanes = Lanes<C>::kCount;
  std::size_t x = 0;
  for (; x + 2 * kLanes <= count; x += 2 * kLanes) {
    Lanes<C> a, b, va, vb;
    Lanes<C>::load(a, in + x);
    Lanes<C>::load(b, in + x + kLanes);
    a.v *= weights[0];
    b.v *= weights[0];
    for (std::size_t t = 1; t < taps; ++t) {
      const C* at = in + x + t * stride;
      Lanes<C>::load(va, at);
      Lanes<C>::load(vb, at + kLanes);
      a.v += va.v * weights[t];
      b.v += vb.v * weights[t];
    }
    a.store(out + x);
    b.store(out + x + kLanes);
  }
  for (; x < count; ++x) {
    C sum = weights[0] * in[x];
    for (std::size_t t = 1; t < taps; ++t) sum += weights[t] * in[x + t * stride];
    out[x] = sum;
  }
}

/// f(in[x], in[x + distance]), which changes the first, for x < count, from the first to the last.  Whole registers:
/// that the second is still what it was when the first changes, a compiler cannot know.
template <class C, class F>
void fold_ahead(C* in, std::size_t distance, std::size_t count, const F& f) {
  constexpr std::size_t kLanes = Lanes<C>::kCount;
  std::size_t x = 0;
  for (; x + kLanes <= count; x += kLanes) {
    Lanes<C> a, b;
    Lanes<C>::load(a, in + x);
    Lanes<C>::load(b, in + x + distance);
    f(a.v, b.v);
    a.store(in + x);
  }
  for (; x < count; ++x) f(in[x], in[x + distance]);
}

/// out[x] = the sum of `taps` of in[x], in[x + stride], ...: sums of 2, 4, 8 ... of them, put together as the bits of
/// `taps` say.  `in` is used up.
template <class C>
void add_up(C* in, std::size_t stride, std::size_t taps, C* __restrict out, std::size_t count) {
  std::size_t done = 0, reach = count + (taps - 1) * stride;
  for (std::size_t width = 1; width <= taps; width *= 2) {
    if ((taps & width) != 0) {
      const C* from = in + done * stride;
      if (done == 0)
        for (std::size_t x = 0; x < count; ++x) out[x] = from[x];
      else
        for (std::size_t x = 0; x < count; ++x) out[x] += from[x];
      done += width;
    }
    if (2 * width > taps) break;
    reach -= width * stride;
    fold_ahead(in, width * stride, reach, [](auto& a, const auto& b) { a += b; });
  }
}

/// out[x] = the least (or most) of `taps` of in[x], in[x + stride], ...: those of 2, 4, 8 ... until two of them cover
/// the window.  `in` is used up.
template <bool kLeast, class C>
void pick(C* in, std::size_t stride, std::size_t taps, C* __restrict out, std::size_t count) {
  const auto take = [](auto& a, const auto& b) {
    if constexpr (kLeast)
      a = b < a ? b : a;
    else
      a = b > a ? b : a;
  };
  std::size_t width = 1, reach = count + (taps - 1) * stride;
  for (; 2 * width <= taps; width *= 2) {
    reach -= width * stride;
    fold_ahead(in, width * stride, reach, take);
  }
  const C* other = in + (taps - width) * stride;
  for (std::size_t x = 0; x < count; ++x) {
    C best = in[x];
    take(best, other[x]);
    out[x] = best;
  }
}

template <class T, class C>
void convert_in(const T* __restrict in, C* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<C>(in[i]);
}
template <class C, class T>
void convert_out(const C* __restrict in, T* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = truncated<T>(in[i]);
}

/// Rows [first, last) of the extended line, `width` elements each, one after the other.
template <class T, class C>
void gather(const LineJob<T, C>& job, const Piece& piece, std::size_t first, std::size_t last, C* to) {
  const std::size_t inner = job.shape.inner, width = piece.width;
  const T* base = job.in + piece.outer * job.shape.in * inner + piece.column;
  for (std::size_t row = first; row < last;) {
    const std::int32_t at = job.table[row];
    std::size_t run = 1;  // rows that follow each other in memory too
    if (at < 0) {
      for (std::size_t i = 0; i < width; ++i) to[i] = job.constant;
    } else {
      if (width == inner)
        while (row + run < last && job.table[row + run] == at + static_cast<std::int32_t>(run)) ++run;
      convert_in(base + static_cast<std::size_t>(at) * inner, to, run * width);
    }
    to += run * width;
    row += run;
  }
}

/// Each output row from two rows of the input.
template <class T, class C>
void blend(const LineJob<T, C>& job, const Piece& piece, C* made) {
  const std::size_t inner = job.shape.inner, width = piece.width;
  const T* base = job.in + piece.outer * job.shape.in * inner + piece.column;
  for (std::size_t row = piece.first; row < piece.last; ++row, made += width) {
    const std::int32_t a = job.table[2 * row], b = job.table[2 * row + 1];
    const C wa = job.weights[2 * row], wb = job.weights[2 * row + 1];
    const T* const from_a = a < 0 ? nullptr : base + static_cast<std::size_t>(a) * inner;
    const T* const from_b = b < 0 ? nullptr : base + static_cast<std::size_t>(b) * inner;
    if (from_a != nullptr && from_b != nullptr) {
      for (std::size_t i = 0; i < width; ++i) made[i] = wa * static_cast<C>(from_a[i]) + wb * static_cast<C>(from_b[i]);
      continue;
    }
    for (std::size_t i = 0; i < width; ++i)
      made[i] = wa * (from_a == nullptr ? job.constant : static_cast<C>(from_a[i])) +
                wb * (from_b == nullptr ? job.constant : static_cast<C>(from_b[i]));
  }
}

/// One piece; `scratch`: as many C as Piece::scratch says.
template <class T, class C>
void run_piece(const LineJob<T, C>& job, const Piece& piece, C* scratch) {
  const std::size_t width = piece.width, count = (piece.last - piece.first) * width, inner = job.shape.inner;
  C* const made = scratch;
  C* const rows = scratch + count;
  if constexpr (kWeighs<C>)
    if (job.operation == Operation::blend) blend(job, piece, made);
  if (job.operation != Operation::blend) gather(job, piece, piece.first, piece.last + job.taps - 1, rows);
  if constexpr (kWeighs<C>) {
    if (job.operation == Operation::correlate) weigh(rows, width, job.weights, job.taps, made, count);
    if (job.operation == Operation::uniform) {
      add_up(rows, width, job.taps, made, count);
      const C n = static_cast<C>(job.taps);
      for (std::size_t i = 0; i < count; ++i) made[i] /= n;
    }
  }
  if constexpr (kOrders<T, C>) {
    if (job.operation == Operation::minimum) pick<true>(rows, width, job.taps, made, count);
    if (job.operation == Operation::maximum) pick<false>(rows, width, job.taps, made, count);
  }
  T* const to = job.out + (piece.outer * job.shape.out + piece.first) * inner + piece.column;
  if (width == inner) return convert_out(made, to, count);
  for (std::size_t row = 0; row < piece.last - piece.first; ++row)
    convert_out(made + row * width, to + row * inner, width);
}

}  // namespace penstock::line::PENSTOCK_ISA
#undef PENSTOCK_ISA
