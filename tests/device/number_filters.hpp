// Every pair of number types through the device decoders of astype, quantize and fixedscaleoffset, against the CPU's
// codecs: values at the edges of every type, every float16, and bits at random.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "codec/astype/number.hpp"
#include "codec/device_decoder.hpp"
#include "codec/list.hpp"
#include "core/json.hpp"
#include "core/numpy_dtype.hpp"

namespace penstock::test {

inline constexpr std::array kNumpyTypes = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4",
                                           "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"};

/// Around every power of two, and around what other types can just hold or not.
template <class T>
void add_edges(std::vector<T>& values) {
  if constexpr (std::is_integral_v<T>) {
    for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit)
      for (const int by : {-1, 0, 1})
        for (const bool negative : {false, true}) {
          const std::uint64_t x = (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(by);
          values.push_back(static_cast<T>(negative ? 0 - x : x));
        }
    for (const std::uint64_t x : {2049U, 2051U, 65504U, 65519U, 65520U, 65521U, 16777217U, 16777219U, 4294967167U})
      for (const std::uint64_t times : {std::uint64_t{1}, std::uint64_t{1} << 30, std::uint64_t{1} << 40})
        values.push_back(static_cast<T>(x * times + (times > 1 ? 1 : 0)));
  } else {
    using Limits = std::numeric_limits<T>;
    for (int exponent = -160; exponent < 70; ++exponent)
      for (const T scale : {T{1}, T{1} - Limits::epsilon() / 2, T{1} + Limits::epsilon(), T(1.5), T(1.0 + 0x1p-11)})
        for (const T sign : {T{1}, T{-1}}) values.push_back(sign * std::ldexp(scale, exponent));
    for (const T x : {T{0}, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity(), Limits::quiet_NaN(),
                      Limits::signaling_NaN(), T(65504), T(65519.996), T(65520), T(254.99), T(32767.5), T(3e9)})
      for (const bool negative : {false, true}) values.push_back(std::copysign(x, negative ? T{-1} : T{1}));
  }
}

/// Numbers of a type, as bytes.
inline std::vector<std::byte> edge_values(const Number number, unsigned seed) {
  std::mt19937_64 random(seed);
  return with_type(number, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<std::byte> bytes;
    if constexpr (sizeof(T) <= 2) {  // all of them
      constexpr std::size_t kAll = std::size_t{1} << (8 * sizeof(T));
      bytes.resize(kAll * sizeof(T));
      for (std::size_t i = 0; i < kAll; ++i) std::memcpy(bytes.data() + i * sizeof(T), &i, sizeof(T));
    } else if constexpr (!std::is_same_v<T, Boolean> && !std::is_same_v<T, Half>) {
      std::vector<T> values;
      add_edges(values);
      const std::size_t edges = values.size();
      values.resize(edges + 3000);
      for (std::size_t i = edges; i < values.size(); ++i) {
        const std::uint64_t bits = random();
        std::memcpy(&values[i], &bits, sizeof(T));
      }
      bytes.resize(values.size() * sizeof(T));
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    return bytes;
  });
}

/// What the device makes of a chunk.
inline std::vector<std::byte> decode_on(Device device, const DeviceDecoder& decoder, ByteView in,
                                        std::uint64_t out_bytes) {
  const auto memory = Memory::create(device, 0).value();
  Stream stream;
  if (device.type != Device::Type::cpu) stream = Stream::create(device).value();
  const Buffer from = memory->allocate(in.size(), 256, stream).value();
  const Buffer to = memory->allocate(out_bytes, 256, stream).value();
  const Buffer words = memory->allocate(sizeof(DecodeTask) + sizeof(ChunkStatus), 256, stream).value();
  const DecodeTask task{from.data(), in.size(), to.data(), out_bytes};
  ChunkStatus status;
  auto* const device_status = reinterpret_cast<ChunkStatus*>(words.data() + sizeof task);
  copy_async(from.data(), device, in.data(), {}, in.size(), stream).value();
  copy_async(words.data(), device, &task, {}, sizeof task, stream).value();
  decoder
      .decode({reinterpret_cast<const DecodeTask*>(words.data()), device_status, {1, out_bytes, out_bytes}}, {}, stream)
      .value();
  std::vector<std::byte> out(out_bytes);
  copy_async(out.data(), {}, to.data(), device, out_bytes, stream).value();
  copy_async(&status, {}, device_status, device, sizeof status, stream).value();
  stream.synchronize().value();
  EXPECT_EQ(status.status, DecodeStatus::ok);
  return out;
}

/// Decodes numbers of type `encoded` to `decoded` by a codec, on the CPU and on the device.
inline void expect_as_cpu(Device device, const CodecSpec& spec, const char* encoded, const char* decoded) {
  SCOPED_TRACE(fmt::format("{} {}: {} to {}", spec.name, spec.configuration, encoded, decoded));
  const DType from = parse_numpy_dtype(encoded).value().dtype, to = parse_numpy_dtype(decoded).value().dtype;
  const std::vector<std::byte> in = edge_values(scalars_of(from)->number, 5);
  const std::uint64_t count = in.size() / from.size_bytes;
  const AnyCodec any = find_codec(spec.name)->make(Json::parse(spec.configuration), ChunkSpec{{count}, to, {}}).value();
  const auto& codec = *std::get<std::unique_ptr<ArrayToArray>>(any);
  std::vector<std::byte> expected(count * to.size_bytes);
  codec.decode(in, expected).value();
  const auto decoder = codec.device_decoder();
  ASSERT_NE(decoder, nullptr);
  if (decoder->is_identity()) {
    EXPECT_EQ(in, expected);
    return;
  }
  const std::vector<std::byte> out = decode_on(device, *decoder, in, expected.size());
  for (std::uint64_t i = 0; i < count; ++i)
    ASSERT_EQ(std::memcmp(out.data() + i * to.size_bytes, expected.data() + i * to.size_bytes, to.size_bytes), 0)
        << "number " << i;
}

inline void expect_all_casts(Device device) {
  for (const char* from : kNumpyTypes)
    for (const char* to : kNumpyTypes) {
      expect_as_cpu(device, {"numcodecs.astype", fmt::format(R"({{"encode_dtype":"{}"}})", from)}, from, to);
      if (from[1] == 'f' && to[1] == 'f')
        expect_as_cpu(device, {"numcodecs.quantize", fmt::format(R"({{"digits":3,"astype":"{}"}})", from)}, from, to);
    }
}

/// Scales and offsets also where they, or a step's result, are no number of the type that is computed in.
inline void expect_all_scaled(Device device) {
  for (const char* from : kNumpyTypes)
    for (const char* to : kNumpyTypes)
      for (const char* numbers :
           {R"("offset":0,"scale":1)", R"("offset":-7,"scale":10)", R"("offset":1e5,"scale":-0.3)",
            R"("offset":1e300,"scale":1e-300)", R"("offset":1e-320,"scale":1e300)"}) {
        if (from[1] == 'b' || to[1] == 'b') continue;
        const std::string configuration = fmt::format(R"({{{},"astype":"{}"}})", numbers, from);
        expect_as_cpu(device, {"numcodecs.fixedscaleoffset", configuration}, from, to);
      }
}

}  // namespace penstock::test
