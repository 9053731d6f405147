#include "contract/tiff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codec/device_chain.hpp"
#include "contract/checks.hpp"
#include "format/tiff_maker.hpp"
#include "penstock/cog_options.hpp"

namespace penstock::contract {
namespace {

struct Compression {
  const char* name;
  std::uint64_t code;
  const char* written = "";  ///< as CogCodec is called; "": not
};
constexpr Compression kCompressions[] = {
    {"none", 1, "none"},
    {"LZW", 5, "lzw"},
    {"deflate", 8, "deflate"},
    {"deflate, old", 32946},
    {"zstd", 50000, "zstd"},
    {"PackBits", 32773},
    {"JPEG", 7},
    {"CCITT RLE", 2},
    {"CCITT group 3", 3},
    {"CCITT group 4", 4},
    {"old-style JPEG", 6},
    {"JPEG 2000", 34712},
    {"SGI LogLuv", 34676},
    {"LERC", 34887},
    {"LZMA", 34925},
    {"WebP", 50001},
    {"JPEG XL", 50002},
};

struct Sample {
  std::uint64_t bits, format;  ///< SampleFormat
};
constexpr Sample kSamples[] = {{1, 1},  {2, 1},  {4, 1},  {8, 1},  {12, 1}, {16, 1}, {24, 1},
                               {32, 1}, {64, 1}, {8, 2},  {16, 2}, {32, 2}, {64, 2}, {16, 3},
                               {24, 3}, {32, 3}, {64, 3}, {32, 5}, {64, 6}, {128, 6}};

Result<Dataset> opened(const Compression& compression, const Sample& sample, std::uint64_t predictor) {
  test::MadeTiff made;
  made.set(259, 3, {compression.code}).set(258, 3, {sample.bits}).set(339, 3, {sample.format});
  const auto bytes = made.set(317, 3, {predictor}).bytes();
  test::TiffSource source(bytes);
  return tiff::parse(source, "x.tif");
}

/// What was found out of one compression.
struct Found {
  std::vector<std::string> types, predicted[2];
  bool on_device = true, failed = false;
};

/// Encodes and decodes where there is an encoder.
Found try_compression(const Compression& compression) {
  Found found;
  for (const Sample& sample : kSamples)
    for (const std::uint64_t predictor : {1U, 2U, 3U}) {
      const auto dataset = opened(compression, sample, predictor);
      if (!dataset) continue;
      const ChunkSpec chunk{dataset->chunk_shape, dataset->dtype, dataset->fill};
      const auto chain = CodecChain::make(dataset->codecs, chunk);
      if (!chain) continue;
      const Case c{compression.name, compression.name, [&](const ChunkSpec&) { return dataset->codecs; }};
      found.failed = found.failed || check_round_trip(c, chunk).outcome == Outcome::failed;
      const bool predicts = dataset->codecs.front().name == "tiff.predictor";
      if (predictor > 1 && !predicts) continue;  // a compression that has none
      (predictor == 1 ? found.types : found.predicted[predictor - 2]).push_back(type_name(dataset->dtype));
      found.on_device = found.on_device && DeviceChain::make(*chain).has_value();
    }
  return found;
}

}  // namespace

std::string tiff_text(bool& ok) {
  std::string text =
      "\n## TIFF and BigTIFF\n\nFiles in either byte order, of tiles or strips; what is said of their place, levels "
      "and "
      "masks is in\n`docs/guides/geotiff.md`. Samples that were tried: whole numbers of 1 to 64 bits, floats of 16 to "
      "64, "
      "complex numbers of 32\n(whole) to 128. A field that is empty is refused by name.\n\n"
      "| compression | code | elements | with predictor 2 | with predictor 3 | decoded on a device | written (COG) |\n"
      "|---|---|---|---|---|---|---|\n";
  std::vector<std::string> all;
  for (const Compression& compression : kCompressions) {
    const Found found = try_compression(compression);
    ok = ok && !found.failed;
    if (all.empty()) all = found.types;
    const auto types = [&](const std::vector<std::string>& some) {
      return some == all ? std::string("all of the first row") : fmt::format("{}", fmt::join(some, ", "));
    };
    const bool first = &compression == std::begin(kCompressions);
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", compression.name, compression.code,
                        found.failed ? "FAILED"
                        : first      ? fmt::format("{}", fmt::join(found.types, ", "))
                                     : types(found.types),
                        types(found.predicted[0]), types(found.predicted[1]),
                        found.on_device && !found.types.empty() ? "yes" : "",
                        parse_cog_codec(compression.written) ? "yes" : "");
  }
  return text;
}

}  // namespace penstock::contract
