#include "oct/normalize/plane_ranks.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "exec/budget.hpp"
#include "oct/kernels/run.hpp"

namespace penstock::oct {
namespace {

constexpr std::string_view kWhat = "oct normalize";

/// An element that is looked for: its number among those whose keys begin as its own, as far as that is known.
struct Rank {
  std::uint64_t left = 0;
  std::uint32_t prefix = 0;  ///< the upper half of its key
  std::uint32_t key = 0;

  /// Goes to the value whose turn it is; `counts` of each.
  std::uint32_t find(const std::uint32_t* counts) {
    std::uint32_t value = 0;
    while (value + 1 < kHalfValues && left >= counts[value]) left -= counts[value++];
    return value;
  }
};

/// Two neighbours that a percentile lies between, as NumPy's `linear` has it.
struct Between {
  std::size_t low = 0, high = 0;  ///< ranks
  double part = 0;
};

/// Ranks of one plane, among all elements or those of some columns.
struct PlaneRanks {
  std::vector<Rank> ranks;
  PlanePrefixes prefixes;

  Between add(double percentile, std::uint64_t elements) {
    const double at = percentile / 100 * static_cast<double>(elements - 1);
    const auto low = static_cast<std::uint64_t>(std::floor(at));
    ranks.push_back({low, 0, 0});
    ranks.push_back({std::min(low + 1, elements - 1), 0, 0});
    return {ranks.size() - 2, ranks.size() - 1, at - std::floor(at)};
  }
  void first(const std::uint32_t* counts) {
    for (Rank& rank : ranks) {
      rank.prefix = rank.find(counts);
      const auto end = prefixes.prefix + prefixes.count;
      if (std::find(prefixes.prefix, end, rank.prefix) == end) prefixes.prefix[prefixes.count++] = rank.prefix;
    }
  }
  void second(const std::uint32_t* counts) {
    for (Rank& rank : ranks) {
      const auto p = std::find(prefixes.prefix, prefixes.prefix + prefixes.count, rank.prefix) - prefixes.prefix;
      rank.key = (rank.prefix << kHalfBits) | rank.find(counts + static_cast<std::size_t>(p) * kHalfValues);
    }
  }
  [[nodiscard]] double value(std::size_t rank) const {
    return static_cast<double>(select::value_of<float>(ranks[rank].key));
  }
  [[nodiscard]] double value(const Between& between) const {
    const double a = value(between.low), b = value(between.high);
    if (a == b) return a;
    return between.part < 0.5 ? a + (b - a) * between.part : b - (b - a) * (1 - between.part);
  }
};

/// Counters of some planes where the step works.
class Tables {
 public:
  Tables(const Workspace& work, std::uint64_t planes) : work_(work), planes_(planes) {}

  /// All 0.
  Status begin(std::uint32_t tables, const std::vector<PlaneRanks>* known) {
    tables_ = tables;
    const std::uint64_t words = planes_ * tables * kHalfValues;
    PENSTOCK_ASSIGN(counts_, hold<std::uint32_t>(words, work_));
    // 32 bits of 0 are 0.0f.
    const FillZero clear{reinterpret_cast<float*>(counts_.data())};
    PENSTOCK_TRY(work_.job->run([&] { return run_kernel(clear, words, work_); }));
    prefixes_.reset();
    if (known != nullptr) {
      std::vector<PlanePrefixes> all;
      for (const PlaneRanks& plane : *known) all.push_back(plane.prefixes);
      PENSTOCK_ASSIGN(prefixes_, uploaded(all.data(), all.size(), work_));
    }
    return work_.stream.synchronize();
  }

  /// `mask`: of each column of the box; empty: all count.
  Status add(const ConstBox& in, const std::vector<std::uint8_t>& mask, const Workspace& work) const {
    Held<std::uint8_t> there;
    if (!mask.empty()) {
      PENSTOCK_ASSIGN(there, uploaded(mask.data(), mask.size(), work));
    }
    const CountPlanes job{in, mask.empty() ? nullptr : there.data(), prefixes_ ? prefixes_->data() : nullptr, tables_,
                          counts_.data()};
    if (work.on_device()) {
      PENSTOCK_TRY(run_kernel(job, in.elements(), work));
      return work.stream.synchronize();
    }
    // Nobody else counts a plane: its counters need not be atomic.
    return work.job->for_each(in.depth, true, [&](std::uint64_t z) -> Status {
      for (std::uint64_t i = z * in.columns(); i < (z + 1) * in.columns(); ++i)
        job.count(i, [](std::uint32_t* counter) { ++*counter; });
      return {};
    });
  }

  Result<std::vector<std::uint32_t>> counts(std::uint64_t plane) const {
    std::vector<std::uint32_t> made(std::uint64_t{tables_} * kHalfValues);
    PENSTOCK_TRY(download(counts_.data() + plane * made.size(), made.size(), made.data(), work_));
    return made;
  }

