#include "oct/reconstruct/results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "oct/file/names.hpp"
#include "oct/file/small_file.hpp"
#include "penstock/store.hpp"

namespace penstock::oct {
namespace {

/// What stands last of a result.
std::string mark_of(const std::string& result) {
  return result.ends_with(kVolumeEnding) ? result + "/zarr.json" : result;
}

/// A result and what says that it is complete.
Status forget(const std::string& result, const std::string& metrics) {
  PENSTOCK_TRY(erase_small(metrics));
  return erase_small(mark_of(result));
}

}  // namespace

std::string RunResults::of_slice(std::string_view name, std::uint64_t slice) const {
  std::string path = folder_ + "/" + std::string(name);
  if (const std::size_t at = path.rfind("zNN"); at != std::string::npos)
    path.replace(at, 3, fmt::format("z{:02}", slice));
  return path;
}

std::string RunResults::common(std::uint64_t slice) const {
  return fmt::format("{}/{}_common{}", folder_, slice_name("slice", slice), kVolumeEnding);
}

std::string RunResults::volume() const { return fmt::format("{}/3d_volume{}", folder_, kVolumeEnding); }

Result<bool> RunResults::complete(const std::string& result, const std::string& metrics) const {
  PENSTOCK_ASSIGN(const bool made, small_exists(mark_of(result)));
  if (!made) return false;
  return small_exists(metrics);
}

Status RunResults::check_empty() const {
  std::vector<std::string> results = {volume()};
  for (const std::uint64_t slice : slices_)
    for (const SliceStep& step : slice_steps()) results.push_back(of_slice(step.out, slice));
  for (const std::string& result : results) {
    PENSTOCK_ASSIGN(const bool there, small_exists(mark_of(result)));
    if (there)
      return Error(ErrorCode::already_exists, result + ": already exists, and no reconstruct.json says how it was made")
          .set_hint("Give another folder; --force replaces what is there.");
  }
  return {};
}

Result<std::multimap<std::uint64_t, std::string>> RunResults::other_slices() const {
  std::multimap<std::uint64_t, std::string> others;
  for (const char* process : {"crop", "common"}) {
    const auto found = slices_in(folder_, "slice", process);
    if (!found && found.error().code() == ErrorCode::not_found) continue;
    if (!found) return found.error();
    for (const auto& [slice, path] : *found)
      if (!std::ranges::binary_search(slices_, slice)) others.emplace(slice, path);
  }
  return others;
}

Status RunResults::erase_other_slices() const {
  PENSTOCK_ASSIGN(const auto others, other_slices());
  for (const auto& [slice, path] : others) {
    PENSTOCK_ASSIGN_IN(const std::shared_ptr<Store> store, open_store(folder_, StoreMode::create), path);
    PENSTOCK_TRY_IN(store->erase_prefix(path.substr(folder_.size() + 1)), path);
  }
  return {};
}

Status RunResults::forget_slice(std::uint64_t slice, std::span<const SliceStep> steps) const {
  PENSTOCK_TRY(forget_common());
  for (const SliceStep& step : steps) {
    const std::string result = of_slice(step.out, slice);
    PENSTOCK_TRY(forget(result, metrics_path(result, step.step)));
  }
  return {};
}

Status RunResults::forget_common() const {
  PENSTOCK_TRY(forget_volume());
  for (const std::uint64_t slice : slices_) PENSTOCK_TRY(forget(common(slice), metrics_path(folder_, "common-space")));
  return {};
}

Status RunResults::forget_volume() const {
  PENSTOCK_TRY(forget_report());
  return forget(volume(), metrics_path(volume(), "stack"));
}

Status RunResults::forget_report() const { return erase_small(report()); }

}  // namespace penstock::oct
