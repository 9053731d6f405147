// How a chain's operators are run: which of them together, and where lies what is between.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "ops/operator.hpp"

namespace penstock {

using Operators = std::span<const std::unique_ptr<Operator>>;

/// Runs operators between two tiles.  `boxes`: of the input of each, and of the output, which has elements; `in` is
/// packed.
Status run_operators(Operators operators, const std::vector<Region>& boxes, const Tile& in, const Tile& out,
                     const Workspace& work);

/// The elements of a box inside of a tile.
Result<TensorView> part_of(const Tile& tile, const Region& box);

/// Bytes of the elements in a box.
std::uint64_t bytes_of(const DType& dtype, const Region& box);

}  // namespace penstock
