#include "cli/measure/codec_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace penstock::cli {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::uint64_t kChunkBytes[] = {64 * kKiB, kMiB, 4 * kMiB};
/// Batches have 1, 8, 64 ... chunks, up to as many as make this, which is a wave of a read (array/cuda/waves.cpp).
constexpr std::uint64_t kBatchBytes = 256 * kMiB;
constexpr std::uint64_t kCountStep = 8;
constexpr unsigned kVariety = 4;                             ///< different chunks in a batch
constexpr double kCoreSeconds = 0.02, kDeviceSeconds = 0.1;  ///< spent on a point, at the least and at the most
constexpr int kRuns = 5;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Error other_bytes(std::string_view where) {
  return {ErrorCode::internal, fmt::format("other bytes came out {}", where)};
}

}  // namespace

std::span<const CodecCase> codec_cases() {
  static const auto& cases = *new std::vector<CodecCase>([] {
    using enum Sample;
    std::vector<CodecCase> list = {{"zstd", {"zstd", R"({"level":3})"}, {u16, shuffled_u16, labels}},
                                   {"lz4", {"numcodecs.lz4", "{}"}, {u16, shuffled_u16, labels}},
                                   {"gzip", {"gzip", R"({"level":5})"}, {u16, labels}},
                                   {"zlib", {"numcodecs.zlib", R"({"level":5})"}, {u16, labels}}};
    for (const std::string cname : {"lz4", "zstd", "zlib", "blosclz", "snappy"})
      list.push_back({"blosc(" + cname + ")",
                      {"blosc", fmt::format(R"({{"cname":"{}","clevel":5,"shuffle":"shuffle","typesize":2}})", cname)},
                      {u16}});
    for (const std::string name : {"crc32", "crc32c", "adler32", "fletcher32"})
      list.push_back({name, {name == "crc32c" ? name : "numcodecs." + name, "{}"}, {u16}});
    list.push_back({"unshuffle", {"numcodecs.shuffle", R"({"elementsize":2})"}, {u16}});
    list.push_back({"delta", {"numcodecs.delta", R"({"dtype":"<u2"})"}, {u16}});
    list.push_back({"delta of floats", {"numcodecs.delta", R"({"dtype":"<f4"})"}, {f4}});
    list.push_back({"astype", {"numcodecs.astype", R"({"encode_dtype":"<u2","decode_dtype":"<f4"})"}, {f4}});
    list.push_back({"fixedscaleoffset",
                    {"numcodecs.fixedscaleoffset", R"({"offset":0,"scale":1,"dtype":"<f4","astype":"<u2"})"},
                    {f4}});
    list.push_back({"quantize", {"numcodecs.quantize", R"({"digits":1,"dtype":"<f8","astype":"<f4"})"}, {f8}});
    list.push_back({"packbits", {"packbits", "{}"}, {mask}});
    list.push_back({"tiff.lzw", {"tiff.lzw", "{}"}, {u16, labels}});
    list.push_back({"tiff.predictor", {"tiff.predictor", R"({"predictor":2})"}, {u16}});
    return list;
  }());
  return cases;
}

std::vector<CodecSpec> CodecCase::chain() const {
  const CodecSpec bytes{"bytes", R"({"endian":"little"})"};
  if (codec.name == "packbits" || codec.name == "tiff.predictor") return {codec};
  for (const std::string_view filter : {"delta", "astype", "fixedscaleoffset", "quantize"})
    if (codec.name.ends_with(filter)) return {codec, bytes};
  return {bytes, codec};
}

Shape CodecCase::shape(std::uint64_t elements) const {
  // A predictor works along rows, which are those of a tile; every other codec sees no shape.
  constexpr std::uint64_t kRow = 256;
  if (codec.name == "tiff.predictor" && elements % kRow == 0) return {elements / kRow, kRow};
  return {elements};
}

/// Some chunks of one size, before and after encoding.
struct CodecTimes::Chunks {
  std::uint64_t bytes = 0;  ///< of one, decoded
  const std::vector<Raw>* raw = nullptr;
  std::vector<Bytes> encoded;
};

const std::vector<CodecTimes::Raw>& CodecTimes::raw(Sample sample, std::uint64_t chunk_bytes) {
  std::vector<Raw>& made = raw_[{sample, chunk_bytes}];
  for (unsigned seed = static_cast<unsigned>(made.size()); seed < kVariety; ++seed)
    made.push_back(make_sample(sample, chunk_bytes, seed));
  return made;
}

/// A chunk's time on one core while all others do the same, for they share memory and clock.
Result<double> CodecTimes::core_seconds(const CodecChain& chain, const Chunks& chunks) const {
  std::vector<double> seconds(options_.threads);
  std::vector<Status> done(options_.threads);
  const auto work = [&](std::size_t thread) -> Status {
    ScratchBuffers scratch;
    std::vector<std::byte> out(chunks.bytes);
    const auto decode = [&](std::size_t i) { return chain.decode(chunks.encoded[i % kVariety], out, scratch, {}); };
    for (std::size_t i = 0; i < kVariety; ++i) {
      PENSTOCK_TRY(decode(i));
      if (out != (*chunks.raw)[i]) return other_bytes("of a CPU core");
    }
    const auto begin = Clock::now();
    std::size_t count = 0;
    do {
      PENSTOCK_TRY(decode(thread + count));
      ++count;
      seconds[thread] = seconds_since(begin) / static_cast<double>(count);
    } while (seconds_since(begin) < kCoreSeconds || count < kVariety);
    return {};
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < options_.threads; ++t) threads.emplace_back([&, t] { done[t] = work(t); });
  }
  for (const Status& status : done) PENSTOCK_TRY(status);
  return median(seconds);
}

