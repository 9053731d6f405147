// Some outputs of a row, made by one lane of a device.
//
// What a row has in common is found once for all of them.  Most coordinates have all their neighbours: those are
// weighed straight from memory, without a question about borders, and nothing is kept in an array whose index a
// compiler does not know, which would lie in memory.  The others are left to what makes any output (spline.hpp).
#pragma once
#include "ops/divide.hpp"
#include "ops/sample/spline.hpp"

namespace penstock::sample {

template <int kRank>
struct Point {
  double at[kRank == 0 ? static_cast<int>(kMaxDimensions) : kRank];
};

/// The whole number at or below a coordinate, and how far the coordinate is beyond it.  |x| < 2^31.
struct Cell {
  std::int32_t below;
  double rest;
};
PENSTOCK_HD Cell cell_of(double x) {
#if defined(__CUDA_ARCH__)
  // Added to this the fraction is rounded down and the whole number stands in the low word: a conversion would cost as
  // much as four additions.
  constexpr double kWhole = 6755399441055744.0;  // 1.5 * 2^52
  const double moved = __dadd_rd(x, kWhole);
  return {__double2loint(moved), x - (moved - kWhole)};
#else
  const double below = std::floor(x);
  return {static_cast<std::int32_t>(below), x - below};
#endif
}

/// How much the neighbours of a coordinate count that lies `t` beyond one of them.
template <class C, int kTaps>
PENSTOCK_HD void weights_at(C t, C (&weight)[kTaps]) {
  static_assert(kTaps == 1 || kTaps == 2 || kTaps == 4);
  const C s = C(1) - t;
  if constexpr (kTaps == 1) {
    weight[0] = C(1);
  } else if constexpr (kTaps == 2) {
    weight[0] = s, weight[1] = t;
  } else {
    weight[0] = s * s * s * C(1.0 / 6);
    weight[1] = C(2.0 / 3) + t * t * (C(0.5) * t - C(1));
    weight[2] = C(2.0 / 3) + s * s * (C(0.5) * s - C(1));
    weight[3] = t * t * t * C(1.0 / 6);
  }
}

/// Element: NearestElement or SplineElement.
template <class Element>
struct SampleLane {
  static constexpr int kRank = Element::kRank, kTaps = Element::kTaps;  ///< 0: any number
  static constexpr std::uint32_t kOutputs = 4;
  Element element;
  /// Coordinates in [low, high) of every axis have all their neighbours.
  double low = 0;
  Point<kRank> high = {};
  bool straight = false;  ///< along a row only the last coordinate changes

  explicit SampleLane(const Element& of) : element(of) {
    low = kTaps == 4 ? 1 : 0;
    // Places are counted in 32 bits.
    const bool counts = kRank > 0 && kTaps > 0 && of.job.elements <= 0x7fffffffu;
    for (int d = 0; d < kRank; ++d)
      high.at[d] = counts ? static_cast<double>(of.job.shape[d]) - (kTaps == 4 ? 2 : 1) : low;
    straight = kRank > 0 && of.job.from == From::matrix;
    for (int d = 0; d + 1 < kRank; ++d) straight = straight && of.job.matrix[d * kMaxDimensions + kRank - 1] == 0;
  }

  [[nodiscard]] PENSTOCK_HD std::uint64_t width() const {
    return element.job.out_extent[element.job.out_dimensions - 1];
  }
  /// Outputs of a lane are so far apart that neighbouring lanes have neighbouring outputs.
  [[nodiscard]] PENSTOCK_HD std::uint64_t apart() const { return (width() + kOutputs - 1) / kOutputs; }
  [[nodiscard]] std::uint64_t lanes() const {
    return element.job.outputs == 0 ? 0 : element.job.outputs / width() * apart();
  }

  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    const std::uint64_t across = width(), step = apart(), row = divide(lane, step);
    const Point<kRank> start = start_of(row);
    if constexpr (kRank > 0 && (kTaps == 1 || kTaps == 2)) {
      straight ? make_together<true>(start, row, lane) : make_together<false>(start, row, lane);
    } else {
      PENSTOCK_NO_UNROLL
      for (std::uint64_t x = lane; x < across; x += step) {
        const std::uint64_t number = row * across + x;
        element.job.out[number] = value(coordinates<false>(start, x, number));
      }
    }
  }

