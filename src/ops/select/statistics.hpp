// Statistics of elements that are seen several times from the first to the last: in memory, or tile by tile.
//
// Percentiles are exact and nothing is sorted: the digits of the wanted elements, from the highest, are found by
// counting, one digit a pass, those elements whose higher digits are the ones found before.
#pragma once
#include <optional>
#include <vector>

#include "ops/select/select.hpp"
#include "penstock/ops.hpp"

namespace penstock::select {

inline constexpr std::uint32_t kMaxBins = 1u << 20;
inline constexpr std::uint32_t kOtsuBins = 256;
/// Each looks for two elements, and one more is looked for.
inline constexpr std::size_t kMaxPercentiles = (kMaxPrefixes - 1) / 2;

/// Edges of equal bins.
std::vector<double> bin_edges(double low, double high, std::uint32_t bins);

/// while (s.next_pass()) { add(...) all elements; end_pass(); }  result();
class Statistician {
 public:
  /// Errors: unsupported (type), invalid_argument (no elements, percentiles, bins).
  static Result<Statistician> make(const DType& dtype, std::uint64_t elements, const StatisticsRequest& request,
                                   bool on_device);
  /// Whether the elements must be seen (again).
  bool next_pass();
  /// Some of the elements, packed; each is added once in a pass.
  Status add(const TensorView& elements, const Workspace& work);
  Status end_pass();
  [[nodiscard]] Statistics result();

 private:
  /// An element that is looked for: the bits found so far, and its number among those that begin so.
  struct Rank {
    std::uint64_t number = 0, prefix = 0, left = 0;
  };
  struct Bins {
    BinTable table;
    std::vector<double> edges;
    std::vector<std::uint64_t> counts;
  };
  void begin_bins();
  Status choose_centre(const TensorView& elements, const Workspace& work);
  void finish_summary();
  void narrow_down();
  void bins_of_levels();
  [[nodiscard]] double value(std::uint64_t key) const;

  DType dtype_;
  StatisticsRequest request_;
  std::uint64_t elements_ = 0;
  std::uint32_t bits_ = 0, digit_bits_ = 0, done_bits_ = 0;
  int pass_ = 0;
  bool sums_up_ = true;  ///< the first pass makes a summary
  bool searches_ = false, bins_now_ = false;
  bool counts_levels_ = false;  ///< at most 2^16 values: all of them are counted, which answers everything
  std::vector<Rank> ranks_;
  std::vector<std::uint64_t> prefixes_, counts_, levels_;
  DigitTable table_;
  Bins bins_, otsu_;
  Summary summary_;
  std::optional<double> around_;
  Statistics result_;
};

}  // namespace penstock::select
