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

/// What goes on in one pass.
template <class T>
struct Sum {
  using In = T;
  using Held = std::conditional_t<
      std::is_floating_point_v<T>, double,
      std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>, std::uint64_t, std::int64_t>>;
  PENSTOCK_HD static Held nothing() { return Held(0); }
  // Unsigned: a sum that does not fit wraps, as in NumPy.
  PENSTOCK_HD static void add(Held& held, T value, double) { join(held, static_cast<Held>(value)); }
  PENSTOCK_HD static void join(Held& held, Held other) {
    if constexpr (std::is_integral_v<Held>)
      held = static_cast<Held>(static_cast<std::uint64_t>(held) + static_cast<std::uint64_t>(other));
    else
      held += other;
  }
};
/// In double, for means.
template <class T>
struct Total {
  using In = T;
  using Held = double;
  PENSTOCK_HD static double nothing() { return 0; }
  PENSTOCK_HD static void add(double& held, T value, double) { held += static_cast<double>(value); }
  PENSTOCK_HD static void join(double& held, double other) { held += other; }
};
/// Of the distances from the mean.
template <class T>
struct Squares : Total<T> {
  PENSTOCK_HD static void add(double& held, T value, double mean) {
    const double distance = static_cast<double>(value) - mean;
    held += distance * distance;
  }
};
/// NaN wins, as in NumPy.
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
  PENSTOCK_HD static void add(T& held, T value, double) { join(held, value); }
  PENSTOCK_HD static void join(T& held, T other) { held = other != other || other < held ? other : held; }
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
  PENSTOCK_HD static void add(T& held, T value, double) { join(held, value); }
  PENSTOCK_HD static void join(T& held, T other) { held = other != other || other > held ? other : held; }
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
    auto value = held;
    for (std::uint64_t k = part; k < shape.count; k += into.parts) Op::add(value, in[from + shape.offset(k)], mean);
    held = value;
  }
};

template <class Op>
struct ClearJob {
  typename Op::Held* held;
  PENSTOCK_HD void operator()(std::uint64_t i) const { held[i] = Op::nothing(); }
};

/// Joins the parts; what comes out is divided, and its root taken, where that is wanted.
template <class Op, class Out>
struct FinishJob {
  Accumulators<typename Op::Held> from;
  Out* out;
  double divide_by = 1;
  bool root = false;
  PENSTOCK_HD void operator()(std::uint64_t target) const {
    auto held = Op::nothing();
    for (std::uint32_t part = 0; part < from.parts; ++part) Op::join(held, from.held[from.index(target, part)]);
    if constexpr (std::is_same_v<typename Op::Held, double>) {
      held = held / divide_by;
      if (root) held = sqrt(held);
    }
    out[target] = static_cast<Out>(held);
  }
};

}  // namespace penstock::reduce
