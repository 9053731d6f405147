// How a Cloud Optimized GeoTIFF is written.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Compression of tiles.
enum class CogCodec : std::uint8_t { none, lzw, deflate, zstd };
/// How an element of an overview is made of the (up to) four below it.  Those that are nodata or masked do not count;
/// where none is left, it is nodata and masked.
enum class OverviewMethod : std::uint8_t {
  nearest,  ///< the first of them
  average,  ///< whole numbers are rounded, halves away from zero
  mode,     ///< that which is there most often; of several the first
};

/// The choices of one file.
struct CogOptions {
  CogCodec codec = CogCodec::lzw;
  /// 1: none, 2: differences, 3: differences of floats' bytes; nullopt: what suits the type and codec.
  std::optional<int> predictor;
  std::optional<int> codec_level;  ///< of deflate (0 to 9) and zstd; nullopt: the codec's default
  std::uint64_t block = 512;       ///< width and height of tiles, a multiple of 16
  /// nullopt: nearest of a band that is looked up in a colormap, else average.
  std::optional<OverviewMethod> method;
  std::optional<std::size_t> overviews;  ///< how many; nullopt: until no side is longer than `block`
  std::optional<bool> big_tiff;          ///< nullopt: where the file would be too large for a classic one
};

/// "lzw" -> CogCodec.  Errors: invalid_argument with those there are.
PENSTOCK_API Result<CogCodec> parse_cog_codec(std::string_view word);
/// "average" -> OverviewMethod.  Errors: invalid_argument with those there are.
PENSTOCK_API Result<OverviewMethod> parse_overview_method(std::string_view word);

}  // namespace penstock