 private:
  using Job = std::remove_cvref_t<decltype(element.job)>;
  using T = std::remove_pointer_t<decltype(Job::out)>;
  using C = decltype(Job::constant);

  /// Of each axis those of its neighbours.
  using Weights = C[kRank == 0 ? 1 : kRank][kTaps == 0 ? 1 : kTaps];

  [[nodiscard]] PENSTOCK_HD int axes() const { return kRank == 0 ? static_cast<int>(element.job.dimensions) : kRank; }
  /// Of outputs that are no list.
  [[nodiscard]] PENSTOCK_HD int last_axis() const {
    return (kRank == 0 ? static_cast<int>(element.job.out_dimensions) : kRank) - 1;
  }

  /// The coordinates that the row begins with, but for those that are given for each output.
  PENSTOCK_HD Point<kRank> start_of(std::uint64_t row) const {
    const Job& job = element.job;
    Point<kRank> start;
    PENSTOCK_UNROLL
    for (int d = 0; d < axes(); ++d) start.at[d] = job.offset[d];
    if (job.from == From::list) return start;
    Point<kRank> index;
    PENSTOCK_UNROLL
    for (int k = last_axis() - 1; k >= 0; --k) {
      std::uint64_t rest = row;
      row = divide(rest, job.out_extent[k]);
      index.at[k] = static_cast<double>(static_cast<std::int64_t>(rest) + job.out_origin[k]);
    }
    // In the order of SampleJob::coordinates_of, so that they are rounded alike.
    PENSTOCK_UNROLL
    for (int d = 0; d < axes(); ++d) {
      PENSTOCK_UNROLL
      for (int k = 0; k < last_axis(); ++k)
        start.at[d] += job.from == From::matrix ? job.matrix[d * kMaxDimensions + k] * index.at[k]
                       : d == k                 ? index.at[k]
                                                : 0;
    }
    return start;
  }

  template <bool kStraight>
  PENSTOCK_HD Point<kRank> coordinates(Point<kRank> point, std::uint64_t x, std::uint64_t number) const {
    const Job& job = element.job;
    const int last = last_axis();
    if constexpr (kStraight) {
      const double index = static_cast<double>(static_cast<std::int64_t>(x) + job.out_origin[last]);
      point.at[kRank - 1] += job.matrix[(kRank - 1) * kMaxDimensions + kRank - 1] * index;
      return point;
    }
    if (job.from != From::list) {
      const double index = static_cast<double>(static_cast<std::int64_t>(x) + job.out_origin[last]);
      PENSTOCK_UNROLL
      for (int d = 0; d < axes(); ++d)
        point.at[d] += job.from == From::matrix ? job.matrix[d * kMaxDimensions + last] * index : d == last ? index : 0;
    }
    if (job.from == From::matrix) return point;
    PENSTOCK_UNROLL
    for (int d = 0; d < axes(); ++d) point.at[d] += job.coordinates[d * job.outputs + number];
    return point;
  }

  /// Where the neighbours of a coordinate begin in memory, and what they count.
  struct Place {
    bool within = true;  ///< all of them are there
    std::int32_t from = 0;
    Weights weight;
  };
  PENSTOCK_HD Place place_of(const Point<kRank>& point) const {
    const Job& job = element.job;
    Place place;
    PENSTOCK_UNROLL
    for (int d = 0; d < kRank; ++d) {
      const double x = point.at[d];
      const bool here = (x >= low) & (x < high.at[d]);
      place.within = place.within & here;
      const Cell cell = cell_of((here ? x : low) + (kTaps == 1 ? 0.5 : 0));
      weights_at(static_cast<C>(cell.rest), place.weight[d]);
      const auto origin = static_cast<std::int32_t>(job.origin[d]), stride = static_cast<std::int32_t>(job.stride[d]);
      place.from += (cell.below - origin - (kTaps == 4 ? 1 : 0)) * stride;
    }
    return place;
  }

