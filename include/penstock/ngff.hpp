// OME-NGFF metadata, from text to data and back: https://ngff.openmicroscopy.org/0.5/ and /0.4/
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

class Array;

/// The dimensions of an array.  Where it says no scale itself and is a level of an OME-NGFF image, they are the image's
/// axes, with its units, scales and offsets: the groups above it in its store are asked, and for the array at the root
/// of a store of files the directory above.  Empty, or one per dimension.  Errors: those of the store.
PENSTOCK_API Result<std::vector<Dimension>> image_dimensions(const Array& array);
/// The images that a group's attributes describe ("ome" member for 0.5, "multiscales" for 0.4); none: empty.
PENSTOCK_API Result<std::vector<Multiscale>> parse_ngff(std::string_view attributes_json, int zarr_format);
/// Attributes that describe these images, in place of those that were there (other members are kept).
/// Errors: invalid_metadata, unsupported (a version other than 0.4 and 0.5).
PENSTOCK_API Result<std::string> write_ngff(std::string_view attributes_json, const std::vector<Multiscale>& images);
/// Paths of label images listed by a `labels` group's attributes.
PENSTOCK_API Result<std::vector<std::string>> parse_ngff_labels(std::string_view attributes_json);
/// Attributes of a `labels` group that lists these paths.
PENSTOCK_API Result<std::string> write_ngff_labels(std::string_view attributes_json,
                                                   const std::vector<std::string>& labels, int zarr_format);
/// Attributes of a label image: adds "image-label" with the path of the image that it belongs to (usually "../../",
/// empty: not stated).
PENSTOCK_API Result<std::string> write_ngff_image_label(std::string_view attributes_json, std::string_view image_path,
                                                        int zarr_format);
/// What a group is to OME-NGFF: "image", "label image", "labels", "plate", "well", "collection", or "" for none.
/// Plates and wells are recognised only.
PENSTOCK_API Result<std::string> ngff_kind(std::string_view attributes_json);
/// Checks an image against its arrays: ranks, axis order, scales, coarser levels not larger.  Each problem a line.
PENSTOCK_API std::vector<std::string> validate_ngff(const Multiscale& image, const std::vector<Dataset>& levels);

}  // namespace penstock
