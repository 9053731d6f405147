// Statistics of elements that are seen several times from the first to the last: in memory, or tile by tile.
#include "ops/select/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"

namespace penstock::select {
namespace {

Error bad(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

/// The midpoint at which two classes of a histogram differ most.  N. Otsu, A threshold selection method from gray-level
/// histograms, IEEE Trans. SMC 9 (1979).
double otsu_of(const std::vector<std::uint64_t>& counts, const std::vector<double>& centers) {
  const std::size_t n = counts.size();
  std::vector<double> above_weight(n), above_mean(n);
  double weight = 0, sum = 0;
  for (std::size_t i = n; i-- > 0;) {
    weight += static_cast<double>(counts[i]);
    sum += static_cast<double>(counts[i]) * centers[i];
    above_weight[i] = weight;
    above_mean[i] = sum / weight;
  }
  double below_weight = 0, below_sum = 0, best = -1, threshold = n > 0 ? centers[0] : 0;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    below_weight += static_cast<double>(counts[i]);
    below_sum += static_cast<double>(counts[i]) * centers[i];
    const double distance = below_sum / below_weight - above_mean[i + 1];
    const double variance = below_weight * above_weight[i + 1] * distance * distance;
    if (variance > best) best = variance, threshold = centers[i];
  }
  return threshold;
}

}  // namespace

Result<Statistician> Statistician::make(const DType& dtype, std::uint64_t elements, const StatisticsRequest& request,
                                        bool on_device) {
  if (!is_operand(dtype)) return Error(ErrorCode::unsupported, "no statistics of elements of type " + dtype.name());
  if (elements == 0) return bad("there are no elements, so no statistics of them");
  if (request.percentiles.size() > kMaxPercentiles)
    return bad(fmt::format("{} percentiles: at most {} at once", request.percentiles.size(), kMaxPercentiles));
  for (const double q : request.percentiles)
    if (!(q >= 0 && q <= 100)) return bad(fmt::format("percentile {}: it is a number from 0 to 100", q));
  if (request.bins > kMaxBins) return bad(fmt::format("{} bins: at most {}", request.bins, kMaxBins));
  if (request.range) {
    const auto [low, high] = *request.range;
    if (!std::isfinite(low) || !std::isfinite(high) || low > high)
      return bad(fmt::format("the range of a histogram is two finite numbers in order, not {}, {}", low, high));
  }
  Statistician s;
  s.dtype_ = dtype;
  s.request_ = request;
  s.elements_ = elements;
  s.bits_ = 8 * dtype.size_bytes;
  s.digit_bits_ = on_device ? kDeviceDigitBits : kHostDigitBits;
  for (const double q : request.percentiles) {
    const double at = q / 100 * static_cast<double>(elements - 1);
    const auto below = std::min(static_cast<std::uint64_t>(at), elements - 1);
    s.ranks_.push_back({below, 0, below});
    s.ranks_.push_back({std::min(below + 1, elements - 1), 0, std::min(below + 1, elements - 1)});
  }
  const bool bins_need = (request.bins > 0 && !request.range) || request.otsu;
  s.sums_up_ = request.summary || bins_need;
  // Without a summary it is the last element that says whether there is a NaN.
  if (!s.sums_up_ && !s.ranks_.empty()) s.ranks_.push_back({elements - 1, 0, elements - 1});
  s.counts_levels_ = s.bits_ <= kHostDigitBits && (request.bins > 0 || request.otsu);
  return s;
}

bool Statistician::next_pass() {
  ++pass_;
  counts_.clear();
  const bool searching = (!ranks_.empty() || counts_levels_) && done_bits_ < bits_;
  if (searching) {
    table_ = DigitTable();
    // Every level is wanted: then in one pass.
    table_.digit_bits = std::min(counts_levels_ ? bits_ : digit_bits_, bits_ - done_bits_);
    table_.shift = bits_ - done_bits_ - table_.digit_bits;
    table_.first = done_bits_ == 0;
    table_.prefixes = static_cast<std::uint32_t>(std::max<std::size_t>(prefixes_.size(), 1));
    std::ranges::copy(prefixes_, table_.prefix);
    counts_.assign(table_.size(), 0);
  }
  searches_ = searching;
  bins_now_ = pass_ == (sums_up_ ? 2 : 1) && !counts_levels_ && (request_.bins > 0 || request_.otsu);
  if (bins_now_) begin_bins();
  return (pass_ == 1 && sums_up_) || searching || bins_now_;
}

void Statistician::begin_bins() {
  const auto begin = [&](Bins& bins, std::uint32_t count, double low, double high) {
    bins.table = {low, high, count, nullptr};
    bins.edges = bin_edges(low, high, count);
    bins.table.edges = bins.edges.data();
    bins.counts.assign(count, 0);
  };
  const auto [low, high] = request_.range.value_or(std::pair(result_.min, result_.max));
  if (request_.bins > 0) begin(bins_, request_.bins, low, high);
  if (request_.otsu) begin(otsu_, kOtsuBins, result_.min, result_.max);
}

std::vector<double> bin_edges(double low, double high, std::uint32_t bins) {
  std::vector<double> edges(bins + 1);
  const double step = (high - low) / bins;
  for (std::uint32_t i = 0; i < bins; ++i) edges[i] = low + i * step;
  edges[bins] = high;
  return edges;
}

Status Statistician::add(const TensorView& elements, const Workspace& work) {
  if (pass_ == 1 && sums_up_) {
    if (!around_) PENSTOCK_TRY(choose_centre(elements, work));
    PENSTOCK_ASSIGN(const Summary part, summarize(elements, *around_, work));
    join(summary_, part);
  }
  if (searches_) PENSTOCK_TRY(count(elements, table_, counts_.data(), work));
  if (!bins_now_) return {};
  if (request_.bins > 0) PENSTOCK_TRY(count(elements, bins_.table, bins_.counts.data(), work));
  if (request_.otsu) PENSTOCK_TRY(count(elements, otsu_.table, otsu_.counts.data(), work));
  return {};
}

/// The first number: sums of squares of distances from something near keep their digits.
Status Statistician::choose_centre(const TensorView& elements, const Workspace& work) {
  PENSTOCK_ASSIGN(const std::uint64_t n, elements.elements());
  if (n == 0) return {};
  std::uint64_t bytes = 0;
  PENSTOCK_TRY(copy_async(&bytes, {}, elements.data, elements.device, dtype_.size_bytes, work.stream));
  PENSTOCK_TRY(work.stream.synchronize());
  with_type(dtype_, [&]<class T>(TypeTag<T>) {
    T value;
    std::memcpy(&value, &bytes, sizeof value);
    around_ = static_cast<double>(value);
  });
  if (!std::isfinite(*around_)) around_ = 0;
  return {};
}

Status Statistician::end_pass() {
  if (pass_ == 1 && sums_up_) finish_summary();
  if (searches_) {
    if (counts_levels_) levels_ = counts_;
    narrow_down();
    done_bits_ += table_.digit_bits;
  }
  return {};
}

double Statistician::value(std::uint64_t key) const {
  double made = 0;
  with_type(dtype_, [&]<class T>(TypeTag<T>) { made = static_cast<double>(value_of<T>(static_cast<Key<T>>(key))); });
  return made;
}

void Statistician::finish_summary() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  result_.elements = elements_;
  result_.nans = summary_.nans;
  const auto numbers = static_cast<double>(elements_ - summary_.nans);
  const bool any = numbers > 0;
  result_.min = any ? value(summary_.least) : nan;
  result_.max = any ? value(summary_.most) : nan;
  const double mean = summary_.sum / numbers;  // of the distances
  result_.mean = any ? *around_ + mean : nan;
  result_.deviation = any ? std::sqrt(std::max(summary_.squares / numbers - mean * mean, 0.0)) : nan;
}

