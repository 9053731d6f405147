#include "oct/tiles/percentiles.hpp"

#include <cmath>
#include <cstring>

#include "oct/tiles/kernel.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kDigits = std::uint64_t{1} << 16;

}  // namespace

std::uint64_t TilePercentiles::group_bytes(std::size_t percentiles) {
  return 2 * percentiles * kDigits * sizeof(std::uint64_t);
}

void TilePercentiles::begin(std::uint64_t groups, std::vector<double> percentiles, bool skips) {
  groups_ = groups;
  percentiles_ = std::move(percentiles);
  skips_ = skips;
  pass_ = 0;
  prefixes_ = 1;
  prefix_.clear();
  reserved_ = false;
}

Status TilePercentiles::reserve(const Tools& tools) {
  const std::scoped_lock lock(mutex_);
  if (reserved_) return {};
  const std::uint64_t count = groups_ * prefixes_ * kDigits;
  PENSTOCK_ASSIGN(counts_, Numbers<std::uint64_t>::make(count, tools.work));
  if (tools.work.on_device())
    PENSTOCK_TRY(run_work(tiles::Fill{reinterpret_cast<float*>(counts_.at()), 0}, 2 * count, tools.work));
  else
    std::memset(counts_.at(), 0, count * sizeof(std::uint64_t));
  if (pass_ == 1) {
    PENSTOCK_ASSIGN(prefix_there_, Numbers<std::uint32_t>::make(std::span<const std::uint32_t>(prefix_), tools.work));
  }
  PENSTOCK_TRY(tools.work.stream.synchronize());  // others count in the order of other streams
  reserved_ = true;
  return {};
}

Status TilePercentiles::add(const float* elements, std::uint64_t planes, std::uint64_t pixels, const std::uint8_t* mask,
                            const Tools& tools) {
  PENSTOCK_TRY(reserve(tools));
  return run_work(tiles::CountDigits{elements, mask, pixels, groups_ > 1, skips_,
                                     pass_ == 0 ? nullptr : prefix_there_.at(), prefixes_, counts_.at()},
                  planes * pixels, tools.work);
}

Status TilePercentiles::end_look(const Tools& tools) {
  PENSTOCK_TRY(reserve(tools));
  std::vector<std::uint64_t> held;
  PENSTOCK_ASSIGN(const std::span<const std::uint64_t> counts, counts_.here(held, tools.work));
  if (pass_ == 0)
    find_high(counts);
  else
    find_low(counts);
  ++pass_;
  counts_ = {};
  prefix_there_ = {};
  reserved_ = false;
  return {};
}

void TilePercentiles::find_high(std::span<const std::uint64_t> counts) {
  ranks_.assign(groups_, {});
  elements_.assign(groups_, 0);
  std::vector<std::vector<std::uint32_t>> found(groups_);
  for (std::uint64_t g = 0; g < groups_; ++g) {
    const std::uint64_t* const mine = counts.data() + g * kDigits;
    for (std::uint64_t d = 0; d < kDigits; ++d) elements_[g] += mine[d];
    for (std::size_t q = 0; q < percentiles_.size() && elements_[g] > 0; ++q) {
      const double at = percentiles_[q] / 100 * static_cast<double>(elements_[g] - 1);
      for (const std::uint64_t number : {static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(at) + 1}) {
        Rank rank{std::min(number, elements_[g] - 1), 0, 0};
        rank.left = rank.number;
        while (rank.left >= mine[rank.key]) rank.left -= mine[rank.key++];
        if (std::ranges::find(found[g], rank.key) == found[g].end()) found[g].push_back(rank.key);
        ranks_[g].push_back(rank);
      }
    }
    prefixes_ = std::max(prefixes_, static_cast<std::uint32_t>(found[g].size()));
  }
  prefix_.assign(groups_ * prefixes_, ~std::uint32_t{0});  // no element begins so
  for (std::uint64_t g = 0; g < groups_; ++g)
    std::ranges::copy(found[g], prefix_.begin() + static_cast<std::ptrdiff_t>(g * prefixes_));
}

void TilePercentiles::find_low(std::span<const std::uint64_t> counts) {
  for (std::uint64_t g = 0; g < groups_; ++g)
    for (Rank& rank : ranks_[g]) {
      const std::uint32_t* const mine = prefix_.data() + g * prefixes_;
      const auto p = static_cast<std::uint64_t>(std::find(mine, mine + prefixes_, rank.key) - mine);
      const std::uint64_t* const digits = counts.data() + (g * prefixes_ + p) * kDigits;
      std::uint32_t low = 0;
      while (rank.left >= digits[low]) rank.left -= digits[low++];
      rank.key = (rank.key << 16) | low;
    }
}

std::optional<std::vector<double>> TilePercentiles::result(std::uint64_t group) const {
  if (elements_[group] == 0) return std::nullopt;
  std::vector<double> made;
  for (std::size_t q = 0; q < percentiles_.size(); ++q) {
    const double at = percentiles_[q] / 100 * static_cast<double>(elements_[group] - 1), t = at - std::floor(at);
    const auto value = [&](std::size_t i) {
      return static_cast<double>(select::value_of<float>(ranks_[group][2 * q + i].key));
    };
    const double a = value(0), b = value(1);
    made.push_back(a == b ? a : t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t));
  }
  return made;
}

}  // namespace penstock::oct
