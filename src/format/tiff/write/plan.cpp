#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/suggest.hpp"
#include "format/tiff/write/cog.hpp"

namespace penstock {
namespace {

template <class T>
struct Word {
  std::string_view word;
  T value;
};
constexpr Word<CogCodec> kCodecs[] = {
    {"none", CogCodec::none}, {"lzw", CogCodec::lzw}, {"deflate", CogCodec::deflate}, {"zstd", CogCodec::zstd}};
constexpr Word<OverviewMethod> kMethods[] = {
    {"nearest", OverviewMethod::nearest}, {"average", OverviewMethod::average}, {"mode", OverviewMethod::mode}};

template <class T, std::size_t n>
Result<T> parse_word(std::string_view what, std::string_view word, const Word<T> (&known)[n]) {
  std::vector<std::string> words;
  for (const Word<T>& entry : known) {
    if (entry.word == word) return entry.value;
    words.emplace_back(entry.word);
  }
  return Error(ErrorCode::invalid_argument, fmt::format("no {} '{}'; there are {}.{}", what, word,
                                                        fmt::join(words, ", "), did_you_mean(word, words)));
}

}  // namespace

Result<CogCodec> parse_cog_codec(std::string_view word) { return parse_word("compression", word, kCodecs); }
Result<OverviewMethod> parse_overview_method(std::string_view word) { return parse_word("method", word, kMethods); }

namespace tiff {
namespace {

constexpr std::size_t kMaxOverviews = 32;

Error refused(std::string text) { return {ErrorCode::invalid_argument, std::move(text)}; }

Status check_type(const DType& dtype) {
  const std::uint32_t bytes = dtype.size_bytes;
  switch (dtype.kind) {
    case Kind::signed_int:
    case Kind::unsigned_int:
    case Kind::floating:
    case Kind::complex: return {};
    default: break;
  }
  return Error(ErrorCode::unsupported, fmt::format("elements of type {} ({} bytes) in a TIFF", dtype.name(), bytes))
      .set_hint("whole numbers, floating-point and complex numbers can be written.");
}

Result<int> predictor_of(const DType& dtype, const CogOptions& options) {
  const bool is_float = dtype.kind == Kind::floating, is_complex = dtype.kind == Kind::complex;
  if (!options.predictor) return options.codec == CogCodec::none || is_complex ? 1 : is_float ? 3 : 2;
  const int predictor = *options.predictor;
  if (predictor < 1 || predictor > 3) return refused(fmt::format("predictor {}: there are 1, 2 and 3", predictor));
  if (predictor > 1 && options.codec == CogCodec::none) return refused("a predictor without compression");
  if ((predictor == 3 && !is_float) || (predictor == 2 && is_complex))
    return refused(fmt::format("predictor {} of elements of type {}", predictor, dtype.name()));
  return predictor;
}

std::vector<CodecSpec> compressor_of(const CogOptions& options) {
  switch (options.codec) {
    case CogCodec::none: return {};
    case CogCodec::lzw: return {{"tiff.lzw", "{}"}};
    case CogCodec::deflate:
      return {{"tiff.deflate", fmt::format(R"({{"level":{}}})", options.codec_level.value_or(6))}};
    case CogCodec::zstd:
      return {{"tiff.zstd", fmt::format(R"({{"level":{},"checksum":false}})", options.codec_level.value_or(9))}};
  }
  return {};
}

Dataset level_of(const Dataset& image, std::uint64_t height, std::uint64_t width, const CogOptions& options) {
  Dataset level;
  level.format = {"tiff", 42};
  level.dtype = image.dtype;
  level.shape = {image.shape[0], height, width};
  level.chunk_shape = {image.shape[0], options.block, options.block};
  level.nodata = image.nodata;
  level.fill = image.nodata ? *image.nodata : std::vector<std::byte>(image.dtype.size_bytes);
  const bool interleaved = level.shape[0] > 1;
  if (interleaved) level.codecs.push_back({"transpose", R"({"order":[1,2,0]})"});
  if (*options.predictor > 1)
    level.codecs.push_back({"tiff.predictor", fmt::format(R"({{"predictor":{},"samples":{},"endian":"little"}})",
                                                          *options.predictor, interleaved ? level.shape[0] : 1)});
  else
    level.codecs.push_back({"bytes", image.dtype.swap_unit() > 1 ? R"({"endian":"little"})" : "{}"});
  for (CodecSpec& codec : compressor_of(options)) level.codecs.push_back(std::move(codec));
  return level;
}

Dataset mask_of(const Dataset& level, const CogOptions& options) {
  Dataset mask = level;
  mask.dtype = DType::uint8();
  mask.shape[0] = mask.chunk_shape[0] = 1;
  mask.nodata = std::nullopt;
  mask.fill = {std::byte{0}};
  mask.codecs = {{"tiff.bits", "{}"}};
  for (CodecSpec& codec : compressor_of(options)) mask.codecs.push_back(std::move(codec));
  return mask;
}

Status check_options(const CogOptions& options) {
  if (options.block < 64 || options.block > 16384 || options.block % 16 != 0)
    return refused(fmt::format("tiles of {0} x {0}: a multiple of 16 from 64 to 16384 is wanted", options.block));
  if (options.overviews && *options.overviews > kMaxOverviews)
    return refused(fmt::format("{} overviews: there are at most {}", *options.overviews, kMaxOverviews));
  if (!options.codec_level) return {};
  const int level = *options.codec_level;
  if (options.codec == CogCodec::deflate ? level < 0 || level > 9
      : options.codec == CogCodec::zstd  ? level < 1 || level > 22
                                         : true)
    return refused(fmt::format("compression level {}: deflate has 0 to 9, zstd 1 to 22, others none", level));
  return {};
}

}  // namespace

Result<RasterPlan> plan_cog(const Dataset& image, const RasterInfo& info, bool with_mask, const CogOptions& asked) {
  PENSTOCK_TRY(check_options(asked));
  PENSTOCK_TRY(check_type(image.dtype));
  if (image.rank() != 3)
    return refused(fmt::format("an array of {} dimensions: a raster is (band, y, x)", image.rank()));
  for (const std::uint64_t extent : image.shape)
    if (extent == 0 || extent > 0x7fffffff)
      return refused(fmt::format("an image of {} elements cannot be a TIFF", to_string(image.shape)));
  if (image.shape[0] > 65535) return refused(fmt::format("{} bands: a TIFF has at most 65535", image.shape[0]));
  RasterPlan plan{info, {}, {}, asked};
  PENSTOCK_ASSIGN(plan.options.predictor, predictor_of(image.dtype, asked));
  plan.info.bands.resize(image.shape[0]);
  PENSTOCK_TRY(check_info(plan.info));
  for (const auto& [name, text] : plan.info.tags)
    if (name == "AREA_OR_POINT") plan.info.pixel_is_point = text == "Point";
  if (!asked.method)
    plan.options.method = has_palette(plan.info, image) ? OverviewMethod::nearest : OverviewMethod::average;
  std::uint64_t height = image.shape[1], width = image.shape[2];
  for (std::size_t k = 0;; ++k) {
    plan.levels.push_back(level_of(image, height, width, plan.options));
    if (with_mask) plan.masks.push_back(mask_of(plan.levels.back(), plan.options));
    const bool enough = asked.overviews ? k >= *asked.overviews : std::max(height, width) <= asked.block;
    if (enough || (height == 1 && width == 1)) break;
    height = (height + 1) / 2;
    width = (width + 1) / 2;
  }
  return plan;
}

}  // namespace tiff
}  // namespace penstock
