// Encoded GB/s of the device encoders on one GPU, and how large what they make is beside the CPU's encoders; then whole
// writes from the GPU's memory into a folder, encoded on the device and on the CPU.  What comes out is decoded by the
// CPU's libraries and compared.
//
//   penstock_bench_encode FOLDER [PART OF A NAME]     FOLDER is for the written arrays, best in memory (/dev/shm)
//
// Prints one JSON object a line; GB = 1e9 raw bytes, median of 7 (batches) or 3 (writes).
#include <cstdio>
#include <cstdlib>
#include <string>

#include "codec/encode_chain.hpp"
#include "data.hpp"
#include "penstock/array.hpp"
#include "penstock/store.hpp"
#include "timing.hpp"

using namespace penstock;
using namespace penstock::bench;

namespace {

struct Entry {
  const char* name;
  Sample data;
  std::vector<CodecSpec> codecs;  // after "bytes"
};

DType dtype_of(const Entry& entry) { return sample_dtype(entry.data); }

std::vector<CodecSpec> specs_of(const Entry& entry) {
  std::vector<CodecSpec> specs = {{"bytes", R"({"endian":"little"})"}};
  specs.insert(specs.end(), entry.codecs.begin(), entry.codecs.end());
  return specs;
}

Status measure(const Entry& entry, const BatchShape& shape) {
  const ChunkSpec chunk{{shape.chunk_bytes / dtype_of(entry).size_bytes}, dtype_of(entry), {}};
  PENSTOCK_ASSIGN(const CodecChain chain, CodecChain::make(specs_of(entry), chunk));
  PENSTOCK_ASSIGN(const EncodeChain device, EncodeChain::make(chain));
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const auto memory, Memory::create(kGpu, 0));
  EncodeRun run(device, shape.count);
  PENSTOCK_ASSIGN(const Buffer buffer, memory->allocate(run.device_bytes(), 256, stream));
  PENSTOCK_ASSIGN(const Buffer kept, memory->allocate(shape.count * shape.chunk_bytes, 256, stream));
  std::vector<std::uint64_t> words(run.host_bytes() / 8 + 64);
  auto* const host = reinterpret_cast<std::byte*>(words.data());
  std::vector<Raw> raw;
  for (unsigned i = 0; i < kVariety; ++i) raw.push_back(make_sample(entry.data, shape.chunk_bytes, i));
  for (std::uint32_t i = 0; i < shape.count; ++i)
    PENSTOCK_TRY(
        copy_async(kept.data() + i * shape.chunk_bytes, kGpu, raw[i % kVariety].data(), {}, shape.chunk_bytes, stream));
  const auto refill = [&]() -> Status {  // a chain of two steps writes over what it took
    PENSTOCK_TRY(run.begin(host, buffer.data(), device.raw_bytes(), stream));
    for (std::uint32_t i = 0; i < shape.count; ++i)
      PENSTOCK_TRY(copy_async(run.raw(i), kGpu, kept.data() + i * shape.chunk_bytes, kGpu, shape.chunk_bytes, stream));
    return stream.synchronize();
  };
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
    PENSTOCK_TRY(refill());
    const auto start = Clock::now();
    PENSTOCK_TRY(run.encode(stream));
    PENSTOCK_TRY(stream.synchronize());
    if (i > 0) times.push_back(seconds_since(start));
  }
  const double seconds = median(std::move(times));

  std::uint64_t device_bytes = 0, cpu_bytes = 0;
  bool right = true;
  ScratchBuffers scratch;
  Bytes encoded;
  Raw back(shape.chunk_bytes);
  for (std::uint32_t i = 0; i < shape.count; ++i) {
    PENSTOCK_ASSIGN(const std::uint64_t bytes, run.encoded_bytes(i));
    device_bytes += bytes;
    if (i >= 2 * kVariety && i + 2 < shape.count) continue;  // the libraries are slow; the others are repetitions
    Raw made(bytes);
    PENSTOCK_TRY(copy_async(made.data(), {}, run.encoded(i), kGpu, bytes, stream));
    PENSTOCK_TRY(stream.synchronize());
    PENSTOCK_TRY(chain.decode(made, back, scratch, {}));
    right = right && back == raw[i % kVariety];
  }
  double core_seconds = 0;
  for (unsigned i = 0; i < kVariety; ++i) {
    const auto start = Clock::now();
    PENSTOCK_TRY(chain.encode(raw[i], encoded, scratch));
    core_seconds += seconds_since(start);
    for (std::uint32_t k = i; k < shape.count; k += kVariety) cpu_bytes += encoded.size();
  }
  const auto all = static_cast<double>(shape.chunk_bytes * shape.count);
  std::printf(
      "{\"what\": \"%s\", \"chunk_KiB\": %llu, \"chunks\": %u, \"ms\": %.3f, \"GB_per_s\": %.1f, \"ratio\": %.3f, "
      "\"cpu_ratio\": %.3f, \"more_bytes_percent\": %.2f, \"core_GB_per_s\": %.2f, \"bytes_checked\": %s}\n",
      entry.name, static_cast<unsigned long long>(shape.chunk_bytes / kKiB), shape.count, seconds * 1e3,
      all / seconds / 1e9, all / static_cast<double>(device_bytes), all / static_cast<double>(cpu_bytes),
      100 * (static_cast<double>(device_bytes) / static_cast<double>(cpu_bytes) - 1),
      static_cast<double>(kVariety * shape.chunk_bytes) / core_seconds / 1e9, right ? "true" : "FALSE");
  std::fflush(stdout);
  return right ? Status{} : Status(Error(ErrorCode::internal, "other bytes came out"));
}

