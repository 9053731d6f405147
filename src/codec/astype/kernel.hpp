// Conversion between numbers on a device, but for floats to integers.
#pragma once
#include "codec/astype/scalar.hpp"

namespace penstock {

/// Unit i is number i.
struct ConvertFilter {
  ScalarType from, to;

  [[nodiscard]] PENSTOCK_HD std::uint64_t in_bytes(std::uint64_t out_bytes) const {
    return out_bytes / to.bytes * from.bytes;
  }
  [[nodiscard]] PENSTOCK_HD std::uint64_t units(std::uint64_t out_bytes) const { return out_bytes / to.bytes; }
  PENSTOCK_HD void operator()(const std::uint8_t* in, std::uint8_t* out, std::uint64_t /*out_bytes*/,
                              std::uint64_t i) const {
    in += i * from.bytes;
    out += i * to.bytes;
    if (!to.is_float)
      to.store_bits(out, from.load_integer(in));
    else if (to.bytes == 4)
      to.store(out, from.load<float>(in));
    else
      to.store(out, from.load<double>(in));
  }
};

}  // namespace penstock