  /// All outputs of a lane side by side, so that their elements are under way at once.
  template <bool kStraight>
  PENSTOCK_HD void make_together(const Point<kRank>& start, std::uint64_t row, std::uint64_t first) const {
    const std::uint64_t across = width(), step = apart(), begin = row * across;
    Place place[kOutputs];
    T made[kOutputs];
    std::int32_t some = -1;  // where elements are that can be read in place of those that are not there
    PENSTOCK_UNROLL
    for (std::uint32_t k = 0; k < kOutputs; ++k) {
      const std::uint64_t x = first + k * step, there = x < across ? x : first;
      place[k] = place_of(coordinates<kStraight>(start, there, begin + there));
      some = place[k].within ? place[k].from : some;
    }
    if (some >= 0) {
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kOutputs; ++k)
        made[k] = weighed(place[k].within ? place[k].from : some, place[k].weight);
    }
    PENSTOCK_UNROLL
    for (std::uint32_t k = 0; k < kOutputs; ++k) {
      const std::uint64_t x = first + k * step;
      if (x >= across) break;
      element.job.out[begin + x] =
          place[k].within ? made[k] : beyond(element, coordinates<kStraight>(start, x, begin + x));
    }
  }

  PENSTOCK_HD T value(const Point<kRank>& point) const {
    if constexpr (kRank > 0 && kTaps > 0) {
      bool within = true;
      PENSTOCK_UNROLL
      for (int d = 0; d < kRank; ++d) within = within & (point.at[d] >= low) & (point.at[d] < high.at[d]);
      if (within) {
        const Place place = place_of(point);
        return weighed(place.from, place.weight);
      }
    }
    return beyond(element, point);
  }

  /// Called, so that what it needs does not take registers from the others.
  PENSTOCK_HD_CALLED static T beyond(const Element& element, Point<kRank> point) { return element.any(point.at); }

  PENSTOCK_HD T weighed(std::int32_t from, const Weights& weight) const {
    if constexpr (kTaps == 1)
      return element.job.in[from];
    else
      return nearest<T>(sum<0>(element.job.in + from, weight));
  }

  /// What lies along the dimensions from kAxis on.
  template <int kAxis>
  PENSTOCK_HD C sum(const T* at, const Weights& weight) const {
    C made = C(0);
    PENSTOCK_UNROLL
    for (int k = 0; k < kTaps; ++k) {
      C here;
      if constexpr (kAxis == kRank - 1)
        here = static_cast<C>(at[k]);
      else
        here = sum<kAxis + 1>(at + k * static_cast<std::int64_t>(element.job.stride[kAxis]), weight);
      made = k == 0 ? weight[kAxis][0] * here : made + weight[kAxis][k] * here;
    }
    return made;
  }
};

/// Calls f with the lanes of a job.  Those of the plane and of space are compiled for themselves, at the orders 0, 1
/// and 3; the rest takes any.  False: nothing takes such elements (sampled_type).
template <class T, class C, class F>
bool with_lanes(const SampleJob<T, C>& job, const F& f) {
  const std::uint32_t rank = job.from == From::list || job.out_dimensions == job.dimensions ? job.dimensions : 0;
  const auto as = [&](const auto& element) { return f(SampleLane(element)), true; };
  if constexpr (std::is_same_v<T, C> && std::is_integral_v<T>) {
    if (rank == 2) return as(NearestElement<T, 2>{job});
    if (rank == 3) return as(NearestElement<T, 3>{job});
    return as(NearestElement<T, 0>{job});
  } else {
    if (job.order == 1 && rank == 2) return as(SplineElement<T, C, 1, 2>{job});
    if (job.order == 1 && rank == 3) return as(SplineElement<T, C, 1, 3>{job});
    if constexpr (std::is_same_v<T, C>) {
      if (job.order == 1 && rank == 1) return as(SplineElement<T, C, 1, 1>{job});
      if (job.order == 3 && rank == 1) return as(SplineElement<T, C, 3, 1>{job});
      if (job.order == 3 && rank == 2) return as(SplineElement<T, C, 3, 2>{job});
      if (job.order == 3 && rank == 3) return as(SplineElement<T, C, 3, 3>{job});
      return as(SplineElement<T, C, 0, 0>{job});
    }
    return false;
  }
}

}  // namespace penstock::sample
