// Operators in the contract harness: each of the list, for every element type, against what all must keep.
#pragma once
#include <string>
#include <vector>

#include "contract/checks.hpp"
#include "penstock/ops.hpp"

namespace penstock::contract {

/// A call of an operator.  Every operator of the list has at least one.
struct OperatorCase {
  OpCall call;
  bool is_missing = false;  ///< the list has it and the harness has not: fails
};
std::vector<OperatorCase> operator_cases();
/// Element types that a harness tries.
std::vector<DType> operator_dtypes();

/// On packed memory, views, into memory between sentinels, within a small budget, over tiles of a stored array, and on
/// a device where there is one: the same values.  Input and output untouched around.
Check check_operator(const OperatorCase& c, const DType& dtype);
/// Whether a stored array may go through it.
bool is_lazy(const OperatorCase& c);

}  // namespace penstock::contract
