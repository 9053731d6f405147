#include "format/list.hpp"

#include "format/foreign.hpp"
#include "format/nifti/open.hpp"
#include "format/node.hpp"
#include "format/tiff/open.hpp"

namespace penstock {
namespace {

constexpr FormatEntry kFormats[] = {
    {"zarr v3", open_zarr3},
    {"zarr v2", open_zarr2},
    {"NIfTI", open_nifti},
    {"TIFF", open_tiff},
    {"files of other programs", name_foreign},
};

}  // namespace

std::span<const FormatEntry> format_list() { return kFormats; }

}  // namespace penstock
