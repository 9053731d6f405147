// The name of JSON documents, for headers that only pass them on: nlohmann-json itself takes seconds to compile.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace penstock {

/// A document whose members keep their order (core/json.hpp).
using Json = nlohmann::ordered_json;

}  // namespace penstock
