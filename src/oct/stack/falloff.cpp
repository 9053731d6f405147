#include "oct/stack/falloff.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::oct {
namespace {

constexpr std::uint64_t kChunk = 100;
constexpr double kMostGain = 100;
// Order of sums must not count: a tile more or less, as budgets have it, changes their last bits.
constexpr double kDigits = 1e9;

}  // namespace

std::vector<stack::SharedPlane> shared_planes(std::span<const stack::SliceInStack> slices) {
  std::vector<stack::SharedPlane> shared;
  for (std::size_t k = 1; k < slices.size(); ++k) {
    const stack::SliceInStack &upper = slices[k - 1], &lower = slices[k];
    const std::uint64_t end = std::min(upper.first + upper.planes, lower.first + lower.planes);
    for (std::uint64_t z = lower.first; z < end; ++z)
      shared.push_back({upper.from + z - upper.first, lower.from + z - lower.first, lower.first - upper.first});
  }
  return shared;
}

std::optional<double> falloff_of(std::span<const stack::SharedPlane> planes, std::span<const double> sums) {
  std::vector<double> rates;
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const double rate = std::log(sums[2 * p + 1] / sums[2 * p]) / static_cast<double>(planes[p].apart);
    if (std::isfinite(rate)) rates.push_back(rate);
  }
  if (rates.empty()) return std::nullopt;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  return std::max(std::nearbyint(*middle * kDigits) / kDigits, 0.0);
}

Result<std::optional<double>> measure_falloff(const Source& source, std::span<const stack::SliceInStack> slices,
                                              Device device, const Options& options) {
  const std::vector<stack::SharedPlane> shared = shared_planes(slices);
  if (shared.empty()) return std::optional<double>();
  const std::uint64_t sums_of_all = 2 * shared.size();
  Numbers<stack::SharedPlane> planes;
  Numbers<double> sums;
  PENSTOCK_TRY(with_tools(device, "oct stack", options, [&](const Tools& tools) -> Status {
    PENSTOCK_ASSIGN(planes, Numbers<stack::SharedPlane>::make(shared, tools.work));
    PENSTOCK_ASSIGN(sums, Numbers<double>::make(std::vector<double>(sums_of_all, 0), tools.work));
    return {};
  }));
  Pass pass{"oct stack", source.shape, {source.shape[0], kChunk, kChunk}};
  pass.scratch_bytes = [&](const Region& tile) { return sizeof(double) * sums_of_all * tile[2].count; };
  pass.make = [&](const Tile& in, const Tile&, const Workspace& work) -> Status {
    const ConstBox box = const_box(in.view);
    PENSTOCK_ASSIGN(const Numbers<double> columns, Numbers<double>::make(sums_of_all * box.cols, work));
    PENSTOCK_TRY(run_work(stack::SumShared{box, planes.at(), columns.at()}, shared.size() * box.cols, work, 64));
    PENSTOCK_TRY(run_work(stack::AddColumns{columns.at(), box.cols, sums.at()}, sums_of_all, work, 64));
    return work.stream.synchronize();
  };
  PENSTOCK_TRY(look_at(source, pass, device, options));
  std::vector<double> made;
  PENSTOCK_TRY(with_tools(device, "oct stack", options, [&](const Tools& tools) -> Status {
    PENSTOCK_ASSIGN(made, sums.get(sums_of_all, tools.work));
    return {};
  }));
  return falloff_of(shared, made);
}

std::vector<float> depth_gains(double falloff, std::uint64_t planes) {
  std::vector<float> gains;
  for (std::uint64_t z = 0; z < planes; ++z)
    gains.push_back(static_cast<float>(std::min(std::exp(falloff * static_cast<double>(z)), kMostGain)));
  return gains;
}

}  // namespace penstock::oct
