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

template <class Op>
inline constexpr bool kIsExtreme =
    std::is_same_v<Op, Least<typename Op::In>> || std::is_same_v<Op, Most<typename Op::In>>;

/// Whole numbers wrap.
template <class V>
void add(V& a, const V& b) {
  if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(a[0])>>) {
    typedef std::uint64_t Words __attribute__((vector_size(64)));
    a = reinterpret_cast<V>(reinterpret_cast<Words>(a) + reinterpret_cast<Words>(b));
  } else {
    a += b;
  }
}

/// held = the better of two, where NaN is better than all
template <class Op, class V>
void take(V& held, const V& value) {
  constexpr bool kLeast = std::is_same_v<Op, Least<typename Op::In>>;
  if constexpr (std::is_floating_point_v<typename Op::In>) {
    if constexpr (kLeast)
      held = (value != value) | (value < held) ? value : held;
    else
      held = (value != value) | (value > held) ? value : held;
  } else {
    if constexpr (kLeast)
      held = value < held ? value : held;
    else
      held = value > held ? value : held;
  }
}

/// held = Op::with(held, the elements at `at`, mean)
template <class Op>
void add_lanes(typename Lanes<Op>::Held& held, const typename Op::In* at, double mean) {
  using Held = typename Lanes<Op>::Held;
  typename Lanes<Op>::In in;
  std::memcpy(&in, at, sizeof in);
  if constexpr (kIsExtreme<Op>) {
    take<Op>(held, in);
  } else if constexpr (std::is_same_v<Op, Squares<typename Op::In>>) {
    const Held distance = __builtin_convertvector(in, Held) - mean;
    held += distance * distance;
  } else {
    const Held value = __builtin_convertvector(in, Held);
    add(held, value);
  }
}

/// One accumulator of `n` elements side by side.
template <class Op>
typename Op::Held reduce_run(const typename Op::In* in, std::uint64_t n, typename Op::Held held, double mean) {
  constexpr std::size_t kCount = Lanes<Op>::kCount;
  std::uint64_t k = 0;
  if (n >= 4 * kCount) {
    typename Lanes<Op>::Held a, b, c, d;
    for (std::size_t i = 0; i < kCount; ++i) a[i] = Op::nothing();
    b = c = d = a;
    for (; k + 4 * kCount <= n; k += 4 * kCount) {
      add_lanes<Op>(a, in + k, mean);
      add_lanes<Op>(b, in + k + kCount, mean);
      add_lanes<Op>(c, in + k + 2 * kCount, mean);
      add_lanes<Op>(d, in + k + 3 * kCount, mean);
    }
    if constexpr (kIsExtreme<Op>)
      take<Op>(a, b), take<Op>(c, d), take<Op>(a, c);
    else
      add(a, b), add(c, d), add(a, c);
    using Join = std::conditional_t<kIsExtreme<Op>, Op, Sum<typename Op::Held>>;
    for (std::size_t i = 0; i < kCount; ++i) held = Join::with(held, a[i], 0);
  }
  for (; k < n; ++k) held = Op::with(held, in[k], mean);
  return held;
}

/// Sums of small whole numbers: of 2^15 at a time in 32 bits, of which a register holds twice as many as of 64.
template <class T>
  requires(std::is_integral_v<T> && sizeof(T) <= 2)
typename Sum<T>::Held sum_run(const T* in, std::uint64_t n, typename Sum<T>::Held held) {
  using Narrow = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  typedef Narrow Lane __attribute__((vector_size(64)));
  typedef T Elements __attribute__((vector_size(16 * sizeof(T))));
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 15;
  std::uint64_t k = 0;
  while (k + 64 <= n) {
    const std::uint64_t last = n - k > kAtOnce ? k + kAtOnce : k + (n - k) / 64 * 64;
    Lane a = {}, b = {}, c = {}, d = {};
    for (; k < last; k += 64) {
      Elements e, f, g, h;
      std::memcpy(&e, in + k, sizeof e);
      std::memcpy(&f, in + k + 16, sizeof f);
      std::memcpy(&g, in + k + 32, sizeof g);
      std::memcpy(&h, in + k + 48, sizeof h);
      a += __builtin_convertvector(e, Lane);
      b += __builtin_convertvector(f, Lane);
      c += __builtin_convertvector(g, Lane);
      d += __builtin_convertvector(h, Lane);
    }
    a += b + c + d;
    for (std::size_t i = 0; i < 16; ++i) held = Sum<Narrow>::with(held, a[i], 0);
  }
  for (; k < n; ++k) held = Sum<T>::with(held, in[k], 0);
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
