// The loops of the CPU over coordinates whose neighbours are all there; included once for each set of instructions
// (ops/isa.hpp), so it has no guard.
namespace penstock::sample::PENSTOCK_ISA {

/// Whether all coordinates lie in [low, high); NaN does not.
inline bool all_within(const double* __restrict at, std::size_t n, double low, double high) {
  int outside = 0;
  for (std::size_t i = 0; i < n; ++i) outside |= static_cast<int>(!(at[i] >= low)) | static_cast<int>(!(at[i] < high));
  return outside == 0;
}

/// Where the elements at the floor of coordinates + shift lie, and how far the coordinates are beyond them.
template <class T, class C>
void find_cells(const SampleJob<T, C>& job, const Block& block, double shift, std::int32_t* __restrict from,
                double (*__restrict rest)[kBlock]) {
  for (std::size_t i = 0; i < block.count; ++i) from[i] = 0;
  for (std::uint32_t d = 0; d < job.dimensions; ++d) {
    const double* __restrict at = block.at[d];
    const auto origin = static_cast<std::int32_t>(job.origin[d]), stride = static_cast<std::int32_t>(job.stride[d]);
    for (std::size_t i = 0; i < block.count; ++i) {
      const auto below = static_cast<std::int32_t>(at[i] + shift);
      from[i] += (below - origin) * stride;
      rest[d][i] = at[i] - below;
    }
  }
}

template <class T>
void nearest_cells(const SampleJob<T, T>& job, const Block& block, T* __restrict out) {
  std::int32_t from[kBlock];
  double rest[kMaxDimensions][kBlock];
  find_cells(job, block, 0.5, from, rest);
  for (std::size_t i = 0; i < block.count; ++i) out[i] = job.in[from[i]];
}

/// Two neighbours of a row at once: two loads of one element cost twice as much as one of both.
template <class T, class C>
void linear_cells(const SampleJob<T, C>& job, const Block& block, T* __restrict out) {
  typedef C Two __attribute__((vector_size(2 * sizeof(C))));
  std::int32_t from[kBlock];
  double rest[kMaxDimensions][kBlock];
  C weight[3][kBlock], made[kBlock];
  find_cells(job, block, 0, from, rest);
  const std::uint32_t last = job.dimensions - 1;
  for (std::uint32_t d = 0; d <= last; ++d)
    for (std::size_t i = 0; i < block.count; ++i) weight[d][i] = static_cast<C>(rest[d][i]);
  const auto row = static_cast<std::int64_t>(job.stride[last - 1]);
  const auto plane = last == 2 ? static_cast<std::int64_t>(job.stride[0]) : 0;
  const auto row_at = [](const T* at, Two& to) {
    if constexpr (std::is_same_v<T, C>)
      std::memcpy(&to, at, sizeof to);
    else
      to = Two{static_cast<C>(at[0]), static_cast<C>(at[1])};
  };
  const auto plane_at = [&](const T* at, C y, Two& to) {
    Two below;
    row_at(at, to);
    row_at(at + row, below);
    to = to * (C(1) - y) + below * y;
  };
  for (std::size_t i = 0; i < block.count; ++i) {
    const T* const at = job.in + from[i];
    Two sum, next;
    plane_at(at, weight[last - 1][i], sum);
    if (last == 2) {
      const C z = weight[0][i];
      plane_at(at + plane, weight[1][i], next);
      sum = sum * (C(1) - z) + next * z;
    }
    made[i] = sum[0] * (C(1) - weight[last][i]) + sum[1] * weight[last][i];
  }
  for (std::size_t i = 0; i < block.count; ++i) out[i] = nearest<T>(made[i]);
}

/// The weights of a cubic spline at a distance from the second of four elements.
template <class C>
void cubic_weights(const double* __restrict rest, std::size_t n, C (*__restrict weight)[kBlock]) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto t = static_cast<C>(rest[i]);
    const C s = C(1) - t;
    weight[0][i] = s * s * s * C(1.0 / 6);
    weight[1][i] = C(2.0 / 3) + t * t * (C(0.5) * t - C(1));
    weight[2][i] = C(2.0 / 3) + s * s * (C(0.5) * s - C(1));
    weight[3][i] = t * t * t * C(1.0 / 6);
  }
}

