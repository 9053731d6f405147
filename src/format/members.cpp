#include "format/members.hpp"

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/json.hpp"

namespace penstock::metadata {
namespace {

constexpr std::uint64_t kMaxExtent = INT64_MAX;

}  // namespace

Error invalid(std::string_view where, std::string_view what) {
  return {ErrorCode::invalid_metadata, fmt::format("{}: {}", where, what)};
}
Error unsupported(std::string_view where, std::string_view what) {
  return {ErrorCode::unsupported, fmt::format("{}: {}", where, what)};
}

std::string shown(const Json& value) {
  std::string text = dump_json(value);
  if (text.size() <= 60) return text;
  text.resize(57);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  return text + "...";
}

Result<Shape> parse_shape(const Json& value, std::string_view where, Extents extents) {
  if (!value.is_array()) return invalid(where, fmt::format("must be a list of whole numbers, is {}", shown(value)));
  if (value.size() > kMaxRank)
    return unsupported(where, fmt::format("{} dimensions; penstock has up to {}", value.size(), kMaxRank));
  Shape shape;
  for (const Json& item : value) {
    const std::string name = fmt::format("{}[{}]", where, shape.size());
    PENSTOCK_ASSIGN(const std::uint64_t extent, to_u64(item, name));
    if (extent > kMaxExtent) return invalid(name, fmt::format("{} is more than 2^63-1", extent));
    if (extent == 0 && extents == Extents::positive) return invalid(name, "must be 1 or more, is 0");
    shape.push_back(extent);
  }
  return shape;
}

Status check_chunks(const Dataset& dataset, std::string_view shape_member, std::string_view chunk_member) {
  if (dataset.shape.size() != dataset.chunk_shape.size())
    return invalid(chunk_member, fmt::format("has {} dimensions, {} has {}", dataset.chunk_shape.size(), shape_member,
                                             dataset.shape.size()));
  std::uint64_t bytes = dataset.dtype.size_bytes;
  for (const std::uint64_t extent : dataset.chunk_shape) {
    const auto product = checked_mul(bytes, extent);
    if (!product || *product > kMaxExtent)
      return invalid(chunk_member, fmt::format("a chunk of {} elements of {} bytes does not fit in 2^63 bytes",
                                               to_string(dataset.chunk_shape), dataset.dtype.size_bytes));
    bytes = *product;
  }
  return {};
}

Status allow_zero_chunks_of_empty(Dataset& dataset, std::string_view chunk_member) {
  for (std::size_t i = 0; i < dataset.chunk_shape.size(); ++i) {
    if (dataset.chunk_shape[i] != 0) continue;
    if (i >= dataset.shape.size() || dataset.shape[i] != 0)
      return invalid(fmt::format("{}[{}]", chunk_member, i), "must be 1 or more, is 0");
    dataset.chunk_shape[i] = 1;
  }
  return {};
}

Status check_dataset(const Dataset& dataset) {
  if (dataset.rank() > kMaxRank)
    return unsupported("shape", fmt::format("{} dimensions; penstock has up to {}", dataset.rank(), kMaxRank));
  for (const std::uint64_t extent : dataset.shape)
    if (extent > kMaxExtent) return invalid("shape", fmt::format("{} is more than 2^63-1", extent));
  for (const std::uint64_t extent : dataset.chunk_shape)
    if (extent == 0) return invalid("chunk_shape", "must be 1 or more, is 0");
  if (!dataset.dims.empty() && dataset.dims.size() != dataset.rank())
    return invalid("dimension_names", fmt::format("{} names for {} dimensions", dataset.dims.size(), dataset.rank()));
  return check_chunks(dataset, "shape", "chunk_shape");
}

Result<std::string> object_text(const Json& parent, std::string_view key) {
  const auto it = parent.find(std::string(key));
  if (it == parent.end() || it->is_null()) return std::string("{}");
  if (!it->is_object()) return invalid(key, fmt::format("must be an object, is {}", shown(*it)));
  return dump_json(*it);
}

Result<std::vector<std::optional<std::string>>> parse_names(const Json& value, std::string_view where,
                                                            std::size_t rank) {
  if (!value.is_array()) return invalid(where, fmt::format("must be a list of strings and nulls, is {}", shown(value)));
  if (value.size() != rank) return invalid(where, fmt::format("{} names for {} dimensions", value.size(), rank));
  std::vector<std::optional<std::string>> names;
  for (const Json& item : value) {
    if (!item.is_null() && !item.is_string())
      return invalid(fmt::format("{}[{}]", where, names.size()),
                     fmt::format("must be a string or null, is {}", shown(item)));
    names.push_back(item.is_null() ? std::nullopt : std::optional(item.get<std::string>()));
  }
  return names;
}

}  // namespace penstock::metadata
