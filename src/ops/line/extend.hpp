// Arrays with more elements at the ends of their axes, on the host's side: what windows slide over.
#pragma once
#include <vector>

#include "ops/border.hpp"
#include "ops/line/extend_kernel.hpp"
#include "ops/operator.hpp"

namespace penstock::line {

/// What is added to one axis.
struct Extension {
  std::uint64_t before = 0, after = 0;
  Border border = Border::reflect;
};

/// `each`: of every axis of the input, whose extents are more than 0 where something is added.
std::unique_ptr<Operator> make_extend(const ArrayInfo& input, std::vector<Extension> each, double constant);

/// Returns before it is done.  Errors: device_error; unsupported (built without CUDA).
template <class W>
Status extend_on_cuda(const ExtendJob<W>& job, const Stream& stream);

}  // namespace penstock::line
