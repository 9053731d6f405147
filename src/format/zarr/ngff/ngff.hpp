// Inside of the OME-NGFF reader and writer.
#pragma once
#include <string>

#include "core/json_fwd.hpp"
#include "penstock/dataset.hpp"

namespace penstock::ngff {

/// The object that holds the OME members, and how messages call it: attributes["ome"] for 0.5, the attributes
/// themselves for 0.4.
struct Namespace {
  const Json* object = nullptr;
  std::string where;    ///< "ome." or ""
  std::string version;  ///< of 0.5; 0.4 states it in each image
};
/// Errors: invalid_metadata, unsupported (another version, by name).
Result<Namespace> open_namespace(const Json& attributes);
/// Attributes as a document.  Errors: invalid_metadata.
Result<Json> parse_attributes(std::string_view attributes_json);

}  // namespace penstock::ngff
