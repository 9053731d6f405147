// penstock cog info
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/table.hpp"
#include "cli/nodes/describe.hpp"
#include "penstock/fill.hpp"
#include "penstock/raster.hpp"

namespace penstock::cli {
namespace {

Json or_null(const std::optional<std::uint32_t>& code) { return code ? Json(*code) : Json(); }

Json tags_json(const Tags& tags) {
  Json out = Json::object();
  for (const auto& [name, value] : tags) out[name] = value;
  return out;
}

Json domains_json(const TagDomains& domains) {
  Json out = Json::object();
  for (const auto& [name, tags] : domains) out[name] = tags_json(tags);
  return out;
}

Json crs_json(const std::optional<Crs>& crs) {
  if (!crs) return {};
  Json out = {{"epsg", or_null(crs->epsg)}, {"vertical_epsg", or_null(crs->vertical_epsg)}, {"name", crs->name}};
  const auto wkt = crs_wkt(*crs);
  out["wkt"] = wkt ? Json(*wkt) : Json();
  if (!wkt) out["wkt_error"] = wkt.error().message();
  return out;
}

Result<Json> levels_json(const Raster& raster) {
  Json out = Json::array();
  for (std::size_t k = 0; k < raster.level_count(); ++k) {
    const Result<Array> array = raster.level(k);
    Json level = Json::object();
    if (array) {
      const Dataset dataset = array->dataset();
      level["shape"] = dataset.shape;
      level["chunks"] = dataset.chunk_shape;
      level["codecs"] = codecs_text(dataset);
    } else {
      level["error"] = array.error().message();
    }
    PENSTOCK_ASSIGN(const auto transform, raster.transform(k));
    level["transform"] = transform ? Json(*transform) : Json();
    const auto mask = raster.mask(k);
    level["mask"] = !mask || mask->has_value();
    if (!mask) level["mask_error"] = mask.error().message();
    out.push_back(std::move(level));
  }
  return out;
}

Json bands_json(const RasterInfo& info) {
  Json out = Json::array();
  for (const BandInfo& band : info.bands)
    out.push_back({{"scale", band.scale},
                   {"offset", band.offset},
                   {"unit", band.unit},
                   {"description", band.description},
                   {"color", band.color},
                   {"tags", tags_json(band.tags)},
                   {"domains", domains_json(band.domains)}});
  return out;
}

Json gcps_json(const RasterInfo& info) {
  Json out = Json::array();
  for (const GroundControlPoint& p : info.gcps)
    out.push_back({{"row", p.row}, {"column", p.column}, {"x", p.x}, {"y", p.y}, {"z", p.z}});
  return out;
}

Result<Json> raster_json(const Raster& raster) {
  PENSTOCK_ASSIGN(const Array array, raster.level(0));
  const Dataset dataset = array.dataset();
  const RasterInfo& info = raster.info();
  Json out = {{"format", format_title(dataset.format)}, {"shape", dataset.shape}, {"data_type", dataset.dtype.name()}};
  out["crs"] = crs_json(info.crs);
  out["transform"] = info.transform ? Json(*info.transform) : Json();
  const auto bounds = raster.bounds();
  out["bounds"] = bounds ? Json({bounds->left, bounds->bottom, bounds->right, bounds->top}) : Json();
  out["area_or_point"] = info.pixel_is_point ? "Point" : "Area";
  out["nodata"] = nullptr;
  if (dataset.nodata) {
    PENSTOCK_ASSIGN(const std::string nodata, fill_to_json(dataset.dtype, *dataset.nodata));
    PENSTOCK_ASSIGN(out["nodata"], parse_json(nodata));
  }
  out["bands"] = bands_json(info);
  PENSTOCK_ASSIGN(out["levels"], levels_json(raster));
  out["gcps"] = gcps_json(info);
  out["rpc"] = info.rpc.empty() ? Json() : Json(info.rpc);
  out["colormap"] = info.colormap.empty() ? Json() : Json(info.colormap);
  out["tags"] = tags_json(info.tags);
  out["domains"] = domains_json(info.domains);
  out["other_images"] = info.other_images;
  out["other_fields"] = info.other_fields;
  out["sidecars"] = info.sidecars;
  return out;
}

/// A text of the file on one line: what a terminal would take for a command is written out, what is long is cut.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 300;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (out.size() >= kMost && (c & 0xC0) != 0x80) return out + fmt::format("... ({} bytes)", text.size());
    const bool is_c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c == '\n')
      out += "\\n";
    else if (c < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else if (is_c1)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[++i])));
    else
      out += text[i];
  }
  return out;
}

/// "red, green, blue, alpha"; empty: a gray band, or nothing is said.
std::string colors_text(const RasterInfo& info) {
  std::vector<std::string> colors;
  for (const BandInfo& band : info.bands) colors.push_back(band.color.empty() ? "not said" : shown(band.color));
  if (std::ranges::all_of(colors,
                          [](const std::string& c) { return c == "gray" || c == "undefined" || c == "not said"; }))
    return info.white_is_zero ? "gray, 0 is white" : "";
  const std::string map = info.colormap.empty() ? "" : fmt::format(" of {} colors", info.colormap.size());
  return fmt::format("{}{}", fmt::join(colors, ", "), map);
}

