// Decoded GB/s of the device decoders on one GPU: encoded chunks are on the device, every byte that comes out is
// checked. penstock_bench_decode [PART OF A NAME]     prints one JSON object a line; GB = 1e9 decoded bytes, median of
// 7
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "codec/device_chain.hpp"
#include "data.hpp"
#include "device/pinned_ring.hpp"
#include "timing.hpp"

using namespace penstock;
using namespace penstock::bench;

namespace {

struct Entry {
  const char* name;
  DType dtype;
  std::function<Raw(std::uint64_t bytes, unsigned seed)> make;
  std::vector<CodecSpec> codecs;
  std::vector<BatchShape> shapes;
  std::uint64_t row = 0;  // elements of a row of the chunk; 0: it has one dimension
};

Entry of_sample(const char* name, Sample sample, const std::vector<CodecSpec>& behind_bytes,
                std::vector<BatchShape> shapes) {
  std::vector<CodecSpec> codecs = {{"bytes", R"({"endian":"little"})"}};
  codecs.insert(codecs.end(), behind_bytes.begin(), behind_bytes.end());
  const auto make = [sample](std::uint64_t bytes, unsigned seed) { return make_sample(sample, bytes, seed); };
  return {name, sample_dtype(sample), make, codecs, std::move(shapes)};
}

constexpr std::uint64_t kTile = 256;  // elements along a side of a tile of terrain

/// Heights in metres: values on lattices of 256, 128 ... 2 elements, of amplitudes that fall with the step to 0.8.
std::vector<float> terrain(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> heights(kTile * kTile, 3000.0F);
  for (std::uint64_t step = kTile; step >= 2; step /= 2) {
    const std::uint64_t side = kTile / step + 1;
    std::vector<float> lattice(side * side);
    for (float& v : lattice) v = normal(random) * 3 * std::pow(static_cast<float>(step), 0.8F);
    for (std::uint64_t y = 0; y < kTile; ++y)
      for (std::uint64_t x = 0; x < kTile; ++x) {
        const float u = static_cast<float>(x % step) / static_cast<float>(step);
        const float v = static_cast<float>(y % step) / static_cast<float>(step);
        const float* const at = &lattice[y / step * side + x / step];
        heights[y * kTile + x] += (at[0] * (1 - u) + at[1] * u) * (1 - v) + (at[side] * (1 - u) + at[side + 1] * u) * v;
      }
  }
  return heights;
}

/// As a satellite sees it: uint16, with the noise of its sensor.
Raw satellite_tile(std::uint64_t bytes, unsigned seed) {
  const std::vector<float> heights = terrain(seed);
  std::mt19937 random(seed + 1000);
  std::normal_distribution<float> noise;
  Raw raw(bytes);
  for (std::size_t i = 0; i < bytes / 2; ++i) {
    const float value = std::clamp(3 * heights[i] + 25 * noise(random), 0.0F, 65535.0F);
    const auto v = static_cast<std::uint16_t>(value);
    std::memcpy(raw.data() + 2 * i, &v, 2);
  }
  return raw;
}

/// float32, in steps of 1/128 m.
Raw height_tile(std::uint64_t bytes, unsigned seed) {
  std::vector<float> heights = terrain(seed);
  for (float& v : heights) v = std::round(v * 128) / 128;
  Raw raw(bytes);
  std::memcpy(raw.data(), heights.data(), bytes);
  return raw;
}

/// Median seconds of 7 runs after one to warm up.
double seconds_of(const ChainBatch& batch, const Stream& stream) {
  stream.synchronize().value();
  return median_seconds(7, [&] {
    batch.decode(stream).value();
    stream.synchronize().value();
  });
}

Status measure(const Entry& entry, const BatchShape& shape) {
  const std::uint64_t elements = shape.chunk_bytes / entry.dtype.size_bytes;
  const ChunkSpec chunk{entry.row == 0 ? Shape{elements} : Shape{elements / entry.row, entry.row}, entry.dtype, {}};
  PENSTOCK_ASSIGN(const CodecChain chain, CodecChain::make(entry.codecs, chunk));
  PENSTOCK_ASSIGN(const DeviceChain device, DeviceChain::make(chain));
  std::vector<Raw> raw;
  std::vector<Bytes> encoded(kVariety);
  ScratchBuffers scratch;
  std::uint64_t encoded_bytes = 0;
  for (unsigned i = 0; i < kVariety; ++i) {
    raw.push_back(entry.make(shape.chunk_bytes, i));
    PENSTOCK_TRY(chain.encode(raw.back(), encoded[i], scratch));
    encoded_bytes += encoded[i].size();
  }
  ChainBatch batch(device);
  for (std::uint64_t i = 0; i < shape.count; ++i) batch.add(encoded[i % kVariety].size());
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const auto memory, Memory::create(kGpu, 0));
  PENSTOCK_ASSIGN(const Buffer buffer, memory->allocate(batch.device_bytes(), 256, stream));
  std::vector<std::byte> host(batch.host_bytes() + 256);
  std::byte* const begin = host.data() + (256 - reinterpret_cast<std::uintptr_t>(host.data()) % 256) % 256;
  for (std::uint32_t i = 0; i < batch.size(); ++i)
    std::memcpy(begin + batch.encoded_at(i), encoded[i % kVariety].data(), encoded[i % kVariety].size());
  PENSTOCK_TRY(batch.run(begin, buffer.data(), stream));
  PENSTOCK_TRY(stream.synchronize());
  bool right = true;
  Raw back(shape.chunk_bytes);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    if (const auto outcome = batch.outcome(i); !outcome.status) return outcome.status;
    PENSTOCK_TRY(copy_async(back.data(), {}, batch.decoded(i), kGpu, back.size(), stream));
    PENSTOCK_TRY(stream.synchronize());
    right = right && back == raw[i % kVariety];
  }
  const double seconds = seconds_of(batch, stream);
  const auto decoded = static_cast<double>(shape.chunk_bytes * shape.count);
  std::printf(
      "{\"what\": \"%s\", \"chunk_KiB\": %llu, \"chunks\": %llu, \"ratio\": %.2f, \"ms\": %.3f, \"GB_per_s\": %.1f, "
      "\"device_bytes_per_decoded_byte\": %.2f, \"bytes_checked\": %s}\n",
      entry.name, static_cast<unsigned long long>(shape.chunk_bytes / kKiB),
      static_cast<unsigned long long>(shape.count),
      static_cast<double>(kVariety * shape.chunk_bytes) / static_cast<double>(encoded_bytes), seconds * 1e3,
      decoded / seconds / 1e9, static_cast<double>(batch.device_bytes()) / decoded, right ? "true" : "FALSE");
  std::fflush(stdout);
  return right ? Status{} : Status(Error(ErrorCode::internal, "other bytes came out"));
}

