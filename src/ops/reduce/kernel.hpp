// Sums, least and largest elements along axes: written once for every processor.
//
// Each output has `parts` accumulators, so that many lanes work where there are few outputs; they keep their values
// from one box of the input to the next, and are joined at the end.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/portable.hpp"
#include "ops/divide.hpp"
#include "ops/element/kernel.hpp"
#include "penstock/region.hpp"

namespace penstock::reduce {

/// What goes on in one pass.  `In`: an element; `Held`: what it is accumulated in.
template <class T>
struct Sum {
  using In = T;
  // Whole numbers wrap where they do not fit, as in NumPy.
  using Held = std::conditional_t<std::is_floating_point_v<T>, double,
                                  std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>>;
  PENSTOCK_HD static Held nothing() { return Held(0); }
  PENSTOCK_HD static Held with(Held held, T value, double) {
    if constexpr (std::is_integral_v<Held>)
      return static_cast<Held>(static_cast<std::uint64_t>(held) + static_cast<std::uint64_t>(static_cast<Held>(value)));
    else
      return held + static_cast<Held>(value);
  }
};
/// In double, for means of whole numbers whose sums may not fit.
template <class T>
struct Total {
  using In = T;
  using Held = double;
  PENSTOCK_HD static double nothing() { return 0; }
  PENSTOCK_HD static double with(double held, T value, double) { return held + static_cast<double>(value); }
};
/// Of the distances from the mean.
template <class T>
struct Squares {
  using In = T;
  using Held = double;
  PENSTOCK_HD static double nothing() { return 0; }
  PENSTOCK_HD static double with(double held, T value, double mean) {
    const double distance = static_cast<double>(value) - mean;
    return held + distance * distance;
  }
};
/// NaN wins, as in NumPy.  Without a branch, so that loops of it vectorise.
template <class T>
struct Least {
  using In = T;
  using Held = T;
  PENSTOCK_HD static T nothing() {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(INFINITY);
    else
      return kMost<T>;
  }
  PENSTOCK_HD static T with(T held, T value, double) {
    if constexpr (std::is_floating_point_v<T>) return (value != value) | (value < held) ? value : held;
    return value < held ? value : held;
  }
};
template <class T>
struct Most {
  using In = T;
  using Held = T;
  PENSTOCK_HD static T nothing() {
    if constexpr (std::is_floating_point_v<T>)
      return -static_cast<T>(INFINITY);
    else
      return kLeast<T>;
  }
  PENSTOCK_HD static T with(T held, T value, double) {
    if constexpr (std::is_floating_point_v<T>) return (value != value) | (value > held) ? value : held;
    return value > held ? value : held;
  }
};

/// A packed box: dimensions that stay and dimensions that are reduced, outermost first, neighbours put together.
struct BoxShape {
  std::uint32_t kept = 0, reduced = 0;
  std::uint64_t kept_extent[kMaxRank] = {};
  std::uint64_t kept_stride[kMaxRank] = {};    ///< elements, in the box
  std::uint64_t target_stride[kMaxRank] = {};  ///< outputs
  std::uint64_t reduced_extent[kMaxRank] = {};
  std::uint64_t reduced_stride[kMaxRank] = {};
  std::uint64_t outputs = 1, count = 1;  ///< of the box; elements of each
  std::uint64_t first_target = 0;        ///< where its outputs begin among all

  /// Where the elements of an output begin, and which of all outputs it is.
  PENSTOCK_HD void locate(std::uint64_t output, std::uint64_t& from, std::uint64_t& target) const {
    from = 0, target = first_target;
    for (std::uint32_t d = kept; d-- > 0;) {
      std::uint64_t k = output;
      output = divide(k, kept_extent[d]);
      from += k * kept_stride[d];
      target += k * target_stride[d];
    }
  }
  /// Elements of an output that are `step()` apart.
  [[nodiscard]] PENSTOCK_HD std::uint64_t row() const { return reduced == 0 ? 1 : reduced_extent[reduced - 1]; }
  [[nodiscard]] PENSTOCK_HD std::uint64_t step() const { return reduced == 0 ? 0 : reduced_stride[reduced - 1]; }
  /// Where the elements of its row number `number` begin.
  [[nodiscard]] PENSTOCK_HD std::uint64_t row_offset(std::uint64_t number) const {
    std::uint64_t at = 0;
    for (std::uint32_t d = reduced; d-- > 1;) {
      std::uint64_t k = number;
      number = divide(k, reduced_extent[d - 1]);
      at += k * reduced_stride[d - 1];
    }
    return at;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t offset(std::uint64_t k) const {
    if (reduced <= 1) return k * step();
    const std::uint64_t number = divide(k, row());
    return row_offset(number) + k * step();
  }
};

/// Accumulators of all outputs, and where they lie.
template <class Held>
struct Accumulators {
  Held* held = nullptr;
  std::uint64_t targets = 0;
  std::uint32_t parts = 1;
  bool parts_together = false;  ///< those of one output follow each other

