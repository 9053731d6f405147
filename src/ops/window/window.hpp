// Operators under a footprint, on the host's side.
#pragma once
#include <vector>

#include "ops/border.hpp"
#include "ops/isa.hpp"
#include "ops/operator.hpp"
#include "ops/window/kernel.hpp"

namespace penstock::window {

/// Which elements of a box count, in C order.
struct Footprint {
  Shape shape;
  std::vector<bool> mask;
};

/// The rank-th smallest of the elements of an extended array (of unsigned numbers) under the footprint; the output is
/// smaller by its extents less one.
std::unique_ptr<Operator> make_rank(const ArrayInfo& input, const Footprint& footprint, std::uint32_t rank);
/// Elements as unsigned numbers of the same order, and back (`dtype`: what they were).
std::unique_ptr<Operator> make_keys(const ArrayInfo& input);
std::unique_ptr<Operator> make_elements(const ArrayInfo& input, const DType& dtype);

template <class K>
Status run_on_cpu(const RankJob<K>& job, Job& threads, Isa isa);
template <class K>
Status run_on_cuda(const RankJob<K>& job, const Stream& stream);
/// The element passes on a device.  `back`: from unsigned numbers.
Status keys_on_cuda(const DType& dtype, const void* in, void* out, std::uint64_t count, bool back,
                    const Stream& stream);

}  // namespace penstock::window
