// x / scale + offset on a device.
#pragma once
#include "codec/astype/scalar.hpp"

namespace penstock {

/// Unit i is number i.  T: the type that is computed in, float or double; decoded numbers are floats.
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
    to.store(out + i * to.bytes, from.load<T>(in + i * from.bytes) / scale + offset);
  }
};

}  // namespace penstock
