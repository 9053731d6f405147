// Percentiles of all tiles, exact, in two passes over them and without a sort: the higher 16 bits of the wanted
// elements are found by counting, then the lower ones.
#pragma once
#include <mutex>
#include <optional>
#include <vector>

#include "oct/work.hpp"

namespace penstock::oct {

/// while (p.looks()) { add(...) all tiles; end_look(); }  result(group);
class TilePercentiles {
 public:
  /// Bytes of the counters of a group, at most.
  static std::uint64_t group_bytes(std::size_t percentiles);
  /// `groups`: planes that have their own, or one for all elements.  `percentiles`: from 0 to 100.  `skips`: what is
  /// not finite does not count; else it counts as 0.
  void begin(std::uint64_t groups, std::vector<double> percentiles, bool skips);
  [[nodiscard]] bool looks() const { return pass_ < 2; }
  /// Elements of a tile: (planes, pixels), as many planes as there are groups, or any where there is one.  `mask`: the
  /// pixels that count, where the work is; nullptr: all.  From several threads.
  Status add(const float* elements, std::uint64_t planes, std::uint64_t pixels, const std::uint8_t* mask,
             const Tools& tools);
  /// Memory for the counters, before anything is added.  Errors: budget_too_small.
  Status reserve(const Tools& tools);
  Status end_look(const Tools& tools);
  /// As NumPy's `linear`.  nullopt: none of a group's elements counted.
  [[nodiscard]] std::optional<std::vector<double>> result(std::uint64_t group) const;

 private:
  struct Rank {
    std::uint64_t number = 0;  ///< of the element, in order
    std::uint64_t left = 0;    ///< the same, of those with its higher digits
    std::uint32_t key = 0;
  };
  void find_high(std::span<const std::uint64_t> counts);
  void find_low(std::span<const std::uint64_t> counts);

  std::uint64_t groups_ = 0;
  std::vector<double> percentiles_;
  bool skips_ = false;
  int pass_ = 0;
  std::uint32_t prefixes_ = 1;
  std::vector<std::vector<Rank>> ranks_;  // of each group, two for each percentile; none: nothing counted
  std::vector<std::uint64_t> elements_;   // of each group
  std::vector<std::uint32_t> prefix_;
  std::mutex mutex_;
  bool reserved_ = false;
  Numbers<std::uint64_t> counts_;
  Numbers<std::uint32_t> prefix_there_;
};

}  // namespace penstock::oct
