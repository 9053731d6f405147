// Decoded GB/s of the device decoders on one GPU: encoded chunks are on the device, every byte that comes out is
// checked. penstock_bench_decode [PART OF A NAME]     prints one JSON object a line; GB = 1e9 decoded bytes, median of
// 7
#include <cstdio>
#include <cstring>
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
  Sample data;
  std::vector<CodecSpec> codecs;  // after "bytes"
  std::vector<BatchShape> shapes;
};

/// Median seconds of 7 runs after one to warm up.
double seconds_of(const ChainBatch& batch, const Stream& stream) {
  stream.synchronize().value();
  return median_seconds(7, [&] {
    batch.decode(stream).value();
    stream.synchronize().value();
  });
}

Status measure(const Entry& entry, const BatchShape& shape) {
  const DType dtype = sample_dtype(entry.data);
  const ChunkSpec chunk{{shape.chunk_bytes / dtype.size_bytes}, dtype, {}};
  std::vector<CodecSpec> specs = {{"bytes", R"({"endian":"little"})"}};
  specs.insert(specs.end(), entry.codecs.begin(), entry.codecs.end());
  PENSTOCK_ASSIGN(const CodecChain chain, CodecChain::make(specs, chunk));
  PENSTOCK_ASSIGN(const DeviceChain device, DeviceChain::make(chain));
  std::vector<Raw> raw;
  std::vector<Bytes> encoded(kVariety);
  ScratchBuffers scratch;
  std::uint64_t encoded_bytes = 0;
  for (unsigned i = 0; i < kVariety; ++i) {
    raw.push_back(make_sample(entry.data, shape.chunk_bytes, i));
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
  return {{"lz4, shuffled u16", Sample::shuffled_u16, {lz4}, all},
          {"lz4, u16", Sample::u16, {lz4}, large},
          {"lz4, labels", Sample::labels, {lz4}, large},
          {"shuffle + lz4, u16", Sample::u16, {{"numcodecs.shuffle", R"({"elementsize":2})"}, lz4}, large},
          {"gzip 5, u16", Sample::u16, {gzip}, all},
          {"zlib 1, u16", Sample::u16, {zlib}, large},
          {"gzip 5, labels", Sample::labels, {gzip}, large},
          {"blosc lz4 shuffle, u16", Sample::u16, {blosc("lz4", "shuffle")}, large},
          {"blosc lz4 bitshuffle, u16", Sample::u16, {blosc("lz4", "bitshuffle")}, large},
          {"blosc zstd shuffle, u16", Sample::u16, {blosc("zstd", "shuffle")}, large},
          {"blosc zlib shuffle, u16", Sample::u16, {blosc("zlib", "shuffle")}, large},
          {"zstd 3, u16", Sample::u16, {{"zstd", R"({"level":3})"}}, large},
          {"crc32c, u16", Sample::u16, {{"crc32c", "{}"}}, large},
          {"adler32, u16", Sample::u16, {{"numcodecs.adler32", "{}"}}, large},
          {"fletcher32, u16", Sample::u16, {{"numcodecs.fletcher32", "{}"}}, large},
          {"shuffle, u16", Sample::u16, {{"numcodecs.shuffle", R"({"elementsize":2})"}}, large}};
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
