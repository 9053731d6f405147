// Inside of the zarr v2 reader and writer.
#pragma once
#include "core/json.hpp"
#include "format/zarr/zarr.hpp"

namespace penstock::zarr2 {

/// What `dtype` says.
struct StoredType {
  DType dtype;
  Json endian;             ///< "little", "big", null where it means nothing; a list per field for mixed structures
  bool is_object = false;  ///< "|O": the filters say what the elements are
};
/// Reads a NumPy type string, or the list of fields of a structure.  Errors: invalid_metadata, unsupported.
Result<StoredType> parse_dtype(const Json& value, std::string_view where);
/// Writes it.  Errors: unsupported (byte order that NumPy cannot say).
Result<Json> write_dtype(const DType& dtype, const Json& endian);

/// `order`, `filters` and `compressor` as a chain of v3 codecs.  `dataset` has shape, chunks, dtype and fill.
Result<std::vector<CodecSpec>> parse_codecs(const Json& zarray, const Dataset& dataset, const Json& endian);
/// The reverse: the members of .zarray that the chain becomes.
struct StoredCodecs {
  bool f_order = false;
  Json filters;     ///< list or null
  Json compressor;  ///< object or null
  Json endian;      ///< for write_dtype
};
/// Errors: unsupported (what v2 cannot say: shards, other transposes), invalid_metadata.
Result<StoredCodecs> write_codecs(const Dataset& dataset);

Result<Dataset> parse_array(const Json& zarray, const Json& zattrs);
Result<GroupInfo> parse_group(const Json& zgroup, const Json& zattrs);
/// Documents by name (".zarray", ".zattrs").
using JsonDocuments = std::vector<std::pair<std::string, Json>>;
Result<JsonDocuments> to_json(const Dataset& dataset);
Result<JsonDocuments> to_json(const GroupInfo& group);

}  // namespace penstock::zarr2
