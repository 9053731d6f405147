// Divisions by numbers that are known at run time only: what a device pays most for when it looks for an element.
#pragma once
#include <cstdint>

#include "device/portable.hpp"

namespace penstock {

/// Returns a / b and leaves the remainder in `a`.  Numbers of 32 bits, of which nearly all are, cost a device a
/// fraction of what those of 64 cost.
PENSTOCK_HD std::uint64_t divide(std::uint64_t& a, std::uint64_t b) {
  if (((a | b) >> 32) == 0) {
    const auto whole = static_cast<std::uint32_t>(a), by = static_cast<std::uint32_t>(b), quotient = whole / by;
    a = whole - quotient * by;
    return quotient;
  }
  const std::uint64_t quotient = a / b;
  a -= quotient * b;
  return quotient;
}

}  // namespace penstock
