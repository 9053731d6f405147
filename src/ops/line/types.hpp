// Which types a line is computed in: the one list of what is compiled.
#pragma once
#include "ops/dispatch.hpp"
#include "ops/line/line.hpp"

namespace penstock::line {

/// Types that float32 holds exactly, and that filters therefore compute in it.
template <class T>
inline constexpr bool kFitsFloat = sizeof(T) < 4 || std::is_same_v<T, float>;

template <class F>
bool with_types(const DType& dtype, Compute compute, const F& f) {
  return with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (compute == Compute::element) return f(tag, tag);
    if constexpr (kFitsFloat<T>)
      if (compute == Compute::float32) return f(tag, TypeTag<float>());
    f(tag, TypeTag<double>());
  });
}

/// Names every LineJob that with_types calls for: `M(T, C)`.
// clang-format off: it moves the rows further each time
#define PENSTOCK_LINE_TYPES(M) \
  M(bool, bool) M(bool, float) M(bool, double) \
  M(std::uint8_t, std::uint8_t) M(std::uint8_t, float) M(std::uint8_t, double) \
  M(std::int8_t, std::int8_t) M(std::int8_t, float) M(std::int8_t, double) \
  M(std::uint16_t, std::uint16_t) M(std::uint16_t, float) M(std::uint16_t, double) \
  M(std::int16_t, std::int16_t) M(std::int16_t, float) M(std::int16_t, double) \
  M(std::uint32_t, std::uint32_t) M(std::uint32_t, double) \
  M(std::int32_t, std::int32_t) M(std::int32_t, double) \
  M(std::uint64_t, std::uint64_t) M(std::uint64_t, double) \
  M(std::int64_t, std::int64_t) M(std::int64_t, double) \
  M(float, float) M(float, double) M(double, double)

/// The types of boxes.
#define PENSTOCK_BOX_TYPES(M) \
  M(bool) M(std::uint8_t) M(std::int8_t) M(std::uint16_t) M(std::int16_t) M(std::uint32_t) M(std::int32_t) \
  M(std::uint64_t) M(std::int64_t) M(float) M(double)
// clang-format on

}  // namespace penstock::line
