#include "format/raster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "format/list.hpp"
#include "format/node.hpp"

namespace penstock {

bool has_rasters(const FormatInfo& format) {
  return std::ranges::any_of(
      format_list(), [&](const FormatEntry& entry) { return entry.name == format.name && entry.raster != nullptr; });
}

const FormatEntry* raster_format_of(std::string_view path) {
  for (const FormatEntry& format : format_list())
    if (format.create_raster != nullptr &&
        std::ranges::any_of(format.suffixes, [&](std::string_view suffix) { return path.ends_with(suffix); }))
      return &format;
  return nullptr;
}

namespace {

/// What the first format gives that says yes.
template <class T, class Ask>
Result<T> asked_of_formats(const Store& store, std::string_view path, const Ask& ask) {
  if (!path.empty()) PENSTOCK_TRY(check_key(path));
  Candidate candidate(store, path);
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr) return Error(ErrorCode::not_found, metadata::where(store, path) + ": no such file");
  for (const FormatEntry& format : format_list()) {
    if (format.raster == nullptr) continue;
    PENSTOCK_ASSIGN(std::optional<T> found, ask(format, candidate));
    if (found) return *std::move(found);
  }
  return Error(ErrorCode::unsupported, metadata::where(store, path) + ": no raster file that is known");
}

}  // namespace

Result<RasterFile> read_raster(const Store& store, std::string_view path) {
  return asked_of_formats<RasterFile>(
      store, path, [](const FormatEntry& format, Candidate& candidate) { return format.raster(candidate); });
}

Result<std::vector<std::string>> raster_layout_problems(const Store& store, std::string_view path, bool every_tile) {
  using Problems = std::vector<std::string>;
  const auto ask = [&](const FormatEntry& format, Candidate& candidate) -> Result<std::optional<Problems>> {
    if (format.layout_problems == nullptr) return std::optional<Problems>();
    return format.layout_problems(candidate, every_tile);
  };
  return asked_of_formats<Problems>(store, path, ask);
}

}  // namespace penstock
