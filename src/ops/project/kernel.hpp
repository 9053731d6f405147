// Maximum along an axis, one element of the projection at a time: written once for every processor.
#pragma once
#include <cstdint>

#include "device/portable.hpp"
#include "penstock/dtype.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// A contiguous block of the source, and where its projection lies in the whole one.  C order; dimensions without the
/// axis.
struct ProjectShape {
  std::uint32_t rank = 0;
  std::uint64_t extent[kMaxRank] = {};         ///< of the block
  std::uint64_t source_stride[kMaxRank] = {};  ///< elements, in the block
  std::uint64_t target_stride[kMaxRank] = {};  ///< elements, in the whole projection
  std::uint64_t axis_extent = 0;
  std::uint64_t axis_stride = 0;  ///< elements, in the block
  [[nodiscard]] std::uint64_t elements() const {
    std::uint64_t n = 1;
    for (std::uint32_t d = 0; d < rank; ++d) n *= extent[d];
    return n;
  }
};

/// Element i of the block's projection is combined with what the target holds (`first`: with nothing).
template <class T>
struct ProjectMax {
  ProjectShape shape;
  const T* source;
  T* target;
  std::uint32_t first;

  PENSTOCK_HD void operator()(std::uint64_t i) const {
    std::uint64_t from = 0, to = 0;
    for (std::uint32_t d = shape.rank; d-- > 0;) {
      const std::uint64_t k = i % shape.extent[d];
      i /= shape.extent[d];
      from += k * shape.source_stride[d];
      to += k * shape.target_stride[d];
    }
    T most = first != 0 ? source[from] : larger(target[to], source[from]);
    for (std::uint64_t k = 1; k < shape.axis_extent; ++k) most = larger(most, source[from + k * shape.axis_stride]);
    target[to] = most;
  }

 private:
  PENSTOCK_HD static T larger(T a, T b) {
    if (b != b) return b;  // NaN wins, as in NumPy  NOLINT(misc-redundant-expression)
    return b > a ? b : a;
  }
};

/// Runs the operator on one block.  `run` is called with a ProjectMax of the right type.  false: no such data type.
template <class Run>
bool with_project_max(const DType& dtype, const ProjectShape& shape, const void* source, void* target, bool first,
                      const Run& run) {
  const auto as = [&]<class T>(T) {
    run(ProjectMax<T>{shape, static_cast<const T*>(source), static_cast<T*>(target), first ? 1u : 0u});
    return true;
  };
  const bool is_signed = dtype.kind == Kind::signed_int, is_unsigned = dtype.kind == Kind::unsigned_int;
  if (dtype.kind == Kind::floating) return dtype.size_bytes == 4 ? as(float{}) : dtype.size_bytes == 8 && as(double{});
  if (!is_signed && !is_unsigned) return false;
  switch (dtype.size_bytes) {
    case 1: return is_signed ? as(std::int8_t{}) : as(std::uint8_t{});
    case 2: return is_signed ? as(std::int16_t{}) : as(std::uint16_t{});
    case 4: return is_signed ? as(std::int32_t{}) : as(std::uint32_t{});
    case 8: return is_signed ? as(std::int64_t{}) : as(std::uint64_t{});
    default: return false;
  }
}

}  // namespace penstock
