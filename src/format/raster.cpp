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

Result<RasterFile> read_raster(const Store& store, std::string_view path) {
  if (!path.empty()) PENSTOCK_TRY(check_key(path));
  Candidate candidate(store, path);
  PENSTOCK_ASSIGN(const Candidate::Head* const head, candidate.head());
  if (head == nullptr) return Error(ErrorCode::not_found, metadata::where(store, path) + ": no such file");
  for (const FormatEntry& format : format_list()) {
    if (format.raster == nullptr) continue;
    PENSTOCK_ASSIGN(std::optional<RasterFile> file, format.raster(candidate));
    if (file) return *std::move(file);
  }
  return Error(ErrorCode::unsupported, metadata::where(store, path) + ": no raster file that is known");
}

}  // namespace penstock
