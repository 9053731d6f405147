// The loops of the CPU over what is contiguous; included once for each set of instructions (ops/isa.hpp), so it has no
// guard.
namespace penstock::reduce::PENSTOCK_ISA {

/// Accumulators side by side, so that none waits for the one before it, and their elements.
template <class Op>
struct Lanes {
  static constexpr std::size_t kCount = 64 / sizeof(typename Op::Held);
  typedef typename Op::Held Held __attribute__((vector_size(64)));
  typedef typename Op::In In __attribute__((vector_size(kCount * sizeof(typename Op::In))));
};

/// held = Op::with(held, the elements at `at`, mean)
template <class Op>
void add_lanes(typename Lanes<Op>::Held& held, const typename Op::In* at, double mean) {
  using Held = typename Lanes<Op>::Held;
  typename Lanes<Op>::In in;
  std::memcpy(&in, at, sizeof in);
  if constexpr (std::is_same_v<Op, Least<typename Op::In>>) {
    held = (in != in) | (in < held) ? in : held;
  } else if constexpr (std::is_same_v<Op, Most<typename Op::In>>) {
    held = (in != in) | (in > held) ? in : held;
  } else if constexpr (std::is_same_v<Op, Squares<typename Op::In>>) {
    const Held distance = __builtin_convertvector(in, Held) - mean;
    held += distance * distance;
  } else if constexpr (std::is_integral_v<typename Op::Held>) {
    typedef std::uint64_t Words __attribute__((vector_size(64)));  // these wrap
    held = reinterpret_cast<Held>(reinterpret_cast<Words>(held) +
                                  reinterpret_cast<Words>(__builtin_convertvector(in, Held)));
  } else {
    held += __builtin_convertvector(in, Held);
  }
}

/// One accumulator of `n` elements side by side.
template <class Op>
typename Op::Held reduce_run(const typename Op::In* in, std::uint64_t n, typename Op::Held held, double mean) {
  constexpr std::size_t kCount = Lanes<Op>::kCount, kRows = 4;
  std::uint64_t k = 0;
  if (n >= kRows * kCount) {
    typename Lanes<Op>::Held lanes[kRows];
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t i = 0; i < kCount; ++i) lanes[r][i] = Op::nothing();
    for (; k + kRows * kCount <= n; k += kRows * kCount) {
      add_lanes<Op>(lanes[0], in + k, mean);
      add_lanes<Op>(lanes[1], in + k + kCount, mean);
      add_lanes<Op>(lanes[2], in + k + 2 * kCount, mean);
      add_lanes<Op>(lanes[3], in + k + 3 * kCount, mean);
    }
    using Join =
        std::conditional_t<std::is_same_v<Op, Least<typename Op::In>> || std::is_same_v<Op, Most<typename Op::In>>, Op,
                           Sum<typename Op::Held>>;
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t i = 0; i < kCount; ++i) held = Join::with(held, lanes[r][i], 0);
  }
  for (; k < n; ++k) held = Op::with(held, in[k], mean);
  return held;
}

/// `rows` rows, each `stride` elements after the one before, into the accumulators of `width` outputs.
template <class Op>
void reduce_rows(const typename Op::In* __restrict in, std::uint64_t rows, std::uint64_t stride, std::uint64_t width,
                 typename Op::Held* __restrict held, const double* __restrict means) {
  std::uint64_t k = 0;
  for (; k + 4 <= rows; k += 4, in += 4 * stride) {  // the accumulators go to memory once for four rows
    const auto *a = in, *b = in + stride, *c = in + 2 * stride, *d = in + 3 * stride;
    if constexpr (std::is_same_v<Op, Squares<typename Op::In>>)
      for (std::uint64_t x = 0; x < width; ++x)
        held[x] = Op::with(Op::with(Op::with(Op::with(held[x], a[x], means[x]), b[x], means[x]), c[x], means[x]), d[x],
                           means[x]);
    else
      for (std::uint64_t x = 0; x < width; ++x)
        held[x] = Op::with(Op::with(Op::with(Op::with(held[x], a[x], 0), b[x], 0), c[x], 0), d[x], 0);
  }
  for (; k < rows; ++k, in += stride)
    for (std::uint64_t x = 0; x < width; ++x) held[x] = Op::with(held[x], in[x], means == nullptr ? 0 : means[x]);
}

}  // namespace penstock::reduce::PENSTOCK_ISA
#undef PENSTOCK_ISA
