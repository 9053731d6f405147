// x / scale + offset on a device.
#pragma once
#include "codec/astype/kernel.hpp"

namespace penstock {

/// Unit i is number i.  T: the type that is computed in, float or double; float16 is computed in float, and every step
/// is rounded to it.
template <class T>
struct ScaleOffsetFilter {
  ScalarType from, to;
  T scale, offset;

  [[nodiscard]] PENSTOCK_HD std::uint64_t in_bytes(std::uint64_t out_bytes) const {
    return out_bytes / to.bytes * from.bytes;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t units(std::uint64_t out_bytes) const { return out_bytes / to.bytes; }
  PENSTOCK_HD void operator()(const std::uint8_t* in, std::uint8_t* out, std::uint64_t /*out_bytes*/,
                              std::uint64_t i) const {
    const T x = load_as<T>(from, in + i * from.bytes);
    const T scaled = rounded(with_nan_of(x / scale, x, scale));
    const T moved = rounded(with_nan_of(scaled + offset, scaled, offset));
    store_as(to, out + i * to.bytes, moved, from.is_half() ? 2 : static_cast<std::uint32_t>(sizeof(T)));
  }

 private:
  [[nodiscard]] PENSTOCK_HD T rounded(T x) const {
    return from.is_half() ? cast_float<T>(float_of_half(half_of(cast_float<double>(x)))) : x;
  }
};

}  // namespace penstock
