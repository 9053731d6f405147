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
      const std::uint64_t k = output % kept_extent[d];
      output /= kept_extent[d];
      from += k * kept_stride[d];
      target += k * target_stride[d];
    }
  }
  PENSTOCK_HD std::uint64_t offset(std::uint64_t k) const {
    if (reduced <= 1) return reduced == 0 ? 0 : k * reduced_stride[0];
    std::uint64_t at = 0;
    for (std::uint32_t d = reduced; d-- > 0;) {
      at += k % reduced_extent[d] * reduced_stride[d];
      k /= reduced_extent[d];
    }
    return at;
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

template <class Op>
struct ReduceJob {
  BoxShape shape;
  const typename Op::In* in = nullptr;
  Accumulators<typename Op::Held> into;
  const double* means = nullptr;  ///< of all outputs; of squares only

  [[nodiscard]] PENSTOCK_HD std::uint64_t lanes() const { return shape.outputs * into.parts; }
  /// One accumulator of the box; neighbouring lanes have neighbouring elements.
  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    const auto part = static_cast<std::uint32_t>(into.parts_together ? lane % into.parts : lane / shape.outputs);
    std::uint64_t from, target;
    shape.locate(into.parts_together ? lane / into.parts : lane % shape.outputs, from, target);
    const double mean = means == nullptr ? 0 : means[target];
    auto& held = into.held[into.index(target, part)];
    held = shape.reduced <= 1 ? along_one(from, part, held, mean) : along_many(from, part, held, mean);
  }

 private:
  using Held = typename Op::Held;
  /// Several elements under way at once.
  PENSTOCK_HD Held along_one(std::uint64_t from, std::uint64_t part, Held held, double mean) const {
    constexpr std::uint64_t kAhead = 8;
    const std::uint64_t step = shape.offset(1) * into.parts, parts = into.parts;
    const typename Op::In* at = in + from + shape.offset(part);
    std::uint64_t k = part;
    for (; k + (kAhead - 1) * parts < shape.count; k += kAhead * parts, at += kAhead * step) {
      typename Op::In values[kAhead];
      PENSTOCK_UNROLL
      for (std::uint64_t i = 0; i < kAhead; ++i) values[i] = at[i * step];
      PENSTOCK_UNROLL
      for (std::uint64_t i = 0; i < kAhead; ++i) held = Op::with(held, values[i], mean);
    }
    for (; k < shape.count; k += parts, at += step) held = Op::with(held, *at, mean);
    return held;
  }
  PENSTOCK_HD Held along_many(std::uint64_t from, std::uint64_t part, Held held, double mean) const {
    for (std::uint64_t k = part; k < shape.count; k += into.parts)
      held = Op::with(held, in[from + shape.offset(k)], mean);
    return held;
  }
};

/// Accumulators begin as nothing, whose bits are `value`.
template <class Word>
struct FillJob {
  Word* to;
  Word value;
  PENSTOCK_HD void operator()(std::uint64_t i) const { to[i] = value; }
};

/// Sums become means, or their roots.
template <class Held, class Out>
struct FinishJob {
  const Held* from;
  Out* out;
  double divide_by;
  bool root;
  PENSTOCK_HD void operator()(std::uint64_t i) const {
    const double made = static_cast<double>(from[i]) / divide_by;
    out[i] = static_cast<Out>(root ? sqrt(made) : made);
  }
};

}  // namespace penstock::reduce