/// 2 GiB of 128 x 128 x 128 chunks from the GPU's memory into the folder.
Status write_whole(const Entry& entry, const std::string& folder) {
  constexpr std::uint64_t kSide = 128, kChunks = 512, kBytes = kSide * kSide * kSide * 2;
  Dataset d;
  d.shape = {kChunks * kSide, kSide, kSide};
  d.chunk_shape = {kSide, kSide, kSide};
  d.dtype = DType::uint16();
  d.codecs = specs_of(entry);
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const auto memory, Memory::create(kGpu, 0));
  PENSTOCK_ASSIGN(const Buffer source, memory->allocate(kChunks * kBytes, 256, stream));
  for (unsigned i = 0; i < kChunks; ++i) {
    static std::vector<Raw> raw;
    if (raw.size() < kVariety) raw.push_back(make_sample(Sample::u16, kBytes, i));
    PENSTOCK_TRY(copy_async(source.data() + i * kBytes, kGpu, raw[i % kVariety].data(), {}, kBytes, stream));
  }
  PENSTOCK_TRY(stream.synchronize());
  PENSTOCK_ASSIGN(const auto store, open_store(folder, StoreMode::create));
  const Region all = {{0, d.shape[0], 1}, {0, kSide, 1}, {0, kSide, 1}};
  for (const auto& [place, encode] : {std::pair("cpu", CodecPlace::cpu), std::pair("device", CodecPlace::device),
                                      std::pair("auto", CodecPlace::automatic)}) {
    Options options;
    options.encode = encode;
    Report report;
    Status done;
    const double seconds = median_seconds(3, [&] {
      auto array = Array::create(store, "bench", d, Array::IfExists::overwrite);
      auto written =
          array ? array->write(all, Target{source.data(), {}, kGpu, stream}, options) : Result<Report>(array.error());
      if (written)
        report = *std::move(written);
      else
        done = written.error();
    });
    PENSTOCK_TRY(done);
    std::string path, reason;
    for (const StageReport& stage : report.stages)
      if (stage.stage == "encode") {
        path = stage.path;
        reason = stage.reason;
      }
    std::printf(
        "{\"write\": \"%s\", \"encode\": \"%s\", \"seconds\": %.3f, \"GB_per_s\": %.2f, \"ratio\": %.3f, "
        "\"path\": \"%s\", \"reason\": \"%s\"}\n",
        entry.name, place, seconds, static_cast<double>(kChunks * kBytes) / seconds / 1e9,
        static_cast<double>(report.decoded_bytes) / static_cast<double>(report.stored_bytes), path.c_str(),
        reason.c_str());
    std::fflush(stdout);
  }
  return {};
}

std::vector<Entry> entries() {
  const CodecSpec shuffle{"numcodecs.shuffle", R"({"elementsize":2})"}, lz4{"numcodecs.lz4", "{}"},
      zstd{"zstd", R"({"level":3})"}, crc{"crc32c", "{}"};
  return {{"shuffle + lz4, u16", Sample::u16, {shuffle, lz4}},
          {"shuffle + zstd 3, u16", Sample::u16, {shuffle, zstd}},
          {"lz4, u16", Sample::u16, {lz4}},
          {"zstd 3, u16", Sample::u16, {zstd}},
          {"lz4, labels", Sample::labels, {lz4}},
          {"zstd 3, labels", Sample::labels, {zstd}},
          {"crc32c, u16", Sample::u16, {crc}},
          {"shuffle, u16", Sample::u16, {shuffle}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: penstock_bench_encode FOLDER [PART OF A NAME]\n");
    return 64;
  }
  if (!cuda_unavailable_reason().empty()) {
    std::printf("no CUDA device: %s\n", cuda_unavailable_reason().c_str());
    return 69;
  }
  std::printf("{\"device\": \"%s\"}\n", devices().front().description.c_str());
  bool failed = false;
  const auto note = [&](const Entry& entry, const Status& done) {
    if (done) return;
    std::printf("{\"what\": \"%s\", \"FAILED\": \"%s\"}\n", entry.name, done.error().message().c_str());
    failed = true;
  };
  for (const Entry& entry : entries()) {
    if (argc > 2 && std::string(entry.name).find(argv[2]) == std::string::npos) continue;
    for (const BatchShape& shape : {BatchShape{4 * kMiB, 16}, {4 * kMiB, 256}, {kMiB, 1024}, {64 * kKiB, 8192}})
      note(entry, measure(entry, shape));
  }
  const std::vector<Entry> all = entries();
  for (std::size_t i = 0; i < 4; ++i)
    if (argc <= 2 || std::string(all[i].name).find(argv[2]) != std::string::npos)
      note(all[i], write_whole(all[i], argv[1]));
  return failed ? 1 : 0;
}
