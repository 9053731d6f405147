// Counting elements into tables: by the digits of their value (percentiles without a sort) and into bins (histograms).
// Written once; a device runs the tiles, the CPU the same indices in plain loops.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/portable.hpp"

namespace penstock::select {

/// Unsigned number of the same size.
template <class T>
using Key = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                               std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// A number that is ordered as the elements are; NaNs come last, with all bits set.
template <class T>
PENSTOCK_HD Key<T> key_of(T value) {
  using K = Key<T>;
  constexpr K top = static_cast<K>(K{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return static_cast<K>(~K{0});
    K bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return (bits & top) != 0 ? static_cast<K>(~bits) : static_cast<K>(bits | top);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<K>(static_cast<K>(value) ^ top);
  } else {
    return static_cast<K>(value);
  }
}
template <class T>
PENSTOCK_HD T value_of(Key<T> key) {
  using K = Key<T>;
  constexpr K top = static_cast<K>(K{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    const K bits = (key & top) != 0 ? static_cast<K>(key ^ top) : static_cast<K>(~key);  // ~0 becomes a NaN
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(key ^ top);
  } else {
    return static_cast<T>(key);
  }
}

inline constexpr std::uint32_t kMaxPrefixes = 64;

/// Where an element is counted: its next digit, in the table of those that begin as it does.
struct DigitTable {
  std::uint32_t shift = 0;  ///< bits below the digit
  std::uint32_t digit_bits = 16;
  std::uint32_t prefixes = 1;               ///< how many tables there are
  std::uint64_t prefix[kMaxPrefixes] = {};  ///< the bits above the digit
  bool first = true;                        ///< there are no bits above it

  [[nodiscard]] PENSTOCK_HD std::uint32_t size() const { return prefixes << digit_bits; }
  /// size(): in none.
  template <class T>
  PENSTOCK_HD std::uint32_t index(T value) const {
    const std::uint64_t key = key_of(value);
    const auto digit = static_cast<std::uint32_t>((key >> shift) & ((std::uint64_t{1} << digit_bits) - 1));
    if (first) return digit;
    const std::uint64_t begins = key >> shift >> digit_bits;
    for (std::uint32_t p = 0; p < prefixes; ++p)
      if (prefix[p] == begins) return (p << digit_bits) + digit;
    return size();
  }
};

/// Bins between edges; the last one has its upper edge too, as NumPy's histogram.
struct BinTable {
  double low = 0, high = 1;
  std::uint32_t bins = 1;
  const double* edges = nullptr;  ///< bins + 1, ascending

  [[nodiscard]] PENSTOCK_HD std::uint32_t size() const { return bins; }
  template <class T>
  PENSTOCK_HD std::uint32_t index(T element) const {
    const auto value = static_cast<double>(element);
    if (!(value >= low && value <= high)) return bins;
    if (high == low) return bins - 1;
    auto bin = static_cast<std::uint32_t>((value - low) / (high - low) * bins);
    bin = bin < bins ? bin : bins - 1;
    // Rounding may have put it on the wrong side of an edge.
    if (value < edges[bin] && bin > 0)
      --bin;
    else if (bin + 1 < bins && value >= edges[bin + 1])
      ++bin;
    return bin;
  }
};

/// What one pass over elements sums up.
struct Summary {
  std::uint64_t least = ~std::uint64_t{0}, most = 0;  ///< keys, of those that are numbers
  std::uint64_t nans = 0;
  double sum = 0, squares = 0;  ///< of those that are numbers; squares of the distances from `around`
};
template <class T>
PENSTOCK_HD void add_to(Summary& summary, T value, double around) {
  const std::uint64_t key = key_of(value);
  if (std::is_floating_point_v<T> && value != value) {  // NOLINT(misc-redundant-expression)
    ++summary.nans;
    return;
  }
  summary.least = key < summary.least ? key : summary.least;
  summary.most = key > summary.most ? key : summary.most;
  const double distance = static_cast<double>(value) - around;
  summary.sum += distance;
  summary.squares += distance * distance;
}
PENSTOCK_HD void join(Summary& into, const Summary& other) {
  into.least = other.least < into.least ? other.least : into.least;
  into.most = other.most > into.most ? other.most : into.most;
  into.nans += other.nans;
  into.sum += other.sum;
  into.squares += other.squares;
}

/// Elements [first, last) of one team's share of `count`.
struct Share {
  std::uint64_t first = 0, last = 0;
  PENSTOCK_HD static Share of(std::uint64_t count, std::uint32_t team, std::uint32_t teams) {
    const std::uint64_t each = (count + teams - 1) / teams;
    Share share;
    share.first = each * team < count ? each * team : count;
    share.last = share.first + each < count ? share.first + each : count;
    return share;
  }
};

/// One team counts its share in `shared` (table.size() counters) and adds them to `counts`.
template <class Team, class T, class Table>
PENSTOCK_HD void count_tile(const Team& team, const T* in, const Share& share, const Table& table,
                            std::uint32_t* shared, std::uint64_t* counts) {
  const std::uint32_t size = table.size();
  team.for_each(size, [&](std::uint32_t i) { shared[i] = 0; });
  for (std::uint64_t at = share.first; at < share.last; at += 1u << 30) {
    const std::uint64_t left = share.last - at;
    team.template for_each_batched<4>(
        left < (1u << 30) ? static_cast<std::uint32_t>(left) : 1u << 30, [&](std::uint32_t i) { return in[at + i]; },
        [&](std::uint32_t, T value) {
          const std::uint32_t index = table.index(value);
          if (index < size) atomic_add(&shared[index], 1u);
        });
  }
  team.for_each(size, [&](std::uint32_t i) {
    if (shared[i] != 0) atomic_add(&counts[i], std::uint64_t{shared[i]});
  });
}

/// One team sums its share up; `shared`: a Summary for each lane.
template <class Team, class T>
PENSTOCK_HD void summary_tile(const Team& team, const T* in, const Share& share, double around, Summary* shared,
                              Summary* out) {
  team.each_lane([&](std::uint32_t lane) {
    Summary summary;
    for (std::uint64_t i = share.first + lane; i < share.last; i += Team::lanes) add_to(summary, in[i], around);
    shared[lane] = summary;
  });
  for (std::uint32_t half = Team::lanes / 2; half > 0; half /= 2)
    team.for_each(half, [&](std::uint32_t i) { join(shared[i], shared[i + half]); });
  team.for_each(1, [&](std::uint32_t) { *out = shared[0]; });
}

}  // namespace penstock::select
