// Operators on each element by itself, on the host's side.
#pragma once
#include <vector>

#include "ops/dispatch.hpp"
#include "ops/element/kernel.hpp"
#include "ops/element/program.hpp"
#include "ops/operator.hpp"

namespace penstock::element {

/// Elements of another type.
std::unique_ptr<Operator> make_cast(const ArrayInfo& input, const DType& dtype, Rounding rounding);

/// Steps of arithmetic in one pass; whole numbers of the output are rounded once.  Two of them in a chain become one.
std::unique_ptr<Operator> make_program(const ArrayInfo& input, const DType& output, std::vector<Step> steps,
                                       bool in_double);

template <class C>
Status program_on_cuda(const ProgramJob<C>& job, std::uint64_t count, const Stream& stream);

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
