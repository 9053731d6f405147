// Arithmetic on each element by itself, any number of steps in one pass: written once for every processor.
#pragma once
#include <cmath>
#include <cstdint>

#include "ops/element/kernel.hpp"
#include "penstock/dtype.hpp"

namespace penstock::element {

enum class Action : std::uint32_t {
  add,       ///< + a
  multiply,  ///< * a
  divide,    ///< / a
  clip,      ///< at least a, at most b
  log,       ///< natural
  exp,
  sqrt,
  absolute,
  round,   ///< to a whole number in [a, b]; halves away from zero, NaN becomes 0
  narrow,  ///< to float32
};
struct Step {
  Action action = Action::add;
  double a = 0, b = 0;
};

inline constexpr std::uint32_t kMaxSteps = 32;

/// C: the type that is computed in.
template <class C>
PENSTOCK_HD C done(const Step& step, C v) {
  const C a = static_cast<C>(step.a), b = static_cast<C>(step.b);
  switch (step.action) {
    case Action::add: return v + a;
    case Action::multiply: return v * a;
    case Action::divide: return v / a;
    case Action::clip: return v < a ? a : (v > b ? b : v);
    case Action::log: return static_cast<C>(std::log(v));
    case Action::exp: return static_cast<C>(std::exp(v));
    case Action::sqrt: return static_cast<C>(std::sqrt(v));
    case Action::absolute: return v < C(0) ? -v : v;
    case Action::narrow: return static_cast<C>(static_cast<float>(v));
    case Action::round: {
      if (v != v) return C(0);
      const C whole = static_cast<C>(v < C(0) ? std::ceil(v - C(0.5)) : std::floor(v + C(0.5)));
      return whole < a ? a : (whole > b ? b : whole);
    }
  }
  return v;
}

/// Types by number, so that one kernel serves all of them.
enum class TypeCode : std::uint32_t { boolean, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 };
TypeCode code_of(const DType& dtype);

template <class C>
PENSTOCK_HD C load(TypeCode type, const void* in, std::uint64_t i) {
  switch (type) {
    case TypeCode::boolean: return static_cast<C>(static_cast<const bool*>(in)[i]);
    case TypeCode::u8: return static_cast<C>(static_cast<const std::uint8_t*>(in)[i]);
    case TypeCode::u16: return static_cast<C>(static_cast<const std::uint16_t*>(in)[i]);
    case TypeCode::u32: return static_cast<C>(static_cast<const std::uint32_t*>(in)[i]);
    case TypeCode::u64: return static_cast<C>(static_cast<const std::uint64_t*>(in)[i]);
    case TypeCode::i8: return static_cast<C>(static_cast<const std::int8_t*>(in)[i]);
    case TypeCode::i16: return static_cast<C>(static_cast<const std::int16_t*>(in)[i]);
    case TypeCode::i32: return static_cast<C>(static_cast<const std::int32_t*>(in)[i]);
    case TypeCode::i64: return static_cast<C>(static_cast<const std::int64_t*>(in)[i]);
    case TypeCode::f32: return static_cast<C>(static_cast<const float*>(in)[i]);
    default: return static_cast<C>(static_cast<const double*>(in)[i]);
  }
}
template <class C>
PENSTOCK_HD void store(TypeCode type, void* out, std::uint64_t i, C v) {
  switch (type) {
    case TypeCode::boolean: static_cast<bool*>(out)[i] = nearest<bool>(v); return;
    case TypeCode::u8: static_cast<std::uint8_t*>(out)[i] = nearest<std::uint8_t>(v); return;
    case TypeCode::u16: static_cast<std::uint16_t*>(out)[i] = nearest<std::uint16_t>(v); return;
    case TypeCode::u32: static_cast<std::uint32_t*>(out)[i] = nearest<std::uint32_t>(v); return;
    case TypeCode::u64: static_cast<std::uint64_t*>(out)[i] = nearest<std::uint64_t>(v); return;
    case TypeCode::i8: static_cast<std::int8_t*>(out)[i] = nearest<std::int8_t>(v); return;
    case TypeCode::i16: static_cast<std::int16_t*>(out)[i] = nearest<std::int16_t>(v); return;
    case TypeCode::i32: static_cast<std::int32_t*>(out)[i] = nearest<std::int32_t>(v); return;
    case TypeCode::i64: static_cast<std::int64_t*>(out)[i] = nearest<std::int64_t>(v); return;
    case TypeCode::f32: static_cast<float*>(out)[i] = static_cast<float>(v); return;
    default: static_cast<double*>(out)[i] = static_cast<double>(v); return;
  }
}

/// All steps of one element.
template <class C>
struct ProgramJob {
  const void* in = nullptr;
  void* out = nullptr;
  TypeCode in_type = TypeCode::f32, out_type = TypeCode::f32;
  std::uint32_t steps = 0;
  Step step[kMaxSteps];

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    C v = load<C>(in_type, in, i);
    for (std::uint32_t k = 0; k < steps; ++k) v = done(step[k], v);
    store(out_type, out, i, v);
  }
};

}  // namespace penstock::element
