// The transforms of the CPU, many lines side by side; included once for each set of instructions (ops/isa.hpp), so it
// has no guard.
namespace penstock::fourier::PENSTOCK_ISA {

/// The same element of neighbouring lines.
template <class C>
struct Lanes {
  static constexpr std::size_t kCount = 64 / sizeof(C);
  typedef C V __attribute__((vector_size(64)));
};

/// Numbers of neighbouring lines.
template <class C>
struct Numbers {
  typename Lanes<C>::V re, im;
};

template <class C>
void add(const Numbers<C>& a, const Numbers<C>& b, Numbers<C>& to) {
  to.re = a.re + b.re;
  to.im = a.im + b.im;
}
template <class C>
void subtract(const Numbers<C>& a, const Numbers<C>& b, Numbers<C>& to) {
  to.re = a.re - b.re;
  to.im = a.im - b.im;
}
template <class C>
void multiply(const Numbers<C>& a, const Complex<C>& root, Numbers<C>& to) {
  to.re = a.re * root.re - a.im * root.im;
  to.im = a.re * root.im + a.im * root.re;
}

/// One pass over n rows of numbers.
template <class C>
void run_pass(const Plan<C>& plan, std::uint32_t radix, std::uint32_t done, const Numbers<C>* in, Numbers<C>* out) {
  const std::uint32_t rest = plan.n / radix, apart = rest / done;
  for (std::uint32_t p = 0; p < apart; ++p) {
    const std::uint32_t turn = done * p;
    const Numbers<C>* from = in + turn;
    Numbers<C>* to = out + static_cast<std::size_t>(turn) * radix;
    if (radix == 2) {
      const Complex<C> w = plan.root(turn);
      for (std::uint32_t q = 0; q < done; ++q, ++from, ++to) {
        Numbers<C> difference;
        subtract(from[0], from[rest], difference);
        add(from[0], from[rest], to[0]);
        multiply(difference, w, to[done]);
      }
    } else if (radix == 4) {
      const Complex<C> w1 = plan.root(turn), w2 = plan.root(2 * turn), w3 = plan.root(3 * turn);
      for (std::uint32_t q = 0; q < done; ++q, ++from, ++to) {
        Numbers<C> ac, bd, a_c, b_d, turned, made;
        add(from[0], from[2 * rest], ac);
        add(from[rest], from[3 * rest], bd);
        subtract(from[0], from[2 * rest], a_c);
        subtract(from[rest], from[3 * rest], b_d);
        turned.re = plan.inverse ? -b_d.im : b_d.im;
        turned.im = plan.inverse ? b_d.re : -b_d.re;
        add(ac, bd, to[0]);
        add(a_c, turned, made);
        multiply(made, w1, to[done]);
        subtract(ac, bd, made);
        multiply(made, w2, to[2 * done]);
        subtract(a_c, turned, made);
        multiply(made, w3, to[3 * done]);
      }
    } else {
      for (std::uint32_t q = 0; q < done; ++q, ++from, ++to)
        for (std::uint32_t u = 0, at = 0; u < radix; ++u, at = 0) {
          Numbers<C> sum = {}, term;
          for (std::uint32_t t = 0; t < radix; ++t) {
            multiply(from[static_cast<std::size_t>(t) * rest], plan.root(rest * at), term);
            add(sum, term, sum);
            at += u;
            if (at >= radix) at -= radix;
          }
          multiply(sum, plan.root(turn * u), to[static_cast<std::size_t>(u) * done]);
        }
    }
  }
}

/// Lines `first` ... of (outer, n, inner), as many as lanes hold or there are; `memory`: 2 n numbers of lanes.
template <class C>
void transform_lines(const LinesJob<C>& job, std::uint64_t first, std::uint64_t lines, void* memory) {
  constexpr std::size_t kCount = Lanes<C>::kCount;
  const std::size_t n = job.plan.n, inner = job.inner;
  auto* from = static_cast<Numbers<C>*>(memory);
  Numbers<C>* to = from + n;
  std::size_t begins[kCount];
  for (std::size_t k = 0; k < kCount; ++k) {
    const std::size_t line = first + (k < lines ? k : 0);  // the lanes that are left take the first again
    begins[k] = line / inner * n * inner + line % inner;
  }
  for (std::size_t i = 0; i < n; ++i) {
    C re[kCount], im[kCount];
    for (std::size_t k = 0; k < kCount; ++k) {
      const Complex<C> value = job.in[begins[k] + i * inner];
      re[k] = value.re, im[k] = value.im;
    }
    std::memcpy(&from[i].re, re, sizeof re);
    std::memcpy(&from[i].im, im, sizeof im);
  }
  std::uint32_t done = 1;
  for (std::uint32_t pass = 0; pass < job.plan.passes; ++pass) {
    run_pass(job.plan, job.plan.radix[pass], done, from, to);
    done *= job.plan.radix[pass];
    Numbers<C>* const made = to;
    to = from, from = made;
  }
  for (std::size_t i = 0; i < n; ++i) {
    C re[kCount], im[kCount];
    std::memcpy(re, &from[i].re, sizeof re);
    std::memcpy(im, &from[i].im, sizeof im);
    for (std::size_t k = 0; k < lines; ++k) job.out[begins[k] + i * inner] = {re[k], im[k]};
  }
}

}  // namespace penstock::fourier::PENSTOCK_ISA
#undef PENSTOCK_ISA
