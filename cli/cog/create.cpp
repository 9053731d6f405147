// penstock cog create
#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/report_text.hpp"
#include "cli/kit/table.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/cog.hpp"
#include "penstock/fill.hpp"

namespace penstock::cli {
namespace {

Result<double> parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return Error(ErrorCode::invalid_argument, fmt::format("'{}' is no number", text));
}

class CogCreate : public Command {
  std::string from_, to_;
  std::optional<std::string> codec_, level_, predictor_, block_, method_, overviews_, nodata_, crs_, transform_, mask_;
  bool big_ = false, force_ = false, json_ = false;
  StoreWords words_;
  Resources resources_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Writes an array (band, y, x) or (y, x) as a Cloud Optimized GeoTIFF, with overviews, in bounded memory. What "
        "FROM says of its place goes along: all of a GeoTIFF, with its mask, or the attributes of GeoZarr. The file "
        "appears when it is complete; the same input gives the same bytes.");
    usage.argument("FROM", from_, "a zarr array, a TIFF, or another array");
    usage.argument("TO", to_, "a new file that ends in .tif");
    Option& codec = usage.option("--codec", "C", codec_, "none, lzw (default), deflate or zstd");
    codec.kind = ValueKind::choice;
    codec.choices = {"none", "lzw", "deflate", "zstd"};
    usage.option("--level", "N", level_, "of deflate (0 to 9; default 6) or zstd (1 to 22; default 9)");
    Option& predictor =
        usage.option("--predictor", "N", predictor_, "1 none, 2 differences, 3 of floats; default what suits");
    predictor.kind = ValueKind::choice;
    predictor.choices = {"1", "2", "3"};
    usage.option("--block", "N", block_, "width and height of tiles; default 512");
    Option& method = usage.option("--method", "HOW", method_,
                                  "of overviews: nearest (default of a palette), average (default) or mode");
    method.kind = ValueKind::choice;
    method.choices = {"nearest", "average", "mode"};
    usage.option("--overviews", "N", overviews_, "how many; default until no side is longer than a tile");
    usage.option("--nodata", "V", nodata_, "the value of elements that were not measured; default as FROM says");
    usage
        .option("--mask", "ARRAY", mask_,
                "(y, x) of uint8 or bool, 0 where there is nothing to see; default as FROM says")
        .kind = ValueKind::path;
    usage.option(
        "--crs", "CRS", crs_,
        "an EPSG code, as EPSG:32633, or by libproj well-known text, PROJJSON, '+proj=...' or ESRI:54009; default as "
        "FROM says");
    usage.option("--transform", "T", transform_, "a,b,c,d,e,f in the order of rasterio; default as FROM says");
    usage.flag("--bigtiff", big_, "a BigTIFF, also where the file is small enough for a classic one");
    usage.flag("--force", force_, "replace TO");
    words_.declare(usage);
    words_.declare_target(usage, "FROM", "TO");
    usage.flag("--json", json_, "print the report as JSON");
    resources_.declare(usage);
    resources_.declare_talk(usage, "print the report with its stages");
    usage.example("penstock cog create dem.zarr dem.tif", "of a zarr array");
    usage.example("penstock cog create photo.tif cog.tif --codec deflate --block 256", "of any TIFF");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const Options options, resources_.options());
    const ProgressEnd end;
    PENSTOCK_ASSIGN(const StoreOptions reading, words_.options());
    PENSTOCK_ASSIGN(const StoreOptions writing, words_.target_options());
    PENSTOCK_ASSIGN(const Array from, open_array(from_, reading));
    PENSTOCK_ASSIGN(CogInput input, cog_input(from));
    PENSTOCK_TRY(put_words(from.dataset(), input));
    if (mask_) {
      PENSTOCK_ASSIGN(input.mask, open_array(*mask_, reading));
    }
    PENSTOCK_ASSIGN(const CogOptions cog, cog_options());
    if (input.info.crs && !input.info.crs->epsg && !input.info.crs->keys && input.crs_problem.empty())
      fmt::print(
          stderr,
          "penstock cog create: {}: its CRS has no EPSG code: the COG has no more than its name; --crs says one\n",
          from_);
    const auto if_exists = force_ ? Array::IfExists::overwrite : Array::IfExists::fail;
    PENSTOCK_ASSIGN(const Report report, write_cog(input, to_, writing, cog, if_exists, options));
    if (json_) {
      PENSTOCK_ASSIGN(const Json document, parse_json(report.json()));
      session.out.json(document);
    } else if (!resources_.quiet) {
      session.out.print(report_text(report, terminal_width()));
    }
    return 0;
  }

 private:
  [[nodiscard]] Result<CogOptions> cog_options() const {
    CogOptions cog;
    if (codec_) {
      PENSTOCK_ASSIGN(cog.codec, parse_cog_codec(*codec_));
    }
    if (method_) {
      PENSTOCK_ASSIGN(cog.method, parse_overview_method(*method_));
    }
    if (level_) {
      PENSTOCK_ASSIGN_IN(const std::uint64_t level, parse_count(*level_), "--level");
      cog.codec_level = static_cast<int>(std::min<std::uint64_t>(level, 100));
    }
    if (predictor_) cog.predictor = predictor_->front() - '0';
    if (block_) {
      PENSTOCK_ASSIGN_IN(cog.block, parse_count(*block_), "--block");
    }
    if (overviews_) {
      PENSTOCK_ASSIGN_IN(cog.overviews, parse_count(*overviews_), "--overviews");
    }
    if (big_) cog.big_tiff = true;
    return cog;
  }

  /// What was said of the place takes the place of what FROM says.
  [[nodiscard]] Status put_words(const Dataset& dataset, CogInput& input) const {
    if (nodata_) {
      std::string json = *nodata_;
      if (json == "nan" || json == "NaN") json = "\"NaN\"";
      PENSTOCK_ASSIGN_IN(input.nodata, fill_from_json(dataset.dtype, json), "--nodata");
    }
    if (crs_) {
      PENSTOCK_ASSIGN_IN(input.info.crs, parse_crs(*crs_), "--crs");
    }
    if (!transform_) return {};
    GeoTransform t{};
    std::size_t at = 0;
    for (double& value : t) {
      const std::size_t end = std::min(transform_->find(',', at), transform_->size());
      PENSTOCK_ASSIGN_IN(value, parse_number(transform_->substr(std::min(at, end), end - std::min(at, end))),
                         "--transform");
      at = end + 1;
    }
    if (at <= transform_->size()) return Error(ErrorCode::invalid_argument, "--transform: six numbers are wanted");
    input.info.transform = t;
    return {};
  }
};

}  // namespace

std::unique_ptr<Command> make_cog_create() { return std::make_unique<CogCreate>(); }

}  // namespace penstock::cli
