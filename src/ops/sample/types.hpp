// Which types samples are computed in: the one list of what is compiled.
#pragma once
#include "ops/compute.hpp"
#include "ops/dispatch.hpp"
#include "ops/element/kernel.hpp"
#include "ops/sample/sample.hpp"

namespace penstock::sample {

template <std::size_t kBytes>
using Word = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

/// Calls f(TypeTag<T>, TypeTag<C>) for elements of a type that sampled_type gives.
template <class F>
void with_types(const DType& dtype, int order, const F& f) {
  with_type(dtype, [&]<class T>(TypeTag<T> tag) {
    if (order == 0) return f(TypeTag<Word<sizeof(T)>>(), TypeTag<Word<sizeof(T)>>());
    using C = std::conditional_t<sizeof(T) < 4 || std::is_same_v<T, float>, float, double>;
    f(tag, TypeTag<C>());
  });
}

/// What stands beyond the ends of an array of `dtype`, for a job that is computed in C.
template <class C>
C constant_of(const DType& dtype, int order, double value) {
  if (order > 0) return truncated<C>(value);
  C word = C(0);
  with_type(dtype, [&]<class T>(TypeTag<T>) {
    const T constant = nearest<T>(value);
    std::memcpy(&word, &constant, std::min(sizeof word, sizeof constant));
  });
  return word;
}

// clang-format off: it moves the rows further each time
#define PENSTOCK_SAMPLE_TYPES(M) \
  M(std::uint8_t, std::uint8_t) M(std::uint16_t, std::uint16_t) \
  M(std::uint32_t, std::uint32_t) M(std::uint64_t, std::uint64_t) \
  M(bool, float) M(std::uint8_t, float) M(std::int8_t, float) M(std::uint16_t, float) M(std::int16_t, float) \
  M(std::uint32_t, double) M(std::int32_t, double) M(std::uint64_t, double) M(std::int64_t, double) \
  M(float, float) M(double, double)
// clang-format on

}  // namespace penstock::sample