  PENSTOCK_HD std::uint64_t index(std::uint64_t target, std::uint32_t part) const {
    return parts_together ? target * parts + part : part * targets + target;
  }
};

/// `held` with the elements first, first + step, first + 2 step ... of an output, several of which are under way at
/// once.
template <class Op>
PENSTOCK_HD typename Op::Held accumulate(const BoxShape& shape, const typename Op::In* in, std::uint64_t first,
                                         std::uint64_t step, typename Op::Held held, double mean) {
  constexpr std::uint32_t kAhead = 8;
  typename Op::In values[kAhead];
  const std::uint64_t row = shape.row(), stride = shape.step(), count = shape.count;
  if (shape.reduced <= 1) {
    const typename Op::In* at = in + first * stride;
    std::uint64_t k = first;
    for (; k + (kAhead - 1) * step < count; k += kAhead * step, at += kAhead * step * stride) {
      PENSTOCK_UNROLL
      for (std::uint32_t i = 0; i < kAhead; ++i) values[i] = at[i * step * stride];
      PENSTOCK_UNROLL
      for (std::uint32_t i = 0; i < kAhead; ++i) held = Op::with(held, values[i], mean);
    }
    for (; k < count; k += step, at += step * stride) held = Op::with(held, *at, mean);
    return held;
  }
  std::uint64_t column = first, number = divide(column, row);
  const typename Op::In* at = in + shape.row_offset(number);
  for (std::uint64_t k = first; k < count; k += kAhead * step) {
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      if (k + i * step >= count) break;
      values[i] = at[column * stride];
      column += step;
      if (column >= row) {
        number += divide(column, row);
        if (k + (i + 1) * step < count) at = in + shape.row_offset(number);
      }
    }
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kAhead; ++i)
      if (k + i * step < count) held = Op::with(held, values[i], mean);
  }
  return held;
}

/// What is read at once: 16 bytes of elements side by side.
template <class T>
struct alignas(16) Packed {
  static constexpr std::uint32_t kCount = 16 / sizeof(T);
  static constexpr std::uint32_t kAhead = sizeof(T) < 4 ? 2 * sizeof(T) : 8;  ///< under way at once, of a lane
  T value[kCount];
};

/// The same of `count` elements side by side, 16 bytes at a time.
template <class Op>
PENSTOCK_HD typename Op::Held accumulate_packed(const typename Op::In* in, std::uint64_t count, std::uint64_t first,
                                                std::uint64_t step, typename Op::Held held, double mean) {
  using T = typename Op::In;
  using Pack = Packed<T>;
  constexpr std::uint32_t kAhead = Pack::kAhead;
  const std::uint64_t before = (16 - misalignment(in, 16)) % 16 / sizeof(T), head = before < count ? before : count;
  const std::uint64_t packs = (count - head) / Pack::kCount;
  const T* const at = in + head;
  Pack ahead[kAhead];
  std::uint64_t k = first;
  for (; k + (kAhead - 1) * step < packs; k += kAhead * step) {
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kAhead; ++i) ahead[i] = load_aligned<Pack>(at + (k + i * step) * Pack::kCount);
    PENSTOCK_UNROLL
    for (std::uint32_t i = 0; i < kAhead; ++i) {
      PENSTOCK_UNROLL
      for (const T value : ahead[i].value) held = Op::with(held, value, mean);
    }
  }
  for (; k < packs; k += step) {
    ahead[0] = load_aligned<Pack>(at + k * Pack::kCount);
    PENSTOCK_UNROLL
    for (const T value : ahead[0].value) held = Op::with(held, value, mean);
  }
  const std::uint64_t edges = count - packs * Pack::kCount;
  for (k = first; k < edges; k += step) held = Op::with(held, in[k < head ? k : k + packs * Pack::kCount], mean);
  return held;
}

