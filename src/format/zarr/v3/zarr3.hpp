// Inside of the zarr v3 reader and writer.
#pragma once
#include <optional>

#include "core/json.hpp"
#include "format/zarr/fill.hpp"
#include "format/zarr/zarr.hpp"

namespace penstock::zarr3 {

/// An extension point: "name", or {"name": ..., "configuration": {...}}.
struct Named {
  std::string name;
  Json configuration = Json::object();
};
/// Errors: invalid_metadata naming the member; unsupported (a member that is not known).
Result<Named> parse_named(const Json& value, std::string_view where);

/// Reads `data_type`.  Errors: invalid_metadata, unsupported (unknown type, by name).
Result<DType> parse_dtype(const Json& value, std::string_view where);
/// Writes it with the names that zarr-python reads.  Errors: unsupported (fields that are arrays).
Result<Json> write_dtype(const DType& dtype);
/// How fill values of a data type spelled like this are written.
FillStyle fill_style(const Json& data_type);

/// Where a codec has a list of byte orders, one per field, which only zarr v2 knows: "codecs[0].configuration.endian".
/// Looks into shards; nullopt when it has none.
std::optional<std::string> find_listed_order(std::string_view codec, const Json& configuration,
                                             const std::string& where);

/// The same as parse_zarr3 and write_zarr3, for documents inside consolidated metadata.
Result<NodeInfo> parse(const Json& document);
Result<Json> to_json(const Dataset& dataset);
Result<Json> to_json(const GroupInfo& group);

}  // namespace penstock::zarr3