/// Encoded chunks are on the device, decoded ones stay there: what a wave does between upload and placement.
Result<double> CodecTimes::batch_seconds(ChainBatch& batch, const Chunks& chunks) const {
  const Device device = *options_.device;
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(device));
  PENSTOCK_ASSIGN(const auto memory, Memory::create(device, 0));
  PENSTOCK_ASSIGN(const Buffer buffer, memory->allocate(batch.device_bytes(), 256, stream));
  PENSTOCK_ASSIGN(const auto host_memory, Memory::create({}, 0));
  PENSTOCK_ASSIGN(const Buffer host, host_memory->allocate(batch.host_bytes(), 256, {}));
  for (std::uint32_t i = 0; i < batch.size(); ++i)
    std::memcpy(host.data() + batch.encoded_at(i), chunks.encoded[i % kVariety].data(),
                chunks.encoded[i % kVariety].size());
  PENSTOCK_TRY(batch.run(host.data(), buffer.data(), stream));
  PENSTOCK_TRY(stream.synchronize());
  std::vector<std::byte> back(chunks.bytes);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    PENSTOCK_TRY(batch.outcome(i).status);
    PENSTOCK_TRY(copy_async(back.data(), {}, batch.decoded(i), device, back.size(), stream));
    PENSTOCK_TRY(stream.synchronize());
    if (back != (*chunks.raw)[i % kVariety]) return other_bytes("of " + device.name());
  }
  std::vector<double> seconds;
  const auto begin = Clock::now();
  while (seconds.empty() || (seconds.size() < kRuns && seconds_since(begin) < kDeviceSeconds)) {
    const auto start = Clock::now();
    PENSTOCK_TRY(batch.decode(stream));
    PENSTOCK_TRY(stream.synchronize());
    seconds.push_back(seconds_since(start));
  }
  return median(seconds);
}

Status CodecTimes::add_device_points(const DeviceChain& chain, const Chunks& chunks, CostRow& row) const {
  const std::uint64_t max_count = kBatchBytes / chunks.bytes;
  for (std::uint64_t count = 1;; count = std::min(count * kCountStep, max_count)) {
    if (options_.cancel.cancelled()) return Error(ErrorCode::cancelled, "stopped");
    ChainBatch batch(chain);
    for (std::uint64_t i = 0; i < count; ++i) batch.add(chunks.encoded[i % kVariety].size());
    if (batch.device_bytes() > options_.device_bytes) return {};
    PENSTOCK_ASSIGN(const double seconds, batch_seconds(batch, chunks));
    row.points.push_back({chunks.bytes, count, seconds});
    if (count == max_count) return {};
  }
}

Result<std::vector<CostRow>> CodecTimes::measure(const CodecCase& codec) {
  std::vector<CostRow> rows;
  for (const Sample sample : codec.samples) {
    CostRow core{codec.name, DecodedBy::core, std::string(sample_name(sample)), {}};
    CostRow on_device{codec.name, DecodedBy::device, core.data, {}};
    CostRow by_nvcomp{codec.name, DecodedBy::nvcomp, core.data, {}};
    for (const std::uint64_t bytes : kChunkBytes) {
      if (options_.cancel.cancelled()) return Error(ErrorCode::cancelled, "stopped");
      const DType dtype = sample_dtype(sample);
      PENSTOCK_ASSIGN(const CodecChain chain,
                      CodecChain::make(codec.chain(), {codec.shape(bytes / dtype.size_bytes), dtype, {}}));
      Chunks chunks{bytes, &raw(sample, bytes), std::vector<Bytes>(kVariety)};
      ScratchBuffers scratch;
      for (unsigned i = 0; i < kVariety; ++i) PENSTOCK_TRY(chain.encode((*chunks.raw)[i], chunks.encoded[i], scratch));
      PENSTOCK_ASSIGN(const double seconds, core_seconds(chain, chunks));
      core.points.push_back({bytes, 1, seconds});
      if (!options_.device) continue;
      PENSTOCK_ASSIGN(DeviceChain device, DeviceChain::make(chain));
      PENSTOCK_TRY(add_device_points(device, chunks, on_device));
      if (options_.nvcomp && device.hand_to_nvcomp(options_.nvcomp, nullptr, 1) > 0)
        PENSTOCK_TRY_IN(add_device_points(device, chunks, by_nvcomp), options_.nvcomp->name());
    }
    for (CostRow* row : {&core, &on_device, &by_nvcomp})
      if (!row->points.empty()) rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace penstock::cli
