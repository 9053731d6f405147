// Files of formats that penstock does not read: named as what they are.
#pragma once
#include "format/entry.hpp"

namespace penstock {

/// What a file is by its first bytes: "a TIFF file"; empty: not known.
std::string_view foreign_name(ByteView head);
/// Never a node.  Errors: unsupported, with what it is and what to do.
Result<std::optional<NodeInfo>> name_foreign(Candidate& candidate);

}  // namespace penstock
