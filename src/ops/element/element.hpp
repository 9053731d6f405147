// Operators on each element by itself, on the host's side.
#pragma once
#include "ops/dispatch.hpp"
#include "ops/element/kernel.hpp"
#include "ops/operator.hpp"

namespace penstock::element {

/// Elements of another type.
std::unique_ptr<Operator> make_cast(const ArrayInfo& input, const DType& dtype, Rounding rounding);

/// `count` elements of packed memory of the stream's device, in its order.
/// Errors: device_error; unsupported (built without CUDA).
Status cast_on_cuda(const DType& from, const void* in, const DType& to, void* out, std::uint64_t count,
                    Rounding rounding, const Stream& stream);

/// Calls f(CastJob<From, To>) with the job of two types; false: operators do not take them.
template <class F>
bool with_cast(const DType& from, const void* in, const DType& to, void* out, Rounding rounding, const F& f) {
  bool known = false;
  with_type(from, [&]<class From>(TypeTag<From>) {
    known = with_type(to, [&]<class To>(TypeTag<To>) {
      f(CastJob<From, To>{static_cast<const From*>(in), static_cast<To*>(out), rounding});
    });
  });
  return known;
}

}  // namespace penstock::element