std::string crs_text(const std::optional<Crs>& crs) {
  if (!crs) return "not said";
  const std::string code = crs->epsg ? fmt::format("EPSG:{}", *crs->epsg) : "no EPSG code";
  const std::string vertical = crs->vertical_epsg ? fmt::format(" + EPSG:{}", *crs->vertical_epsg) : "";
  return crs->name.empty() ? code + vertical : fmt::format("{}{}  {}", code, vertical, shown(crs->name));
}

/// "10980 x 10980  tiles 512 x 512  pixel 10 x 10  mask"
Result<std::string> level_text(const Raster& raster, std::size_t k) {
  const Result<Array> array = raster.level(k);
  if (!array) return "cannot be read: " + array.error().message();
  const Dataset dataset = array->dataset();
  std::string out = fmt::format("{} x {}, chunks {} x {}, {}", dataset.shape[1], dataset.shape[2],
                                dataset.chunk_shape[1], dataset.chunk_shape[2], codecs_text(dataset));
  PENSTOCK_ASSIGN(const auto transform, raster.transform(k));
  if (transform)
    out += fmt::format(", pixel {:.6g} x {:.6g}", std::hypot((*transform)[0], (*transform)[3]),
                       std::hypot((*transform)[1], (*transform)[4]));
  const auto mask = raster.mask(k);
  if (!mask) return out + ", mask cannot be read: " + mask.error().message();
  return mask->has_value() ? out + ", mask" : out;
}

Result<std::string> raster_text(const Raster& raster) {
  PENSTOCK_ASSIGN(const Array array, raster.level(0));
  const Dataset dataset = array.dataset();
  const RasterInfo& info = raster.info();
  Table table("ll");
  table.row({"shape", shape_text(dataset)});
  table.row({"type", dataset.dtype.name()});
  table.row({"crs", crs_text(info.crs)});
  if (info.transform) table.row({"transform", fmt::format("{}", fmt::join(*info.transform, ", "))});
  if (const auto b = raster.bounds())
    table.row({"bounds", fmt::format("{}, {}, {}, {}", b->left, b->bottom, b->right, b->top)});
  if (!info.rpc.empty()) table.row({"rpc", "rational polynomial coefficients of a sensor"});
  if (const std::string colors = colors_text(info); !colors.empty()) table.row({"colors", colors});
  if (!info.gcps.empty()) table.row({"gcps", fmt::format("{} ground control points", info.gcps.size())});
  if (dataset.nodata) {
    PENSTOCK_ASSIGN(const std::string nodata, fill_to_json(dataset.dtype, *dataset.nodata));
    table.row({"nodata", nodata});
  }
  for (std::size_t k = 0; k < raster.level_count(); ++k) {
    PENSTOCK_ASSIGN(const std::string level, level_text(raster, k));
    table.row({fmt::format("level {}", k), level});
  }
  for (std::size_t i = 0; i < info.bands.size(); ++i) {
    const BandInfo& band = info.bands[i];
    if (band.scale == 1 && band.offset == 0 && band.unit.empty() && band.description.empty()) continue;
    table.row({fmt::format("band {}", i),
               fmt::format("value = {} x element + {}{}{}{}{}", band.scale, band.offset, band.unit.empty() ? "" : " ",
                           shown(band.unit), band.description.empty() ? "" : ", ", shown(band.description))});
  }
  for (const auto& [name, value] : info.tags) table.row({shown(name), shown(value)});
  for (const auto& [domain, tags] : info.domains)
    for (const auto& [name, value] : tags) table.row({shown(fmt::format("{}: {}", domain, name)), shown(value)});
  for (const std::string& image : info.other_images) table.row({"not read", image});
  for (const std::string& field : info.other_fields) table.row({"not read", field});
  for (const std::string& file : info.sidecars) table.row({"not read", file});
  return table.text();
}

class CogInfo : public Command {
  std::string file_;
  bool json_ = false;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Shows what a GeoTIFF says besides its elements: coordinate reference system, transform (in the order of "
        "rasterio), bounds (left, bottom, right, top), nodata, levels (the image and its overviews), masks, scales, "
        "control points and tags. No tile is read.");
    usage.argument("FILE", file_, "a TIFF or BigTIFF file");
    words_.declare(usage);
    usage.flag("--json", json_, "print JSON");
    usage.example("penstock cog info dem.tif", "a table");
    usage.example("penstock cog info --json dem.tif | jq .bounds", "for a program");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Raster raster, Raster::open(file_, how));
    if (json_) {
      PENSTOCK_ASSIGN(const Json document, raster_json(raster));
      session.out.json(document);
      return 0;
    }
    PENSTOCK_ASSIGN(const Array image, raster.level(0));
    PENSTOCK_ASSIGN(const std::string text, raster_text(raster));
    session.out.print(fmt::format("{}    {} raster\n", file_, format_title(image.dataset().format)));
    session.out.print(text);
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_cog_info() { return std::make_unique<CogInfo>(); }

}  // namespace penstock::cli
