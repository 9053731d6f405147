// Chains on arrays in stores.
#pragma once
#include <string_view>

#include "ops/chain.hpp"

namespace penstock {

/// Makes all of a chain's output of `from`, tile by tile, in memory of `device`, and writes it to `to`, which has its
/// shape and type.  `what` names the operation.  Errors: those of LazyArray::write.
Result<Report> write_chain(const Array& from, const Chain& chain, std::string_view what, Array& to, Device device,
                           const Options& options);

}  // namespace penstock