/// Joins what two accumulators hold.
template <class Op>
using Join = std::conditional_t<std::is_same_v<Op, Least<typename Op::In>> || std::is_same_v<Op, Most<typename Op::In>>,
                                Op, Sum<typename Op::Held>>;

/// A box and the accumulators that it goes into.  Where neighbouring outputs are neighbours in memory each lane makes
/// an accumulator; where the elements of an output are, each team does (reduce_tile).
template <class Op>
struct ReduceJob {
  BoxShape shape;
  const typename Op::In* in = nullptr;
  Accumulators<typename Op::Held> into;
  const double* means = nullptr;  ///< of all outputs; of squares only
  bool first = false;             ///< the accumulators hold nothing yet, not even that

  [[nodiscard]] PENSTOCK_HD std::uint64_t lanes() const { return shape.outputs * into.parts; }
  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    std::uint64_t output = lane, from, target;
    const auto part = static_cast<std::uint32_t>(divide(output, shape.outputs));
    shape.locate(output, from, target);
    auto& held = into.held[into.index(target, part)];
    held = accumulate<Op>(shape, in + from, part, into.parts, first ? Op::nothing() : held, mean_of(target));
  }
  [[nodiscard]] PENSTOCK_HD double mean_of(std::uint64_t target) const { return means == nullptr ? 0 : means[target]; }
};

/// The same where rows of outputs are made of whole packs: a lane makes the accumulators of those of one.
template <class Op>
struct ReduceColumns {
  using T = typename Op::In;
  using Pack = Packed<T>;
  ReduceJob<Op> job;

  /// Whether every pack lies within a row, at a multiple of its size.
  [[nodiscard]] static bool fits(const ReduceJob<Op>& job) {
    const BoxShape& shape = job.shape;
    const std::uint32_t last = shape.kept - 1;
    if (shape.kept == 0 || shape.kept_stride[last] != 1 || shape.target_stride[last] != 1) return false;
    bool fits = misalignment(job.in, 16) == 0 && shape.kept_extent[last] % Pack::kCount == 0;
    for (std::uint32_t d = 0; d < last; ++d) fits = fits && shape.kept_stride[d] % Pack::kCount == 0;
    for (std::uint32_t d = 0; d < shape.reduced; ++d) fits = fits && shape.reduced_stride[d] % Pack::kCount == 0;
    return fits;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t lanes() const { return job.lanes() / Pack::kCount; }

  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    constexpr std::uint32_t kAhead = Pack::kAhead;
    const BoxShape& shape = job.shape;
    const std::uint32_t parts = job.into.parts;
    std::uint64_t pack = lane, from, target;
    const auto part = static_cast<std::uint32_t>(divide(pack, shape.outputs / Pack::kCount));
    shape.locate(pack * Pack::kCount, from, target);
    typename Op::Held* const into = job.into.held + job.into.index(target, part);
    const std::uint64_t apart = job.into.parts_together ? parts : 1;
    typename Op::Held held[Pack::kCount];
    constexpr bool kMeans = std::is_same_v<Op, Squares<T>>;
    double mean[kMeans ? Pack::kCount : 1] = {};
    PENSTOCK_UNROLL
    for (std::uint32_t c = 0; c < Pack::kCount; ++c) {
      held[c] = job.first ? Op::nothing() : into[c * apart];
      if constexpr (kMeans) mean[c] = job.mean_of(target + c);
    }
    const T* const at = job.in + from;
    for (std::uint64_t k = part; k < shape.count; k += kAhead * parts) {
      Pack ahead[kAhead];
      PENSTOCK_UNROLL
      for (std::uint32_t i = 0; i < kAhead; ++i)
        if (k + i * parts < shape.count) ahead[i] = load_aligned<Pack>(at + shape.offset(k + i * parts));
      PENSTOCK_UNROLL
      for (std::uint32_t i = 0; i < kAhead; ++i) {
        if (k + i * parts >= shape.count) break;
        PENSTOCK_UNROLL
        for (std::uint32_t c = 0; c < Pack::kCount; ++c)
          held[c] = Op::with(held[c], ahead[i].value[c], mean[kMeans ? c : 0]);
      }
    }
    PENSTOCK_UNROLL
    for (std::uint32_t c = 0; c < Pack::kCount; ++c) into[c * apart] = held[c];
  }
};

