// Which types samples are computed in: the one list of what is compiled.
#pragma once
#include "ops/dispatch.hpp"
#include "ops/sample/sample.hpp"

namespace penstock::sample {

template <class F>
void with_types(const DType& dtype, bool in_double, const F& f) {
  with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) < 4 || std::is_same_v<T, float>)
      if (!in_double) return f(tag, TypeTag<float>());
    f(tag, TypeTag<double>());
  });
}

// clang-format off: it moves the rows further each time
#define PENSTOCK_SAMPLE_TYPES(M) \
  M(bool, float) M(bool, double) \
  M(std::uint8_t, float) M(std::uint8_t, double) \
  M(std::int8_t, float) M(std::int8_t, double) \
  M(std::uint16_t, float) M(std::uint16_t, double) \
  M(std::int16_t, float) M(std::int16_t, double) \
  M(std::uint32_t, double) M(std::int32_t, double) \
  M(std::uint64_t, double) M(std::int64_t, double) \
  M(float, float) M(float, double) M(double, double)
// clang-format on

}  // namespace penstock::sample