/// Which digit each wanted element has, and the beginnings that the next pass looks at.
void Statistician::narrow_down() {
  std::vector<std::uint64_t> next;
  const std::vector<std::uint64_t> before = prefixes_.empty() ? std::vector<std::uint64_t>{0} : prefixes_;
  for (Rank& rank : ranks_) {
    const auto p = static_cast<std::size_t>(std::ranges::find(before, rank.prefix) - before.begin());
    const std::uint64_t* const counts = counts_.data() + (p << table_.digit_bits);
    std::uint64_t digit = 0;
    while (rank.left >= counts[digit]) rank.left -= counts[digit++];
    rank.prefix = (rank.prefix << table_.digit_bits) | digit;
    if (std::ranges::find(next, rank.prefix) == next.end()) next.push_back(rank.prefix);
  }
  prefixes_ = std::move(next);
}

Statistics Statistician::result() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const bool any_nan = sums_up_ ? result_.nans > 0 : !ranks_.empty() && std::isnan(value(ranks_.back().prefix));
  if (!sums_up_) {
    result_.elements = elements_;
    result_.min = result_.max = result_.mean = result_.deviation = nan;
  }
  for (std::size_t i = 0; i < request_.percentiles.size(); ++i) {
    const double at = request_.percentiles[i] / 100 * static_cast<double>(elements_ - 1);
    const double t = at - std::floor(at), a = value(ranks_[2 * i].prefix), b = value(ranks_[2 * i + 1].prefix);
    // As NumPy: exact at both ends.
    const double between = t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
    result_.percentiles.push_back(any_nan ? nan : a == b ? a : between);
  }
  if (counts_levels_) bins_of_levels();
  if (request_.bins > 0) {
    result_.histogram = bins_.counts;
    result_.histogram_low = bins_.table.low;
    result_.histogram_high = bins_.table.high;
  }
  if (request_.otsu) {
    std::vector<double> centers;
    for (std::size_t i = 0; i < otsu_.counts.size(); ++i)
      centers.push_back(counts_levels_ ? otsu_.edges[i] : (otsu_.edges[i] + otsu_.edges[i + 1]) / 2);
    result_.otsu = otsu_of(otsu_.counts, centers);
  }
  return std::move(result_);
}

/// Histograms from how often each of at most 2^16 values is there.
void Statistician::bins_of_levels() {
  if (request_.bins > 0) {
    const auto [low, high] = request_.range.value_or(std::pair(result_.min, result_.max));
    bins_.edges = bin_edges(low, high, request_.bins);
    bins_.table = {low, high, request_.bins, bins_.edges.data()};
    bins_.counts.assign(request_.bins, 0);
    for (std::size_t key = 0; key < levels_.size(); ++key) {
      const std::uint32_t bin = bins_.table.index(value(key));
      if (bin < request_.bins) bins_.counts[bin] += levels_[key];
    }
  }
  if (!request_.otsu) return;
  // Whole numbers are their own bins, as scikit-image takes them.
  for (std::size_t key = summary_.least; key <= summary_.most && key < levels_.size(); ++key) {
    otsu_.counts.push_back(levels_[key]);
    otsu_.edges.push_back(value(key));
  }
}

}  // namespace penstock::select