/// Into shared[0] what the elements of part number `part` of an output hold together, by one team.  `shared`: a value
/// for each of its lanes; `from`: where the elements of the output begin.
template <class Team, class Op>
PENSTOCK_HD void gather(const Team& team, const ReduceJob<Op>& job, std::uint64_t from, std::uint64_t part, double mean,
                        typename Op::Held* shared) {
  team.each_lane([&](std::uint32_t lane) {
    const std::uint64_t first = part * Team::lanes + lane, step = std::uint64_t{job.into.parts} * Team::lanes;
    shared[lane] = job.shape.reduced <= 1 && job.shape.step() <= 1
                       ? accumulate_packed<Op>(job.in + from, job.shape.count, first, step, Op::nothing(), mean)
                       : accumulate<Op>(job.shape, job.in + from, first, step, Op::nothing(), mean);
  });
  for (std::uint32_t half = Team::lanes / 2; half > 0; half /= 2)
    team.for_each(half, [&](std::uint32_t i) { shared[i] = Join<Op>::with(shared[i], shared[i + half], 0); });
}

/// Accumulator number `tile` of a box, by one team; `shared`: a value for each of its lanes.
template <class Team, class Op>
PENSTOCK_HD void reduce_tile(const Team& team, const ReduceJob<Op>& job, std::uint64_t tile,
                             typename Op::Held* shared) {
  std::uint64_t part = tile, from, target;
  const std::uint64_t output = divide(part, job.into.parts);
  job.shape.locate(output, from, target);
  gather(team, job, from, part, job.mean_of(target), shared);
  team.for_each(1, [&](std::uint32_t) {
    auto& held = job.into.held[job.into.index(target, static_cast<std::uint32_t>(part))];
    held = job.first ? shared[0] : Join<Op>::with(held, shared[0], 0);
  });
}

/// What an accumulator holds as it comes out: sums become means, or their roots; the rest stays.
template <class Held, class Out>
struct Finished {
  double divide_by;
  bool root;
  PENSTOCK_HD Out operator()(Held held) const {
    if constexpr (std::is_same_v<Held, Out>)
      if (divide_by == 1 && !root) return held;
    const double made = static_cast<double>(held) / divide_by;
    return static_cast<Out>(root ? sqrt(made) : made);
  }
};

/// A box of all elements, whose outputs are made by a team each, without accumulators.
template <class Op, class Out>
struct WholeJob {
  ReduceJob<Op> box;  ///< in one part
  Finished<typename Op::Held, Out> finished;
  Out* out;
};

/// Output number `tile` of all, by one team; `shared`: a value for each of its lanes.
template <class Team, class Op, class Out>
PENSTOCK_HD void make_tile(const Team& team, const WholeJob<Op, Out>& job, std::uint64_t tile,
                           typename Op::Held* shared) {
  std::uint64_t from, target;
  job.box.shape.locate(tile, from, target);
  gather(team, job.box, from, 0, job.box.mean_of(target), shared);
  team.for_each(1, [&](std::uint32_t) { job.out[target] = job.finished(shared[0]); });
}

/// Accumulators begin as nothing, whose bits are `value`.
template <class Word>
struct FillJob {
  Word* to;
  Word value;
  PENSTOCK_HD void operator()(std::uint64_t i) const { to[i] = value; }
};

/// What accumulators hold as it comes out.
template <class Held, class Out>
struct FinishJob {
  const Held* from;
  Out* out;
  Finished<Held, Out> finished;
  PENSTOCK_HD void operator()(std::uint64_t i) const { out[i] = finished(from[i]); }
};

}  // namespace penstock::reduce
