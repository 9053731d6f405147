// The loops of the CPU under footprints; included once for each set of instructions (ops/isa.hpp), so it has no guard.
namespace penstock::window::PENSTOCK_ISA {

/// 64 bytes of neighbouring outputs.
template <class K>
struct Lanes {
  static constexpr std::size_t kCount = 64 / sizeof(K);
  typedef K Vector __attribute__((vector_size(64)));
};

template <class K>
void load(const K* from, typename Lanes<K>::Vector& to) {
  std::memcpy(&to, from, 64);
}
template <class V>
void exchange_lanes(V& a, V& b) {
  const V less = b < a ? b : a;
  b = b < a ? a : b;
  a = less;
}

/// As `forget`, for any rank: the smallest or the largest is dropped while enough others are held to know that it is
/// not the one.
template <class K>
void rank_by_forgetting(const RankJob<K>& job, const K* at, typename Lanes<K>::Vector* held,
                        typename Lanes<K>::Vector& out) {
  std::size_t below = job.rank, above = job.count - 1 - job.rank, next = 0, first = 0, size = 0;
  const auto fill = [&](std::size_t wanted) {
    for (; size < wanted && next < job.count; ++size) load(at + job.offsets[next++], held[first + size]);
  };
  fill(std::max(below, above) + 2);
  while (below > 0 || above > 0) {
    const bool drop_low = below > 0 && size >= above + 2, drop_high = above > 0 && size >= below + 2;
    const std::size_t end = first + size;
    if (drop_low && drop_high)
      for (std::size_t i = 0; i < size / 2; ++i) exchange_lanes(held[first + i], held[end - 1 - i]);
    if (drop_low || !drop_high) {
      const std::size_t stop = drop_high ? first + (size + 1) / 2 : end;
      for (std::size_t i = first + 1; i < stop; ++i) exchange_lanes(held[first], held[i]);
    }
    if (drop_high)
      for (std::size_t i = drop_low ? first + size / 2 : first; i < end - 1; ++i)
        exchange_lanes(held[i], held[end - 1]);
    if (drop_high) --above, --size;
    if (drop_low || !drop_high) {  // another takes the place of the smallest
      --below, --size;
      if (next < job.count && size < std::max(below, above) + 2) {
        load(at + job.offsets[next++], held[first]);
        ++size;
      } else {
        ++first;
      }
    }
    fill(std::max(below, above) + 2);
  }
  out = held[first];
}

template <class K>
void extreme(const RankJob<K>& job, const K* at, typename Lanes<K>::Vector& out) {
  typename Lanes<K>::Vector v;
  load(at + job.offsets[0], out);
  for (std::size_t k = 1; k < job.count; ++k) {
    load(at + job.offsets[k], v);
    out = job.rank == 0 ? (v < out ? v : out) : (v > out ? v : out);
  }
}

template <class K>
void rank_by_bits_of_lanes(const RankJob<K>& job, const K* at, typename Lanes<K>::Vector* held,
                           typename Lanes<K>::Vector& out) {
  using V = typename Lanes<K>::Vector;
  // Counted in lanes of the elements' own size, so at most as many as those can count are added up at once.
  constexpr std::size_t kMost = sizeof(K) == 1 ? 255 : sizeof(K) == 2 ? 65535 : ~std::size_t{0};
  for (std::size_t k = 0; k < job.count; ++k) load(at + job.offsets[k], held[k]);
  V found = {};
  for (std::size_t bit = 8 * sizeof(K); bit-- > 0;) {
    const K mask = static_cast<K>(K{1} << bit);  // named: GCC 13 takes the shift for an int
    const V trial = found | mask;
    std::uint64_t smaller[Lanes<K>::kCount] = {};
    for (std::size_t k = 0; k < job.count;) {
      V sum = {};
      const std::size_t stop = job.count - k > kMost ? k + kMost : job.count;
      for (; k < stop; ++k) sum -= reinterpret_cast<V>(held[k] < trial);
      for (std::size_t lane = 0; lane < Lanes<K>::kCount; ++lane) smaller[lane] += sum[lane];
    }
    for (std::size_t lane = 0; lane < Lanes<K>::kCount; ++lane)
      if (smaller[lane] <= job.rank) found[lane] = trial[lane];
  }
  out = found;
}

/// Row number `row`; `held`: job.count lanes.
template <class K>
void run_row(const RankJob<K>& job, std::uint64_t row, void* memory) {
  using V = typename Lanes<K>::Vector;
  V* const held = static_cast<V*>(memory);
  const K* const at = job.in + job.start(row);
  K* const to = job.out + row * job.width;
  const bool is_extreme = job.rank == 0 || job.rank + 1 == job.count;
  std::size_t x = 0;
  V made;
  for (; x + Lanes<K>::kCount <= job.width; x += Lanes<K>::kCount) {
    if (is_extreme)
      extreme(job, at + x, made);
    else if (job.count <= tuning::kForgetElements)
      rank_by_forgetting(job, at + x, held, made);
    else
      rank_by_bits_of_lanes(job, at + x, held, made);
    std::memcpy(to + x, &made, 64);
  }
  K* const values = static_cast<K*>(memory);
  for (; x < job.width; ++x) {  // the end of the row
    for (std::size_t k = 0; k < job.count; ++k) values[k] = at[x + job.offsets[k]];
    std::nth_element(values, values + job.rank, values + job.count);
    to[x] = values[job.rank];
  }
}

}  // namespace penstock::window::PENSTOCK_ISA
#undef PENSTOCK_ISA
