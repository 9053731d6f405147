#include "array/raster/overview.hpp"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace penstock {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using type = T;
};

/// Equal as GDAL compares nodata: NaN is any NaN.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a == b || (std::isnan(a) && std::isnan(b));
  return a == b;
}

template <class T>
T average(const T* values, int count) {
  if constexpr (std::is_integral_v<T>) {
    using Sum = std::conditional_t<sizeof(T) == 8, __int128, std::int64_t>;
    Sum sum = 0;
    for (int i = 0; i < count; ++i) sum += values[i];
    const Sum half = count / 2;
    return static_cast<T>((sum < 0 ? sum - half : sum + half) / count);
  } else if constexpr (std::is_same_v<T, float>) {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
    return static_cast<float>(sum / count);
  } else {
    T sum = 0;  // of quarters: no overflow where the average has none
    for (int i = 0; i < count; ++i) sum += values[i] / static_cast<typename PartOf<T>::type>(count);
    return sum;
  }
}

/// The value next to nodata: an average of what was measured is no nodata, also where it falls on it.
template <class T>
T beside(T nodata) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(nodata == std::numeric_limits<T>::max() ? nodata - 1 : nodata + 1);
  } else if constexpr (std::is_floating_point_v<T>) {
    constexpr T kMost = std::numeric_limits<T>::max();
    return std::nextafter(nodata, nodata >= kMost ? -kMost : kMost);
  } else {
    return T(beside(nodata.real()), nodata.imag());
  }
}

template <class T>
T most_frequent(const T* values, int count) {
  int best = 0, most = 0;
  for (int i = 0; i < count; ++i) {
    int times = 0;
    for (int k = 0; k < count; ++k) times += same(values[i], values[k]) ? 1 : 0;
    if (times > most) {
      most = times;
      best = i;
    }
  }
  return values[best];
}

/// Averages of all there is, of which every element counts; x from 0 to `count`.
template <class T>
void average_row(const std::byte* above, const std::byte* below, std::uint64_t count, T* out) {
  for (std::uint64_t x = 0; x < count; ++x) {
    T values[4];
    std::memcpy(values, above + 2 * x * sizeof(T), 2 * sizeof(T));
    std::memcpy(values + 2, below + 2 * x * sizeof(T), 2 * sizeof(T));
    out[x] = average(values, 4);
  }
}

/// One row of one band.
template <class T>
void join_row(const OverviewRule& rule, std::optional<T> nodata, const ImageView& fine, const std::uint8_t* mask,
              std::uint64_t band, std::uint64_t row, T* out) {
  const std::uint64_t rows = std::min<std::uint64_t>(2, fine.height - 2 * row);
  const std::byte* const from = fine.data + static_cast<std::int64_t>(band) * fine.band_stride;
  std::uint64_t x = 0;
  if (rule.method == OverviewMethod::average && mask == nullptr && !nodata && rows == 2 &&
      fine.column_stride == static_cast<std::int64_t>(sizeof(T))) {
    const std::byte* const above = from + static_cast<std::int64_t>(2 * row) * fine.row_stride;
    x = fine.width / 2;
    average_row(above, above + fine.row_stride, x, out);
  }
  for (; x < (fine.width + 1) / 2; ++x) {
    T values[4];
    int count = 0;
    const std::uint64_t columns = std::min<std::uint64_t>(2, fine.width - 2 * x);
    for (std::uint64_t dy = 0; dy < rows; ++dy)
      for (std::uint64_t dx = 0; dx < columns; ++dx) {
        const std::uint64_t fy = 2 * row + dy, fx = 2 * x + dx;
        if (mask != nullptr && mask[fy * fine.width + fx] == 0) continue;
        const T value = load<T>(from + static_cast<std::int64_t>(fy) * fine.row_stride +
                                static_cast<std::int64_t>(fx) * fine.column_stride);
        if (!nodata || !same(value, *nodata)) values[count++] = value;
      }
    if (count == 0)
      out[x] = nodata.value_or(T{});
    else if (rule.method == OverviewMethod::nearest)
      out[x] = values[0];
    else if (rule.method == OverviewMethod::mode)
      out[x] = most_frequent(values, count);
    else
      out[x] = average(values, count);
    if (rule.method == OverviewMethod::average && count > 0 && nodata && same(out[x], *nodata))
      out[x] = beside(*nodata);
  }
}

