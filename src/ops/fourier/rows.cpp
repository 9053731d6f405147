#include "ops/fourier/rows.hpp"

#include <fmt/format.h>

#include "ops/common.hpp"
#include "ops/compute.hpp"
#include "ops/element/element.hpp"
#include "ops/fourier/fourier.hpp"

namespace penstock::fourier {

Status add_dct(Chain& chain, Arguments& arguments) {
  const std::size_t rank = chain.output().shape.size();
  PENSTOCK_ASSIGN(std::vector<std::size_t> axes, arguments.axes());
  if (!arguments.given("axes") && rank > 2) axes = {rank - 2, rank - 1};  // images, one beside the other
  PENSTOCK_ASSIGN(const std::int64_t type, arguments.integer("type", 2));
  if (type != 2 && type != 3) return bad_argument(fmt::format("type {}: cosine transforms are of type 2 and 3", type));
  PENSTOCK_ASSIGN(const std::string norm, arguments.text("norm", "backward"));
  if (norm != "backward" && norm != "ortho")
    return bad_argument(fmt::format("norm is backward or ortho, not {}", norm));
  PENSTOCK_ASSIGN(const std::string precision, arguments.text("precision", "float32"));
  const bool wide = compute_for(chain.output().dtype, precision == "float64") == Compute::float64;
  const DType computed = wide ? DType::float64() : DType::float32();
  PENSTOCK_ASSIGN(const DType output, arguments.dtype("output", computed));
  if (chain.output().dtype != computed) chain.add(element::make_cast(chain.output(), computed, Rounding::truncate));
  for (const std::size_t axis : axes) {
    if (chain.output().shape[axis] == 0) return bad_argument(fmt::format("axis {} has no elements", axis));
    chain.add(make_dct(chain.output(), axis, static_cast<int>(type), norm == "ortho"));
  }
  if (chain.output().dtype != output) chain.add(element::make_cast(chain.output(), output, Rounding::nearest));
  return {};
}

}  // namespace penstock::fourier
