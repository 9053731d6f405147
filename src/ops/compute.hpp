// The type that operators compute in.
#pragma once
#include <cstdint>

#include "penstock/dtype.hpp"

namespace penstock {

enum class Compute : std::uint8_t { float32, float64, element };

/// float32 for what it holds exactly, else float64, which `double_precision` asks for.
inline Compute compute_for(const DType& dtype, bool double_precision) {
  const bool holds =
      dtype.kind == Kind::boolean || dtype.size_bytes < 4 || (dtype.kind == Kind::floating && dtype.size_bytes == 4);
  return holds && !double_precision ? Compute::float32 : Compute::float64;
}

}  // namespace penstock