template <class C>
void cubic_cells(const SampleJob<C, C>& job, const Block& block, C* __restrict out) {
  typedef C Four __attribute__((vector_size(4 * sizeof(C))));
  std::int32_t from[kBlock];
  double rest[kMaxDimensions][kBlock];
  C weight[3][4][kBlock];
  find_cells(job, block, 0, from, rest);
  const std::uint32_t last = job.dimensions - 1;
  for (std::uint32_t d = 0; d <= last; ++d) cubic_weights(rest[d], block.count, weight[d]);
  const auto row = static_cast<std::int64_t>(job.stride[last - 1]);
  const auto plane = last == 2 ? static_cast<std::int64_t>(job.stride[0]) : 0;
  const auto plane_at = [&](const C* at, std::size_t i, Four& sum) {
    Four a, b, c, d;
    std::memcpy(&a, at, sizeof a);
    std::memcpy(&b, at + row, sizeof b);
    std::memcpy(&c, at + 2 * row, sizeof c);
    std::memcpy(&d, at + 3 * row, sizeof d);
    const auto& w = weight[last - 1];
    sum = (a * w[0][i] + b * w[1][i]) + (c * w[2][i] + d * w[3][i]);
  };
  for (std::size_t i = 0; i < block.count; ++i) {
    const C* const at = job.in + from[i] - plane - row - 1;
    Four sum, next;
    plane_at(at, i, sum);
    if (last == 2) {
      sum *= weight[0][0][i];
      for (int k = 1; k < 4; ++k) {
        plane_at(at + k * plane, i, next);
        sum += next * weight[0][k][i];
      }
    }
    const auto& w = weight[last];
    out[i] = (sum[0] * w[0][i] + sum[1] * w[1][i]) + (sum[2] * w[2][i] + sum[3] * w[3][i]);
  }
}

/// to[x] = the sum of up to four rows times their weights; `more`: added to what is there.
template <class T, class C>
void weigh_rows(const WeighedRows<T, C>& rows, std::size_t n, bool more, C* __restrict to) {
  const T* const* r = rows.row;
  const C* w = rows.weight;
  const auto at = [](const T* row, std::size_t x) { return static_cast<C>(row[x]); };
  if (!more)
    for (std::size_t x = 0; x < n; ++x) to[x] = C(0);
  if (rows.count == 4) {
    const C wa = w[0], wb = w[1], wc = w[2], wd = w[3];
    const T *a = r[0], *b = r[1], *c = r[2], *d = r[3];
    for (std::size_t x = 0; x < n; ++x) to[x] += (wa * at(a, x) + wb * at(b, x)) + (wc * at(c, x) + wd * at(d, x));
    return;
  }
  for (std::size_t k = 0; k < rows.count; ++k) {
    const C weight = w[k];
    const T* row = r[k];
    for (std::size_t x = 0; x < n; ++x) to[x] += weight * at(row, x);
  }
}

/// to[x] = the sum over k of weight[k n + x] row[from[k n + x]]
template <class C>
void pick_along(const C* __restrict row, const std::int32_t* __restrict from, const C* __restrict weight,
                std::size_t taps, std::size_t n, C* __restrict to) {
  for (std::size_t x = 0; x < n; ++x) to[x] = weight[x] * row[from[x]];
  for (std::size_t k = 1; k < taps; ++k)
    for (std::size_t x = 0; x < n; ++x) to[x] += weight[k * n + x] * row[from[k * n + x]];
}

template <class C, class T>
void round_out(const C* __restrict from, std::size_t n, T* __restrict to) {
  for (std::size_t x = 0; x < n; ++x) to[x] = nearest<T>(from[x]);
}

}  // namespace penstock::sample::PENSTOCK_ISA
#undef PENSTOCK_ISA
