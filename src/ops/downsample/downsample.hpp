// Elements made of blocks of finer ones, on the host's side.
#pragma once
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/checked.hpp"
#include "ops/downsample/kernel.hpp"
#include "ops/operator.hpp"

namespace penstock::downsample {

/// Blocks have at most so many elements along an axis.
inline constexpr std::uint32_t kMaxFactor = 1u << 16;

/// "mean": as options call it.
std::string_view name_of(Downsample method);

/// `factors`: of each axis, from 1; axes become ceil(extent / factor) long.  Besides the types of operators `nearest`
/// takes all, `mode` those of 1, 2, 4 or 8 bytes.  Errors: invalid_argument (factors), unsupported (no mean of such
/// elements).
Result<std::unique_ptr<Operator>> make_downsample(const ArrayInfo& input, std::vector<std::uint32_t> factors,
                                                  Downsample method);

/// What is made of what.
struct Work {
  Downsample method = Downsample::mean;
  DType dtype;
  BlockShape shape;
  const void* fine = nullptr;
  void* coarse = nullptr;
  const void* weights = nullptr;  ///< of a Gaussian, in the type that it is computed in
};

/// Elements of a full block.
inline std::uint64_t block_size(const std::uint32_t* factors, std::size_t rank) {
  std::uint64_t size = 1;
  for (std::size_t d = 0; d < rank; ++d) size = saturating_mul(size, factors[d]);
  return size;
}
/// Of blocks of so many elements float32 holds a sum well enough; 32 bits that of so many elements of 16.
inline constexpr std::uint64_t kFloatBlock = std::uint64_t{1} << 12, kWholeBlock = std::uint64_t{1} << 15;

/// Whether a Gaussian of such elements is computed in float32.
inline bool weighs_in_float(const DType& dtype, std::uint64_t block) {
  const bool holds = dtype.size_bytes < 4 || (dtype.kind == Kind::floating && dtype.size_bytes == 4);
  return holds && block <= kFloatBlock;
}

/// Calls f with the job of a method and type; false: there is none.
template <class F>
bool with_job(const Work& work, const F& f) {
  const std::uint64_t block = block_size(work.shape.factor, work.shape.rank);
  // `Sum` holds that of a block, `Large` that of a larger one.
  const auto as = [&]<class T, class Sum, class Large>(T, Sum, Large) {
    const auto* const in = static_cast<const T*>(work.fine);
    auto* const out = static_cast<T*>(work.coarse);
    if (work.method == Downsample::mean) {
      constexpr std::uint64_t kMost = std::is_integral_v<T> ? kWholeBlock : kFloatBlock;
      return block <= kMost ? f(Mean<T, Sum>{work.shape, in, out}) : f(Mean<T, Large>{work.shape, in, out}), true;
    }
    const auto gaussian = [&]<class C>(C) {
      return f(Gaussian<T, C>{work.shape, in, out, static_cast<const C*>(work.weights)}), true;
    };
    if constexpr (sizeof(T) < 4 || std::is_same_v<T, float>)
      if (weighs_in_float(work.dtype, block)) return gaussian(float{});
    return gaussian(double{});
  };
  const auto mode = [&]<class T>(T) {
    return f(Mode<T>{work.shape, static_cast<const T*>(work.fine), static_cast<T*>(work.coarse)}), true;
  };
  const DType& dtype = work.dtype;
  const std::uint32_t item = dtype.size_bytes;
  if (work.method == Downsample::nearest)
    return f(First{work.shape, static_cast<const std::byte*>(work.fine), static_cast<std::byte*>(work.coarse), item}),
           true;
  if (work.method == Downsample::mode) {
    if (dtype.is_vlen()) return false;
    switch (item) {
      case 1: return mode(std::uint8_t{});
      case 2: return mode(std::uint16_t{});
      case 4: return mode(std::uint32_t{});
      case 8: return mode(std::uint64_t{});
      default: return false;
    }
  }
  using namespace std;  // the integer types
  switch (dtype.kind) {
    case Kind::unsigned_int:
      if (item == 1) return as(uint8_t{}, uint32_t{}, uint64_t{});
      if (item == 2) return as(uint16_t{}, uint32_t{}, uint64_t{});
      return item == 4 && as(uint32_t{}, uint64_t{}, uint64_t{});
    case Kind::signed_int:
      if (item == 1) return as(int8_t{}, int32_t{}, int64_t{});
      if (item == 2) return as(int16_t{}, int32_t{}, int64_t{});
      return item == 4 && as(int32_t{}, int64_t{}, int64_t{});
    case Kind::floating:
      if (item == 4) return as(float{}, float{}, double{});
      return item == 8 && as(double{}, double{}, double{});
    default: return false;
  }
}

/// `elements` coarse elements, in memory of the stream's device and in its order.
/// Errors: device_error; unsupported (built without CUDA).
Status downsample_on_cuda(const Work& work, std::uint64_t elements, const Stream& stream);

}  // namespace penstock::downsample
