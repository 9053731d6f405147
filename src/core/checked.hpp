// Size arithmetic that reports overflow.
#pragma once
#include <cstdint>

#include "penstock/error.hpp"

namespace penstock {

/// a * b.  Errors: out_of_range.
inline Result<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return Error(ErrorCode::out_of_range, "a size does not fit in 64 bits");
  return r;
}
/// a + b.  Errors: out_of_range.
inline Result<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return Error(ErrorCode::out_of_range, "a size does not fit in 64 bits");
  return r;
}
/// a * b, at most the largest number: for limits and needs, which no budget then has room for.
inline std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? ~std::uint64_t{0} : r;
}
/// a + b, at most the largest number.
inline std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? ~std::uint64_t{0} : r;
}
/// a / b rounded up; b > 0.
constexpr std::uint64_t div_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0); }

}  // namespace penstock
