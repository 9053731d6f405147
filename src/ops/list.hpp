// The operators: one row each.  The command line, Python and the support table come from it.
#pragma once
#include <span>
#include <string_view>

#include "ops/arguments.hpp"
#include "ops/chain.hpp"

namespace penstock {

/// A row.
struct OpEntry {
  std::string_view name;       ///< scipy.ndimage's where it has one
  std::string_view summary;    ///< one line
  std::string_view arguments;  ///< "sigma, order=0, mode=reflect": for help
  /// Adds what the call consists of to the chain.  Errors: invalid_argument, unsupported.
  Status (*add)(Chain& chain, Arguments& arguments);
};

std::span<const OpEntry> op_list();
/// nullptr: there is none.
const OpEntry* find_op(std::string_view name);

}  // namespace penstock
