#include "oct/file/names.hpp"

#include <fmt/format.h>

#include <charconv>

#include "penstock/store.hpp"

namespace penstock::oct {

std::string stem_of(std::string_view path) {
  for (const std::string_view ending : {kVolumeEnding, std::string_view(".zarr")})
    if (path.ends_with(ending)) {
      path.remove_suffix(ending.size());
      break;
    }
  if (path.ends_with(".npy") || path.ends_with(".png")) path.remove_suffix(4);
  return std::string(path);
}

std::string slice_name(std::string_view prefix, std::uint64_t slice) { return fmt::format("{}_z{:02}", prefix, slice); }

std::optional<std::uint64_t> slice_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  const std::size_t at = name.rfind("_z");
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t slice = 0;
  const char* const first = name.data() + at + 2;
  const auto [end, code] = std::from_chars(first, name.data() + name.size(), slice);
  if (code != std::errc() || end == first) return std::nullopt;
  return slice;
}

std::string metrics_path(const std::string& out, std::string_view step) {
  std::string name(step);
  for (char& c : name)
    if (c == '-') c = '_';
  const std::string stem = stem_of(out);
  return fmt::format("{}{}{}_metrics.json", stem, stem == out ? '/' : '_', name);
}

Result<std::map<std::uint64_t, std::string>> slices_in(const std::string& folder, std::string_view prefix,
                                                       std::string_view process) {
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(folder, StoreMode::read));
  PENSTOCK_ASSIGN(const std::vector<StoreEntry> entries, store->list_dir(""));
  std::map<std::uint64_t, std::string> found;
  for (const StoreEntry& entry : entries) {
    const auto slice = entry.name.starts_with(prefix) ? slice_of(entry.name) : std::nullopt;
    if (!slice || !entry.is_prefix) continue;
    const std::string_view rest = std::string_view(entry.name).substr(prefix.size());
    const std::string ending = fmt::format("_{}{}", process, kVolumeEnding);
    if (!rest.ends_with(ending)) continue;
    // Between prefix and process there is the slice, and nothing else.
    const std::string_view digits = rest.substr(0, rest.size() - ending.size());
    if (!digits.starts_with("_z") || digits.find_first_not_of("0123456789", 2) != std::string_view::npos) continue;
    if (!found.emplace(*slice, folder + "/" + entry.name).second)
      return Error(ErrorCode::invalid_argument, fmt::format("{}: slice {} is there twice", folder, *slice));
  }
  if (found.empty())
    return Error(ErrorCode::not_found, fmt::format("{}: no {}_z*_{}{}", folder, prefix, process, kVolumeEnding));
  return found;
}

}  // namespace penstock::oct