template <class T>
Status join(const OverviewRule& rule, const ImageView& fine, const std::uint8_t* mask, std::byte* coarse, Job& job) {
  const std::uint64_t height = (fine.height + 1) / 2, width = (fine.width + 1) / 2;
  std::optional<T> nodata;
  if (rule.nodata) nodata = load<T>(rule.nodata->data());
  constexpr std::uint64_t kRows = 16;  // of one piece of work
  const std::uint64_t pieces = (height + kRows - 1) / kRows;
  return job.for_each(fine.bands * pieces, true, [&](std::uint64_t i) -> Status {
    const std::uint64_t band = i / pieces, first = i % pieces * kRows;
    for (std::uint64_t row = first; row < std::min(first + kRows, height); ++row)
      join_row<T>(rule, nodata, fine, mask, band, row, reinterpret_cast<T*>(coarse) + (band * height + row) * width);
    return {};
  });
}

Status join_mask(const ImageView& fine, const std::uint8_t* mask, std::uint8_t* coarse, Job& job) {
  const std::uint64_t height = (fine.height + 1) / 2, width = (fine.width + 1) / 2;
  return job.for_each(height, true, [&](std::uint64_t row) -> Status {
    std::uint8_t* const out = coarse + row * width;
    std::memset(out, 0, width);
    for (std::uint64_t y = 2 * row; y < std::min(2 * row + 2, fine.height); ++y)
      for (std::uint64_t x = 0; x < fine.width; ++x)
        if (mask[y * fine.width + x] != 0) out[x / 2] = 255;
    return {};
  });
}

using Join = Status (*)(const OverviewRule&, const ImageView&, const std::uint8_t*, std::byte*, Job&);

/// nullptr: such elements cannot be joined so.
Join join_of(const DType& dtype, OverviewMethod method) {
  switch (dtype.kind) {
    case Kind::unsigned_int:
    case Kind::signed_int: {
      const bool is_signed = dtype.kind == Kind::signed_int;
      switch (dtype.size_bytes) {
        case 1: return is_signed ? join<std::int8_t> : join<std::uint8_t>;
        case 2: return is_signed ? join<std::int16_t> : join<std::uint16_t>;
        case 4: return is_signed ? join<std::int32_t> : join<std::uint32_t>;
        default: return is_signed ? join<std::int64_t> : join<std::uint64_t>;
      }
    }
    case Kind::floating:
      if (dtype.size_bytes == 4) return join<float>;
      if (dtype.size_bytes == 8) return join<double>;
      return method == OverviewMethod::average ? nullptr : join<std::uint16_t>;  // equal bits are equal values
    case Kind::complex:
      if (dtype.size_bytes == 8) return join<std::complex<float>>;
      return join<std::complex<double>>;
    default: return nullptr;
  }
}

}  // namespace

Status check_overview(const OverviewRule& rule) {
  if (join_of(rule.dtype, rule.method) != nullptr) return {};
  return Error(ErrorCode::unsupported,
               fmt::format("overviews of elements of type {} by this method", rule.dtype.name()))
      .set_hint("nearest suits every type that can be written.");
}

Status make_overview(const OverviewRule& rule, const ImageView& fine, const std::uint8_t* mask, std::byte* coarse,
                     std::uint8_t* coarse_mask, Job& job) {
  const Join join = join_of(rule.dtype, rule.method);
  if (join == nullptr) return check_overview(rule);
  if (mask != nullptr) PENSTOCK_TRY(join_mask(fine, mask, coarse_mask, job));
  return join(rule, fine, mask, coarse, job);
}

}  // namespace penstock
