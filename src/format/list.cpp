#include "format/list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "format/foreign.hpp"
#include "format/nifti/open.hpp"
#include "format/tiff/open.hpp"
#include "format/tiff/write/cog.hpp"
#include "format/zarr/node.hpp"
#include "penstock/zarr.hpp"

namespace penstock {
namespace {

constexpr FormatEntry kFormats[] = {
    {"zarr", zarr_title, "zarr", open_zarr3, {}, kZarr3Marks, {}, check_zarr, write_zarr},
    {"zarr", zarr_title, "", open_zarr2, {}, kZarr2Marks, kZarr2Beside, check_zarr, write_zarr},
    {"tiff",
     tiff_title,
     "TIFF",
     open_tiff,
     kTiffSuffixes,
     {},
     {},
     nullptr,
     nullptr,
     open_tiff_raster,
     tiff_cog_problems,
     tiff::plan_cog,
     tiff::create_cog},
    {"nifti", nifti_title, "NIfTI (.nii, .nii.gz, .hdr with .img)", open_nifti, kNiftiSuffixes},
    {"", nullptr, "", name_foreign},  // files of other programs: the last
};

}  // namespace

std::span<const FormatEntry> format_list() { return kFormats; }

std::string formats_read() {
  std::vector<std::string_view> all;
  for (const FormatEntry& format : kFormats)
    if (!format.reads.empty()) all.push_back(format.reads);
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == all.size() ? " and " : ", ", all[i]);
  return text;
}

Status check_zarr_name(std::string_view url) {
  for (const FormatEntry& format : kFormats) {
    if (std::ranges::none_of(format.suffixes, [&](std::string_view suffix) { return url.ends_with(suffix); })) continue;
    return Error(ErrorCode::unsupported, fmt::format("{}: files of this name are {}, not zarr", url, format.reads))
        .set_hint(format.create_raster != nullptr
                      ? "Write to a name that ends in .zarr; `penstock copy` makes a COG of that."
                      : "penstock only reads them: write to a name that ends in .zarr.");
  }
  return {};
}

std::string format_title(const FormatInfo& format) {
  for (const FormatEntry& entry : kFormats)
    if (entry.name == format.name) return entry.title(format.version);
  return fmt::format("{} {}", format.name, format.version);
}

}  // namespace penstock
