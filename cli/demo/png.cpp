#include "cli/demo/png.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace penstock::cli {
namespace {

constexpr std::uint64_t kMaxSamples = 1 << 20;  // enough for percentiles

template <class T>
Result<Bytes> grey_of(ByteView elements) {
  const std::size_t n = elements.size() / sizeof(T);
  const auto value = [&](std::size_t i) {
    T v;
    std::memcpy(&v, elements.data() + i * sizeof(T), sizeof v);
    return static_cast<double>(v);
  };
  std::vector<double> samples;
  const std::size_t step = n / kMaxSamples + 1;
  for (std::size_t i = 0; i < n; i += step)
    if (const double v = value(i); std::isfinite(v)) samples.push_back(v);
  double low = 0, high = 1;
  if (!samples.empty()) {
    std::ranges::sort(samples);
    low = samples[samples.size() / 1000];
    high = samples[samples.size() - 1 - samples.size() / 1000];
  }
  const double scale = high > low ? 255.0 / (high - low) : 0.0;
  Bytes grey;
  PENSTOCK_TRY(grey.resize(n));
  for (std::size_t i = 0; i < n; ++i) {
    const double v = (value(i) - low) * scale;
    grey.data()[i] = static_cast<std::byte>(v >= 255 ? 255 : v > 0 ? std::lround(v) : 0);  // NaN: black
  }
  return grey;
}

}  // namespace

Result<Bytes> to_grey(const DType& dtype, ByteView elements) {
  const bool is_signed = dtype.kind == Kind::signed_int;
  if (is_signed || dtype.kind == Kind::unsigned_int) {
    switch (dtype.size_bytes) {
      case 1: return is_signed ? grey_of<std::int8_t>(elements) : grey_of<std::uint8_t>(elements);
      case 2: return is_signed ? grey_of<std::int16_t>(elements) : grey_of<std::uint16_t>(elements);
      case 4: return is_signed ? grey_of<std::int32_t>(elements) : grey_of<std::uint32_t>(elements);
      default: return is_signed ? grey_of<std::int64_t>(elements) : grey_of<std::uint64_t>(elements);
    }
  }
  if (dtype.kind == Kind::floating && dtype.size_bytes == 4) return grey_of<float>(elements);
  if (dtype.kind == Kind::floating && dtype.size_bytes == 8) return grey_of<double>(elements);
  return Error(ErrorCode::unsupported, "no picture of elements of type " + dtype.name());
}

Result<Bytes> encode_png(ByteView grey, std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX || grey.size() != width * height)
    return Error(ErrorCode::invalid_argument, "a picture needs sides of 1 to 2^31 - 1");
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  Bytes out;
  for (const bool measure : {true, false}) {
    if (!measure) PENSTOCK_TRY(out.resize(size));
    if (png_image_write_to_memory(&image, measure ? nullptr : out.data(), &size, 0, grey.data(), 0, nullptr) == 0)
      return Error(ErrorCode::io_error, std::string("libpng: ") + image.message);
  }
  PENSTOCK_TRY(out.resize(size));
  return out;
}

}  // namespace penstock::cli
