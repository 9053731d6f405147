// Loops of the CPU, compiled for what a processor may have and chosen at run time.
//
// A wheel runs on every x86-64.  A header of plain loops (line/loops.hpp) is included three times by its cpu.cpp, each
// time between PENSTOCK_BEGIN_x and PENSTOCK_END_ISA, which compile what is between them for those instructions:
//
//   #define PENSTOCK_ISA baseline
//   #include "ops/line/loops.hpp"
//   PENSTOCK_BEGIN_AVX2
//   #define PENSTOCK_ISA avx2
//   #include "ops/line/loops.hpp"
//   PENSTOCK_END_ISA
//
// All they define lies in `namespace PENSTOCK_ISA`; what they include is included before, so that no function of a
// library is compiled for instructions that a machine may lack.
#pragma once
#include <cstdint>

namespace penstock {

/// Instructions that the loops use: those of any x86-64 (or of another processor), AVX2 with FMA, AVX-512.
enum class Isa : std::uint8_t { baseline, avx2, avx512 };

#if defined(__x86_64__)
#define PENSTOCK_HAVE_ISAS 1
/// What this machine has.
inline Isa best_isa() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Isa::avx2 : Isa::baseline;
}
#if defined(__clang__)
#define PENSTOCK_BEGIN_AVX2 _Pragma("clang attribute push (__attribute__((target(\"avx2,fma\"))), apply_to = function)")
// clang-format off: one literal, as _Pragma demands
#define PENSTOCK_BEGIN_AVX512 _Pragma("clang attribute push (__attribute__((target(\"avx2,fma,avx512f,avx512bw,avx512dq,avx512vl\"))), apply_to = function)")
// clang-format on
#define PENSTOCK_END_ISA _Pragma("clang attribute pop")
#else
#define PENSTOCK_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define PENSTOCK_BEGIN_AVX512 \
  _Pragma("GCC push_options") \
      _Pragma("GCC target(\"avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512\")")
#define PENSTOCK_END_ISA _Pragma("GCC pop_options")
#endif
#else
inline Isa best_isa() { return Isa::baseline; }
#endif

}  // namespace penstock
