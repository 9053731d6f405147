// Copies that become raster files.
#pragma once
#include <string>

#include "penstock/copy.hpp"

namespace penstock {

/// `copy` to a name that names_raster.  Errors: unsupported, naming what a COG does not have (groups, shards, codecs of
/// other formats, ...); those of write_cog.
Result<Report> copy_to_raster(const Node& from, const std::string& url, const CopyOptions& how, const Options& options);

}  // namespace penstock
