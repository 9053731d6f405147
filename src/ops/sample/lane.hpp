// Some outputs of a row, made by one lane of a device.
//
// What a row has in common is found once for all of them.  Most coordinates have all their neighbours: those are
// weighed straight from memory, without a question about borders, and nothing is kept in an array whose index a
// compiler does not know, which would lie in memory.  The others are left to what makes any output (spline.hpp).
#pragma once
#include <algorithm>

#include "ops/divide.hpp"
#include "ops/load.hpp"
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
  static constexpr bool kOneEach = false;                               ///< whether a thread is one lane only
  static constexpr bool kTogether = kRank > 0 && (kTaps == 1 || kTaps == 2);
  /// Outputs whose elements are under way at once; outputs of a lane, at most; lanes with neighbouring outputs.
  static constexpr std::uint32_t kAtOnce = 4, kMost = kTogether ? 16 : 4, kBeside = 32;
  /// Blocks of 256 lanes that a multiprocessor must have room for: with fewer registers a lane more loads are under
  /// way. On an H100 3 in place of 2 took affine maps of order 1 from 0.69 to 0.58 ms.
  static constexpr int kBlocks = kTogether && kTaps == 2 && sizeof(decltype(Element::job.constant)) == 4 ? 3 : 1;
  Element element;
  /// Coordinates in [low, high) of every axis have all their neighbours.
  double low = 0;
  Point<kRank> high = {};
  bool fast = false;         ///< places and outputs of a run are counted in 32 bits
  bool straight = false;     ///< along a row only the last coordinate changes
  std::uint64_t across = 1;  ///< outputs of a run: a row, or some of a list
  std::uint64_t apart = 1;   ///< outputs of a lane are so far apart that neighbouring lanes have neighbouring outputs

  explicit SampleLane(const Element& of) : element(of) {
    const Job& job = of.job;
    low = kTaps == 4 ? 1 : 0;
    across = std::max<std::uint64_t>(job.from == From::list ? std::min<std::uint64_t>(job.outputs, kAtOnce * kBeside)
                                                            : job.out_extent[job.out_dimensions - 1],
                                     1);
    const std::uint64_t least = (across + kMost - 1) / kMost;
    apart = across < kBeside ? across : (least + kBeside - 1) / kBeside * kBeside;
    fast = kRank > 0 && kTaps > 0 && job.elements <= 0x7fffffffu && across <= 0x3fffffffu;
    for (int d = 0; d < kRank; ++d) high.at[d] = fast ? static_cast<double>(job.shape[d]) - (kTaps == 4 ? 2 : 1) : low;
    straight = kTogether && job.from == From::matrix && boxed() >= static_cast<std::uint64_t>(kTaps);
    for (int d = 0; d + 1 < kRank; ++d) straight = straight && job.matrix[d * kMaxDimensions + kRank - 1] == 0;
  }

  [[nodiscard]] std::uint64_t lanes() const { return (element.job.outputs + across - 1) / across * apart; }

  PENSTOCK_HD void operator()(std::uint64_t lane) const {
    const std::uint64_t row = divide(lane, apart), begin = row * across, left = element.job.outputs - begin;
    const std::uint64_t count = left < across ? left : across;
    const Point<kRank> start = start_of(row);
    if constexpr (kTogether) {
      if (fast) {
        const Run run{begin, static_cast<std::uint32_t>(lane), static_cast<std::uint32_t>(count),
                      static_cast<std::uint32_t>(apart)};
        straight ? make_straight(start, run) : make_together(start, run);
        return;
      }
    }
    PENSTOCK_NO_UNROLL
    for (std::uint64_t x = lane; x < count; x += apart)
      element.job.out[begin + x] = value(coordinates(start, x, begin + x));
  }

 protected:
  using Job = std::remove_cvref_t<decltype(element.job)>;
  using T = std::remove_pointer_t<decltype(Job::out)>;
  using C = decltype(Job::constant);

  /// Of each axis those of its neighbours.
  using Weights = C[kRank == 0 ? 1 : kRank][kTaps == 0 ? 1 : kTaps];

  /// Outputs first, first + apart ... of the `count` that begin with number `begin`.
  struct Run {
    std::uint64_t begin;
    std::uint32_t first, count, apart;
  };

  /// Elements of the box along the last axis.
  [[nodiscard]] std::uint64_t boxed() const {
    return kRank >= 2 ? element.job.stride[kRank >= 2 ? kRank - 2 : 0] : element.job.elements;
  }
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

  PENSTOCK_HD Point<kRank> coordinates(Point<kRank> point, std::uint64_t x, std::uint64_t number) const {
    const Job& job = element.job;
    const int last = last_axis();
    if (job.from != From::list) {
      const double index = static_cast<double>(static_cast<std::int64_t>(x) + job.out_origin[last]);
      PENSTOCK_UNROLL
      for (int d = 0; d < axes(); ++d)
        point.at[d] += job.from == From::matrix ? job.matrix[d * kMaxDimensions + last] * index : d == last ? index : 0;
    }
    if (job.from == From::matrix) return point;
    PENSTOCK_UNROLL
    for (int d = 0; d < axes(); ++d) point.at[d] += load_unchanging(job.coordinates + d * job.outputs + number);
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

  /// Some outputs of a lane side by side, so that their elements are under way at once.
  PENSTOCK_HD void make_together(const Point<kRank>& start, const Run& run) const {
    T* const out = element.job.out + run.begin;
    PENSTOCK_NO_UNROLL
    for (std::uint32_t first = run.first; first < run.count; first += kAtOnce * run.apart) {
      Place place[kAtOnce];
      T made[kAtOnce];
      std::int32_t some = -1;  // where elements are that can be read in place of those that are not there
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        const std::uint32_t x = first + k * run.apart, there = x < run.count ? x : first;
        place[k] = place_of(coordinates(start, there, run.begin + there));
        some = place[k].within ? place[k].from : some;
      }
      if (some >= 0) {
        PENSTOCK_UNROLL
        for (std::uint32_t k = 0; k < kAtOnce; ++k)
          made[k] = weighed(place[k].within ? place[k].from : some, place[k].weight);
      }
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        const std::uint32_t x = first + k * run.apart;
        if (x >= run.count) break;
        out[x] = place[k].within ? made[k] : beyond(element, coordinates(start, x, run.begin + x));
      }
    }
  }

  /// Rows of the input that a row of the output is made of, and what each counts.
  struct Rows {
    static constexpr int kCount = kTaps == 1 || kRank < 2 ? 1 : 1 << (kRank - 1);
    bool constant = false;  ///< there are none
    bool plain = true;      ///< the constant has no weight
    std::int32_t from[kCount];
    C weight[kCount];
  };
  /// Of a row in which all coordinates but the last are the same, wherever they lie.
  PENSTOCK_HD Rows rows_of(const Point<kRank>& start) const {
    const Job& job = element.job;
    Rows rows;
    rows.from[0] = 0, rows.weight[0] = C(1);
    PENSTOCK_UNROLL
    for (int d = 0; d + 1 < kRank; ++d) {
      double x = start.at[d];
      if (!job.fold_one(static_cast<std::uint32_t>(d), x)) rows.constant = true;
      if (rows.constant) break;
      if constexpr (kTaps == 1) {
        const std::int64_t at = element_at(static_cast<std::int64_t>(std::floor(x + 0.5)),
                                           static_cast<std::int64_t>(job.shape[d]), job.mode);
        rows.constant = at < 0;
        rows.from[0] += static_cast<std::int32_t>((at - job.origin[d]) * static_cast<std::int64_t>(job.stride[d]));
      } else {
        Taps<C, 1> taps;
        taps.find(1, x, job.shape[d], job.origin[d], job.stride[d], job.mode);
        rows.plain = rows.plain & (taps.beyond == C(0));
        PENSTOCK_UNROLL
        for (int r = (1 << d) - 1; r >= 0; --r) {  // each becomes two, the last first
          const std::int32_t from = rows.from[r];
          const C weight = rows.weight[r];
          PENSTOCK_UNROLL
          for (int k = 1; k >= 0; --k) {
            rows.from[2 * r + k] = from + static_cast<std::int32_t>(taps.offset[k]);
            rows.weight[2 * r + k] = weight * taps.weight[k];
          }
        }
      }
    }
    return rows;
  }

  /// Outputs of a row along which only the last coordinate changes: what lies beside it is found once.
  PENSTOCK_HD void make_straight(const Point<kRank>& start, const Run& run) const {
    const Job& job = element.job;
    T* const out = job.out + run.begin;
    const Rows rows = rows_of(start);
    if (rows.constant || !rows.plain) {
      PENSTOCK_NO_UNROLL
      for (std::uint32_t x = run.first; x < run.count; x += run.apart)
        out[x] = rows.constant ? nearest<T>(job.constant) : beyond(element, coordinates(start, x, run.begin + x));
      return;
    }
    constexpr int kLast = kRank - 1;
    const double begin = start.at[kLast], step = job.matrix[kLast * kMaxDimensions + kLast], end = high.at[kLast];
    const double apart_by = static_cast<double>(run.apart);
    const auto origin = static_cast<std::int32_t>(job.origin[kLast]);
    double index = static_cast<double>(static_cast<std::int64_t>(run.first) + job.out_origin[kLast]);
    PENSTOCK_NO_UNROLL
    for (std::uint32_t first = run.first; first < run.count; first += kAtOnce * run.apart) {
      bool within[kAtOnce];
      std::int32_t from[kAtOnce];
      C rest[kAtOnce], made[kAtOnce];
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k, index += apart_by) {
        const double x = begin + step * index;
        within[k] = (x >= low) & (x < end);
        const Cell cell = cell_of((within[k] ? x : low) + (kTaps == 1 ? 0.5 : 0));
        from[k] = within[k] ? cell.below - origin : 0;  // where there is none its weights count for nothing
        rest[k] = static_cast<C>(cell.rest);
      }
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) made[k] = along(rows, from[k], rest[k]);
      PENSTOCK_UNROLL
      for (std::uint32_t k = 0; k < kAtOnce; ++k) {
        const std::uint32_t x = first + k * run.apart;
        if (x >= run.count) break;
        out[x] = within[k] ? nearest<T>(made[k]) : beyond(element, coordinates(start, x, run.begin + x));
      }
    }
  }
  /// At an element of the last axis, and `rest` beyond it.
  PENSTOCK_HD C along(const Rows& rows, std::int32_t from, C rest) const {
    C made = C(0);
    PENSTOCK_UNROLL
    for (int r = 0; r < Rows::kCount; ++r) {
      const T* const at = element.job.in + (rows.from[r] + from);
      if constexpr (kTaps == 1) {
        made = load_unchanging(at);
      } else {
        const C here = static_cast<C>(load_unchanging(at)), next = static_cast<C>(load_unchanging(at + 1));
        made += rows.weight[r] * (here * (C(1) - rest) + next * rest);
      }
    }
    return made;
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
      return load_unchanging(element.job.in + from);
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
        here = static_cast<C>(load_unchanging(at + k));
      else
        here = sum<kAxis + 1>(at + k * static_cast<std::int64_t>(element.job.stride[kAxis]), weight);
      made = k == 0 ? weight[kAxis][0] * here : made + weight[kAxis][k] * here;
    }
    return made;
  }
};

