// One level of an image, of the finer one before it: on the host's side.
#pragma once
#include <utility>

#include "array/pyramid/kernel.hpp"
#include "penstock/device.hpp"
#include "penstock/pyramid.hpp"

namespace penstock::pyramid {

/// Calls f with the job of a method and type; false: there is none.
template <class F>
bool with_level(Downsample method, const DType& dtype, const LevelShape& shape, const void* fine, void* coarse,
                const F& f) {
  const auto as = [&]<class T, class Sum>(T, Sum) {
    const auto* const in = static_cast<const T*>(fine);
    auto* const out = static_cast<T*>(coarse);
    if (method == Downsample::mean) return f(Mean<T, Sum>{shape, in, out}), true;
    using C = std::conditional_t<sizeof(T) < 4 || std::is_same_v<T, float>, float, double>;
    Gaussian<T, C> job{shape, in, out, {}};
    for (std::uint32_t d = 0; d < shape.rank; ++d) {
      const std::uint32_t factor = shape.factor[d], reach = gaussian_reach(factor), taps = factor + 2 * reach;
      double sum = 0, weights[Gaussian<T, C>::kTaps];
      for (std::uint32_t k = 0; k < taps; ++k) {
        const double at = (k - (taps - 1) / 2.0) * 3 / factor;  // in standard deviations
        sum += weights[k] = std::exp(-0.5 * at * at);
      }
      for (std::uint32_t k = 0; k < taps; ++k) job.weight[d][k] = static_cast<C>(weights[k] / sum);
    }
    return f(job), true;
  };
  const auto mode = [&]<class T>(T) {
    return f(Mode<T>{shape, static_cast<const T*>(fine), static_cast<T*>(coarse)}), true;
  };
  const std::uint32_t item = dtype.size_bytes;
  if (method == Downsample::nearest)
    return f(First{shape, static_cast<const std::byte*>(fine), static_cast<std::byte*>(coarse), item}), true;
  if (method == Downsample::mode) {
    if (dtype.is_vlen()) return false;
    switch (item) {
      case 1: return mode(std::uint8_t{});
      case 2: return mode(std::uint16_t{});
      case 4: return mode(std::uint32_t{});
      case 8: return mode(std::uint64_t{});
      default: return false;
    }
  }
  switch (dtype.kind) {
    case Kind::unsigned_int:
      if (item == 1) return as(std::uint8_t{}, std::uint32_t{});
      if (item == 2) return as(std::uint16_t{}, std::uint32_t{});
      return item == 4 && as(std::uint32_t{}, std::uint64_t{});
    case Kind::signed_int:
      if (item == 1) return as(std::int8_t{}, std::int32_t{});
      if (item == 2) return as(std::int16_t{}, std::int32_t{});
      return item == 4 && as(std::int32_t{}, std::int64_t{});
    case Kind::floating:
      if (item == 4) return as(float{}, float{});
      return item == 8 && as(double{}, double{});
    default: return false;
  }
}

/// `elements` coarse elements, in memory of the stream's device and in its order.
/// Errors: device_error; unsupported (built without CUDA).
Status level_on_cuda(Downsample method, const DType& dtype, const LevelShape& shape, const void* fine, void* coarse,
                     std::uint64_t elements, const Stream& stream);

}  // namespace penstock::pyramid