 private:
  const Workspace& work_;
  std::uint64_t planes_;
  std::uint32_t tables_ = 1;
  Held<std::uint32_t> counts_;
  std::optional<Held<PlanePrefixes>> prefixes_;
};

/// Some planes of a volume.
class Search {
 public:
  Search(const Volume& volume, const PlaneRequest& request, std::uint64_t first, std::uint64_t count)
      : volume_(volume), request_(request), first_(first), all_(count), dark_(count) {
    const std::uint64_t pixels = volume.shape[1] * volume.shape[2];
    columns_ = static_cast<std::uint64_t>(std::ranges::count(request.columns, 1));
    for (PlaneRanks& plane : all_) {
      plane.add(0, pixels);
      top_ = plane.add(request.percentile, pixels);
    }
    for (PlaneRanks& plane : dark_)
      if (columns_ > 0) middle_ = plane.add(50, columns_);
  }

  Status run(const Source& source, const Workspace& work, Device device, const Options& options) {
    Tables all(work, all_.size()), dark(work, dark_.size());
    for (const bool second : {false, true}) {
      PENSTOCK_TRY(all.begin(second ? kPlanePrefixes : 1, second ? &all_ : nullptr));
      PENSTOCK_TRY(dark.begin(second ? 2 : 1, second ? &dark_ : nullptr));
      PENSTOCK_TRY(pass_over(source, all, dark, device, options));
      for (std::uint64_t z = 0; z < all_.size(); ++z) {
        PENSTOCK_ASSIGN(const auto counted, all.counts(z));
        PENSTOCK_ASSIGN(const auto counted_dark, dark.counts(z));
        second ? all_[z].second(counted.data()) : all_[z].first(counted.data());
        second ? dark_[z].second(counted_dark.data()) : dark_[z].first(counted_dark.data());
      }
    }
    return {};
  }

  void give(std::vector<PlaneStatistics>& to) const {
    for (std::uint64_t z = 0; z < all_.size(); ++z) {
      PlaneStatistics made{all_[z].value(0), all_[z].value(top_), {}};
      if (columns_ > 0) made.median = dark_[z].value(middle_);
      to.push_back(made);
    }
  }

 private:
  Status pass_over(const Source& source, const Tables& all, const Tables& dark, Device device, const Options& options) {
    Pass pass{
        kWhat, {all_.size(), volume_.shape[1], volume_.shape[2]}, {all_.size(), volume_.chunks[1], volume_.chunks[2]}};
    pass.needs = [this](const Region& tile) {
      return Region{{first_ + tile[0].start, tile[0].count, 1}, tile[1], tile[2]};
    };
    pass.scratch_bytes = [](const Region& tile) { return tile[1].count * tile[2].count; };
    pass.make = [&](const Tile& in, const Tile& out, const Workspace& work) -> Status {
      const ConstBox box = const_box(in.view);
      PENSTOCK_TRY(all.add(box, {}, work));
      if (columns_ == 0) return {};
      std::vector<std::uint8_t> mask;
      for (std::uint64_t r = 0; r < out.box[1].count; ++r) {
        const auto row = request_.columns.begin() +
                         static_cast<std::ptrdiff_t>((out.box[1].start + r) * volume_.shape[2] + out.box[2].start);
        mask.insert(mask.end(), row, row + static_cast<std::ptrdiff_t>(out.box[2].count));
      }
      return dark.add(box, mask, work);
    };
    return look_at(source, pass, device, options);
  }

  const Volume& volume_;
  const PlaneRequest& request_;
  std::uint64_t first_, columns_ = 0;
  std::vector<PlaneRanks> all_, dark_;
  Between top_, middle_;
};

}  // namespace

Result<std::vector<PlaneStatistics>> plane_statistics(const Volume& volume, const std::string& path,
                                                      const PlaneRequest& request, Device device,
                                                      const Options& options) {
  std::vector<PlaneStatistics> made;
  const std::uint64_t depth = volume.shape[0];
  if (depth == 0 || volume.shape[1] * volume.shape[2] == 0) return made;
  // Tables of the second pass, which are the most.
  constexpr std::uint64_t plane_bytes = (kPlanePrefixes + 2) * kHalfValues * sizeof(std::uint32_t);
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 2 * plane_bytes));
  const std::uint64_t at_once = std::clamp<std::uint64_t>(allowed.budget_bytes / 4 / plane_bytes, 1, depth);
  PENSTOCK_ASSIGN(const Options rest, without_held(options, at_once * plane_bytes, kWhat));
  PENSTOCK_ASSIGN(const Place place, Place::make(kWhat, device, rest));
  PENSTOCK_ASSIGN(const Source source, source_of(volume, path, device, rest));
  for (std::uint64_t first = 0; first < depth; first += at_once) {
    Search search(volume, request, first, std::min(at_once, depth - first));
    PENSTOCK_TRY(search.run(source, place.work(), device, rest));
    search.give(made);
  }
  return made;
}

}  // namespace penstock::oct
