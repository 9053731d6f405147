// Members of Dataset and its parts.
#include "penstock/dataset.hpp"

#include <charconv>

#include "codec/sharding/sharding_spec.hpp"
#include "core/checked.hpp"

namespace penstock {

std::string KeyEncoding::key(std::span<const std::uint64_t> chunk) const {
  std::string key = kind == Kind::standard ? "c" : "";
  for (const std::uint64_t index : chunk) {
    if (!key.empty()) key += separator;
    key += std::to_string(index);
  }
  return key.empty() ? "0" : key;
}

std::optional<Shape> KeyEncoding::chunk(std::string_view key, std::size_t rank) const {
  if (kind == Kind::standard) {
    if (key.empty() || key.front() != 'c') return std::nullopt;
    key.remove_prefix(1);
    if (rank == 0) return key.empty() ? std::optional<Shape>(Shape{}) : std::nullopt;
    if (key.empty() || key.front() != separator) return std::nullopt;
    key.remove_prefix(1);
  } else if (rank == 0) {
    return key == "0" ? std::optional<Shape>(Shape{}) : std::nullopt;
  }
  Shape chunk;
  while (true) {
    const std::string_view part = key.substr(0, key.find(separator));
    std::uint64_t value = 0;
    const auto [ptr, ec] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (ec != std::errc() || ptr != part.data() + part.size()) return std::nullopt;
    chunk.push_back(value);
    if (part.size() == key.size()) break;
    key.remove_prefix(part.size() + 1);
  }
  return chunk.size() == rank ? std::optional<Shape>(std::move(chunk)) : std::nullopt;
}

std::optional<int> zarr_format(const FormatInfo& format) {
  return format.name == "zarr" ? std::optional(format.version) : std::nullopt;
}

std::vector<Dimension> named_dimensions(std::span<const std::optional<std::string>> names) {
  std::vector<Dimension> dims;
  for (const auto& name : names) dims.push_back({.name = name});
  return dims;
}

std::vector<std::optional<std::string>> Dataset::dimension_names() const {
  std::vector<std::optional<std::string>> names;
  for (const Dimension& dim : dims) names.push_back(dim.name);
  return names;
}

Shape Dataset::grid_shape() const {
  Shape grid;
  for (std::size_t i = 0; i < shape.size(); ++i) grid.push_back(div_up(shape[i], chunk_shape[i]));
  return grid;
}

Result<Shape> Dataset::inner_chunk_shape() const {
  Shape inner = chunk_shape;
  std::vector<CodecSpec> inside = codecs;  // shards may hold shards
  for (std::string where = "codecs[0].configuration";; where += ".codecs[0].configuration") {
    PENSTOCK_ASSIGN(std::optional<ShardingSpec> sharding, ShardingSpec::find(inside, chunk_shape.size(), where));
    if (!sharding) return inner;
    inner = std::move(sharding->chunk_shape);
    inside = std::move(sharding->codecs);
  }
}

}  // namespace penstock
