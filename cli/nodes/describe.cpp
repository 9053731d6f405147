#include "cli/nodes/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codec/sharding/sharding_spec.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "format/format.hpp"

namespace penstock::cli {
namespace {

/// The parameters that people ask for: "(3)", "(lz4, 5, shuffle)".
std::string parameters(const Json& configuration) {
  std::vector<std::string> shown;
  for (const char* name : {"cname", "clevel", "level", "preset", "acceleration", "shuffle", "keepbits", "order"}) {
    const auto it = configuration.find(name);
    if (it == configuration.end()) continue;
    shown.push_back(it->is_string() ? it->get<std::string>() : dump_json(*it));
  }
  return shown.empty() ? "" : fmt::format("({})", fmt::join(shown, ", "));
}

void add_codecs(std::span<const CodecSpec> codecs, std::size_t rank, std::vector<std::string>& names) {
  for (const CodecSpec& codec : codecs) {
    const auto parsed = parse_json(codec.configuration);
    const Json configuration = parsed ? *parsed : Json::object();
    if (codec.name == ShardingSpec::kName) {
      if (const auto sharding = ShardingSpec::parse(configuration, rank)) add_codecs(sharding->codecs, rank, names);
    } else if (codec.name == "bytes") {
      const auto endian = configuration.find("endian");
      const auto* text = endian == configuration.end() ? nullptr : endian->get_ptr<const std::string*>();
      if (text != nullptr && *text == "big") names.emplace_back("big-endian");
    } else {
      names.push_back((codec.name.starts_with("numcodecs.") ? codec.name.substr(10) : codec.name) +
                      parameters(configuration));
    }
  }
}

/// Specs as the array that zarr v3 has for them.
Json codecs_json(const std::vector<CodecSpec>& codecs) {
  Json list = Json::array();
  for (const CodecSpec& codec : codecs) {
    auto configuration = parse_json(codec.configuration);
    list.push_back({{"name", codec.name}, {"configuration", configuration ? *configuration : Json::object()}});
  }
  return list;
}

bool is_metadata(std::string_view name) { return name == "zarr.json" || name.starts_with("."); }

}  // namespace

std::string joined(std::string_view a, std::string_view b) {
  return a.empty() ? std::string(b) : b.empty() ? std::string(a) : fmt::format("{}/{}", a, b);
}

std::string shape_text(const Dataset& dataset) {
  if (dataset.rank() == 0) return "scalar";
  const auto named = [&](std::size_t d) { return d < dataset.dims.size() && dataset.dims[d].name; };
  std::string text;
  bool any = false;
  for (std::size_t d = 0; d < dataset.rank(); ++d) any = any || named(d);
  for (std::size_t d = 0; d < dataset.rank(); ++d) {
    if (d > 0) text += any ? "  " : " x ";
    if (named(d)) text += *dataset.dims[d].name + " ";
    text += std::to_string(dataset.shape[d]);
  }
  return text;
}

std::string extent_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  if (shape.size() > 1 && std::ranges::adjacent_find(shape, std::not_equal_to<>()) == shape.end())
    return fmt::format("{}^{}", shape[0], shape.size());
  return fmt::format("{}", fmt::join(shape, " x "));
}

std::string codecs_text(const Dataset& dataset) {
  std::vector<std::string> names;
  add_codecs(dataset.codecs, dataset.rank(), names);
  return names.empty() ? "raw" : fmt::format("{}", fmt::join(names, " + "));
}

Result<std::string> chunks_text(const Dataset& dataset) {
  PENSTOCK_ASSIGN(const Shape inner, dataset.inner_chunk_shape());
  if (inner == dataset.chunk_shape) return "chunks " + extent_text(inner);
  return fmt::format("chunks {} in shards {}", extent_text(inner), extent_text(dataset.chunk_shape));
}

Result<std::uint64_t> decoded_bytes(const Dataset& dataset) {
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(dataset.shape));
  return checked_mul(count, dataset.dtype.size_bytes);
}

Result<std::optional<Stored>> count_stored(const Store& store, const std::string& path, CountLimit limit) {
  const auto end = std::chrono::steady_clock::now() + limit.time;
  Stored stored;
  std::vector<std::string> prefixes = {path};
  while (!prefixes.empty()) {
    const std::string prefix = std::move(prefixes.back());
    prefixes.pop_back();
    PENSTOCK_ASSIGN(const auto entries, store.list_dir(prefix));
    for (const StoreEntry& entry : entries) {
      if (limit.entries-- == 0 || std::chrono::steady_clock::now() > end) return std::optional<Stored>();
      const std::string key = joined(prefix, entry.name);
      if (entry.is_prefix) {
        prefixes.push_back(key);
      } else if (!is_metadata(entry.name)) {
        PENSTOCK_ASSIGN(const auto bytes, store.size_bytes(key));
        if (!bytes) continue;  // removed meanwhile
        ++stored.objects;
        stored.bytes += *bytes;
      }
    }
  }
  return std::optional(stored);
}

std::string stored_text(const Stored& stored, const Dataset& dataset) {
  const auto inner = dataset.inner_chunk_shape();
  const bool sharded = inner && *inner != dataset.chunk_shape;
  std::string text = fmt::format("{} {}{}, {} stored", format_count(stored.objects), sharded ? "shard" : "chunk",
                                 stored.objects == 1 ? "" : "s", format_bytes(stored.bytes));
  const auto decoded = decoded_bytes(dataset);
  const auto grid = element_count(dataset.grid_shape());
  const bool whole = grid && stored.objects == *grid;  // a ratio of absent chunks says nothing about the codecs
  if (decoded && whole && stored.bytes > 0 && !dataset.dtype.is_vlen())
    text += fmt::format(", ratio {:.1f}", static_cast<double>(*decoded) / static_cast<double>(stored.bytes));
  return text;
}

std::string format_text(const FormatInfo& format) { return format_title(format); }

Result<Json> dataset_json(const Dataset& dataset) {
  PENSTOCK_ASSIGN(const Shape inner, dataset.inner_chunk_shape());
  Json names = Json();
  if (!dataset.dims.empty()) {
    names = Json::array();
    for (const auto& name : dataset.dimension_names()) names.push_back(name ? Json(*name) : Json());
  }
  Json fill;
  if (!dataset.fill.empty() || dataset.dtype.is_vlen()) {
    PENSTOCK_ASSIGN(const std::string text, fill_to_json(dataset.dtype, dataset.fill));
    PENSTOCK_ASSIGN(fill, parse_json(text));
  }
  PENSTOCK_ASSIGN_IN(Json attributes, parse_json(dataset.attributes), "attributes");
  Json document = {{"node_type", "array"},
                   {"format", dataset.format.name},
                   {"format_version", dataset.format.version},
                   {"shape", dataset.shape},
                   {"data_type", dataset.dtype.name()},
                   {"chunk_shape", inner},
                   {"shard_shape", inner == dataset.chunk_shape ? Json() : Json(dataset.chunk_shape)},
                   {"fill_value", std::move(fill)},
                   {"dimension_names", std::move(names)},
                   {"codecs", codecs_json(dataset.codecs)},
                   {"attributes", std::move(attributes)}};
  if (const auto zarr = zarr_format(dataset.format)) document["zarr_format"] = *zarr;
  if (dataset.world_from_voxel) document["world_from_voxel"] = dataset.world_from_voxel->rows;
  if (const auto bytes = decoded_bytes(dataset); bytes && !dataset.dtype.is_vlen()) document["decoded_bytes"] = *bytes;
  return document;
}

}  // namespace penstock::cli
