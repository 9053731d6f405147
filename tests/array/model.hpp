// An array beside a plain copy of what it must hold.
#pragma once
#include <cstring>
#include <numeric>
#include <random>

#include "penstock/array.hpp"

namespace penstock::test {

inline CodecSpec bytes_codec() { return {"bytes", R"({"endian":"little"})"}; }
inline CodecSpec zstd_codec() { return {"zstd", R"({"level":1,"checksum":false})"}; }
inline CodecSpec sharding(
    const std::string& chunk_shape, const std::string& location = "end",
    const std::string& codecs =
        R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}])") {
  return {
      "sharding_indexed",
      R"({"chunk_shape":)" + chunk_shape + R"(,"codecs":)" + codecs +
          R"(,"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":")" +
          location + R"("})"};
}

inline Dataset dataset(Shape shape, Shape chunks, std::vector<CodecSpec> codecs = {bytes_codec(), zstd_codec()},
                       DType dtype = DType::uint16()) {
  Dataset d;
  d.shape = std::move(shape);
  d.chunk_shape = std::move(chunks);
  d.codecs = std::move(codecs);
  d.dtype = std::move(dtype);
  d.fill.assign(d.dtype.size_bytes, std::byte{0});
  d.fill[0] = std::byte{42};
  return d;
}

/// Elements in C order, kept as bytes.
struct Model {
  Shape shape;
  std::size_t item;
  std::vector<std::byte> data;

  Model(const Dataset& d) : shape(d.shape), item(d.dtype.size_bytes) {
    data.resize(count(shape) * item);
    for (std::size_t i = 0; i < data.size(); i += item) std::memcpy(&data[i], d.fill.data(), item);
  }
  static std::size_t count(const Shape& s) {
    return std::accumulate(s.begin(), s.end(), std::size_t{1}, std::multiplies<>());
  }
  /// Calls f(offset in model, index in region) for every element of the region.
  template <class F>
  void each(const Region& region, F f) const {
    const std::size_t n = count(shape_of(region));
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t rest = i, at = 0, stride = 1;
      for (std::size_t d = region.size(); d-- > 0;) {
        const auto k = static_cast<std::int64_t>(rest % region[d].count);
        rest /= region[d].count;
        at += static_cast<std::size_t>(static_cast<std::int64_t>(region[d].start) + k * region[d].step) * stride;
        stride *= shape[d];
      }
      f(at * item, i * item);
    }
  }
  std::vector<std::byte> read(const Region& region) const {
    std::vector<std::byte> out(count(shape_of(region)) * item);
    each(region, [&](std::size_t from, std::size_t to) { std::memcpy(&out[to], &data[from], item); });
    return out;
  }
  void write(const Region& region, const std::vector<std::byte>& values) {
    each(region, [&](std::size_t at, std::size_t from) { std::memcpy(&data[at], &values[from], item); });
  }
};

inline Region random_region(const Shape& shape, std::mt19937_64& random) {
  Region region;
  for (const std::uint64_t n : shape) {
    Range r;
    r.start = random() % n;
    r.step = static_cast<std::int64_t>(random() % 3 == 0 ? random() % 5 + 1 : 1) * (random() % 4 == 0 ? -1 : 1);
    const std::uint64_t room = r.step > 0 ? n - 1 - r.start : r.start;
    r.count = random() % (room / static_cast<std::uint64_t>(std::abs(r.step)) + 1) + 1;
    region.push_back(r);
  }
  return region;
}

inline std::vector<std::byte> random_values(const Region& region, std::size_t item, std::mt19937_64& random) {
  std::vector<std::byte> values(Model::count(shape_of(region)) * item);
  for (auto& v : values) v = static_cast<std::byte>(random() % 7);
  return values;
}

inline Options threads(std::uint64_t n) {
  Options options;
  options.threads = n;
  return options;
}

inline Result<std::vector<std::byte>> read(const Array& array, const Region& region,
                                           const Options& options = threads(2)) {
  const std::size_t item = array.dataset().dtype.size_bytes;
  std::vector<std::byte> out(Model::count(shape_of(region)) * item, std::byte{0xEE});
  PENSTOCK_TRY(array.read(region, Target{out.data(), {}, {}, {}}, options));
  return out;
}

inline Status write(Array& array, const Region& region, const std::vector<std::byte>& values,
                    const Options& options = threads(2)) {
  PENSTOCK_TRY(array.write(region, Target{const_cast<std::byte*>(values.data()), {}, {}, {}}, options));
  return {};
}

}  // namespace penstock::test