/// One output of a list of which `fast` holds, by a lane that needs nothing after the call that the few with neighbours
/// missing take: what it kept would lie in memory, and on an H100 was most of what these lanes wrote.
template <class Element>
struct ListLane : SampleLane<Element> {
  using Base = SampleLane<Element>;
  using Base::element, Base::kRank;
  static constexpr bool kOneEach = true;
  /// Lists of float32 took 0.52 ms on an H100 by 4 with two outputs at once, 0.42 by 6 and by 8; on an H200 0.48, 0.34
  /// and 0.32.
  static constexpr int kBlocks = sizeof(decltype(Element::job.constant)) == 4 ? 8 : 4;
  using Base::Base;

  [[nodiscard]] std::uint64_t lanes() const { return element.job.outputs; }

  PENSTOCK_HD void operator()(std::uint64_t number) const {
    const auto& job = element.job;
    Point<kRank> point;
    PENSTOCK_UNROLL
    for (int d = 0; d < kRank; ++d) point.at[d] = load_unchanging(job.coordinates + d * job.outputs + number);
    PENSTOCK_UNROLL
    for (int d = 0; d < kRank; ++d) point.at[d] += job.offset[d];
    const typename Base::Place place = this->place_of(point);
    if (place.within)
      job.out[number] = this->weighed(place.from, place.weight);
    else
      any(element, number);
  }

 private:
  PENSTOCK_HD_CALLED static void any(const Element& element, std::uint64_t number) { element(number); }
};

/// Calls f with the lanes of a job.  Those of the plane and of space are compiled for themselves, at the orders 0, 1
/// and 3; the rest takes any.  False: nothing takes such elements (sampled_type).
template <class T, class C, class F>
bool with_lanes(const SampleJob<T, C>& job, const F& f) {
  const std::uint32_t rank = job.from == From::list || job.out_dimensions == job.dimensions ? job.dimensions : 0;
  const auto as = [&]<class Element>(const Element& element) {
    const SampleLane<Element> lanes(element);
    if constexpr (Element::kTaps == 2 && Element::kRank > 1)
      if (lanes.fast && job.from == From::list) return f(ListLane<Element>(element)), true;
    return f(lanes), true;
  };
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