std::vector<Entry> entries() {
  const std::vector<BatchShape> large = {{kMiB, 1}, {kMiB, 64}, {kMiB, 512}, {kMiB, 2048}};
  const std::vector<BatchShape> all = {{kMiB, 1},       {kMiB, 64},        {kMiB, 512},       {kMiB, 2048},
                                       {4 * kMiB, 512}, {64 * kKiB, 1024}, {64 * kKiB, 8192}, {64 * kKiB, 32768}};
  const auto blosc = [](const char* cname, const char* shuffle) {
    return CodecSpec{
        "blosc", std::string(R"({"typesize":2,"cname":")") + cname + R"(","clevel":5,"shuffle":")" + shuffle + R"("})"};
  };
  const CodecSpec lz4{"numcodecs.lz4", "{}"}, gzip{"gzip", R"({"level":5})"}, zlib{"numcodecs.zlib", R"({"level":1})"};
  std::vector<Entry> list = {
      of_sample("lz4, shuffled u16", Sample::shuffled_u16, {lz4}, all),
      of_sample("lz4, u16", Sample::u16, {lz4}, large),
      of_sample("lz4, labels", Sample::labels, {lz4}, large),
      of_sample("shuffle + lz4, u16", Sample::u16, {{"numcodecs.shuffle", R"({"elementsize":2})"}, lz4}, large),
      of_sample("gzip 5, u16", Sample::u16, {gzip}, all),
      of_sample("zlib 1, u16", Sample::u16, {zlib}, large),
      of_sample("gzip 5, labels", Sample::labels, {gzip}, large),
      of_sample("blosc lz4 shuffle, u16", Sample::u16, {blosc("lz4", "shuffle")}, large),
      of_sample("blosc lz4 bitshuffle, u16", Sample::u16, {blosc("lz4", "bitshuffle")}, large),
      of_sample("blosc zstd shuffle, u16", Sample::u16, {blosc("zstd", "shuffle")}, large),
      of_sample("blosc zlib shuffle, u16", Sample::u16, {blosc("zlib", "shuffle")}, large),
      of_sample("zstd 3, u16", Sample::u16, {{"zstd", R"({"level":3})"}}, large),
      of_sample("crc32c, u16", Sample::u16, {{"crc32c", "{}"}}, large),
      of_sample("adler32, u16", Sample::u16, {{"numcodecs.adler32", "{}"}}, large),
      of_sample("fletcher32, u16", Sample::u16, {{"numcodecs.fletcher32", "{}"}}, large),
      of_sample("shuffle, u16", Sample::u16, {{"numcodecs.shuffle", R"({"elementsize":2})"}}, large)};
  const CodecSpec lzw{"tiff.lzw", "{}"}, bytes{"bytes", R"({"endian":"little"})"};
  const auto predictor = [](int number) {
    return CodecSpec{"tiff.predictor", R"({"predictor":)" + std::to_string(number) + "}"};
  };
  const std::vector<BatchShape> tiles = {{128 * kKiB, 64}, {128 * kKiB, 1024}, {128 * kKiB, 4096}, {128 * kKiB, 16384}};
  const std::vector<BatchShape> float_tiles = {{256 * kKiB, 64}, {256 * kKiB, 1024}, {256 * kKiB, 4096}};
  list.push_back({"tiff.lzw predictor 2, u16", DType::uint16(), satellite_tile, {predictor(2), lzw}, tiles, kTile});
  list.push_back({"tiff.lzw, f4", DType::float32(), height_tile, {bytes, lzw}, float_tiles, kTile});
  list.push_back({"tiff.lzw predictor 3, f4", DType::float32(), height_tile, {predictor(3), lzw}, float_tiles, kTile});
  list.push_back(of_sample("tiff.lzw, labels", Sample::labels, {lzw}, {{128 * kKiB, 64}, {128 * kKiB, 4096}}));
  list.push_back(of_sample("tiff.lzw, big tiles of u16", Sample::u16, {lzw},
                           {{kMiB, 1}, {kMiB, 64}, {kMiB, 512}, {4 * kMiB, 64}}));
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  if (!cuda_unavailable_reason().empty()) {
    std::printf("no CUDA device: %s\n", cuda_unavailable_reason().c_str());
    return 69;
  }
  std::printf("{\"device\": \"%s\"}\n", devices().front().description.c_str());
  bool failed = false;
  for (const Entry& entry : entries()) {
    if (argc > 1 && std::string(entry.name).find(argv[1]) == std::string::npos) continue;
    for (const BatchShape& shape : entry.shapes) {
      const Status done = measure(entry, shape);
      if (done) continue;
      std::printf("{\"what\": \"%s\", \"%s\": \"%s\"}\n", entry.name,
                  done.error().code() == ErrorCode::unsupported ? "not supported" : "FAILED",
                  done.error().message().c_str());
      failed = failed || done.error().code() != ErrorCode::unsupported;
      break;
    }
  }
  return failed ? 1 : 0;
}
