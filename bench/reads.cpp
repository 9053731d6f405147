// From the page cache to one GPU: reads of whole volumes, and beside them what bounds them: reading files into pinned
// memory, the bus, both at once, and memory on the device.  Prints one JSON object a line; GB = 1e9 bytes.
// penstock_bench_reads FOLDER [REPEATS]     makes its data in FOLDER: 2048 x 1024 x 1024 uint16 in chunks of 128^3
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "device/backend.hpp"
#include "penstock/array.hpp"
#include "store/fetch_one.hpp"
#include "timing.hpp"

using namespace penstock;
using namespace penstock::bench;

namespace {

constexpr Device kGpu{Device::Type::cuda, 0};
constexpr std::uint64_t kPlanes = 2048, kSide = 1024, kChunk = 128;
constexpr std::uint64_t kBytes = kPlanes * kSide * kSide * 2;

std::uint64_t spread(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44d;
  return x ^ x >> 33;
}

/// Slow waves with noise that grows with the root of the light, as a camera has it.
void fill_planes(std::uint16_t* out, std::uint64_t first, std::uint64_t planes) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([=] {
      for (std::uint64_t row = t; row < planes * kSide; row += threads)
        for (std::uint64_t x = 0; x < kSide; ++x) {
          const std::uint64_t z = first + row / kSide, y = row % kSide, i = (z * kSide + y) * kSide + x;
          const std::uint64_t bits = spread(i);
          const auto wave = static_cast<int>((z / 16 * 37 + y / 32 * 53 + x / 64 * 29) % 300);
          const int noise =
              static_cast<int>((bits & 63) + (bits >> 8 & 63) + (bits >> 16 & 63) + (bits >> 24 & 63)) - 126;
          out[row * kSide + x] = static_cast<std::uint16_t>(100 + wave + noise * (12 + wave / 20) / 48);
        }
    });
  for (std::thread& worker : workers) worker.join();
}

Status make_store(const std::string& path, const std::vector<CodecSpec>& codecs) {
  if (std::filesystem::exists(path)) return {};
  Dataset d;
  d.shape = {kPlanes, kSide, kSide};
  d.chunk_shape = {kChunk, kChunk, kChunk};
  d.codecs = codecs;
  d.dtype = DType::uint16();
  d.fill.assign(2, std::byte{0});
  PENSTOCK_ASSIGN(auto store, open_store(path, StoreMode::create));
  PENSTOCK_ASSIGN(Array array, Array::create(store, "", d, Array::IfExists::fail));
  std::vector<std::uint16_t> planes(kChunk * kSide * kSide);
  for (std::uint64_t z = 0; z < kPlanes; z += kChunk) {
    fill_planes(planes.data(), z, kChunk);
    PENSTOCK_TRY(array.write({{z, kChunk, 1}, {0, kSide, 1}, {0, kSide, 1}}, {planes.data(), {}, {}, {}}, {}));
  }
  return {};
}

struct Row {
  std::string what;
  std::vector<double> seconds;
  double bytes = 0;
};
void print(Row row, const std::string& more = "") {
  std::sort(row.seconds.begin(), row.seconds.end());
  const double middle = row.seconds[row.seconds.size() / 2];
  std::printf("{\"what\": \"%s\", \"GB_per_s\": %.1f, \"ms\": %.2f, \"ms_min\": %.2f, \"ms_max\": %.2f%s}\n",
              row.what.c_str(), row.bytes / middle / 1e9, middle * 1e3, row.seconds.front() * 1e3,
              row.seconds.back() * 1e3, more.c_str());
  std::fflush(stdout);
}

/// Every file of the raw store through pinned pieces, by `threads` threads that have `depth` pieces each.
struct Pipe {
  std::vector<std::string> keys;
  std::shared_ptr<Store> store;
  std::byte* pinned = nullptr;
  std::byte* target = nullptr;

  Status run(unsigned threads, std::uint64_t piece, unsigned depth, bool fetch, bool upload) const {
    std::atomic<std::size_t> next{0};
    std::vector<Status> done(threads);
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&, t] { done[t] = work(next, t, piece, depth, fetch, upload); });
    for (std::thread& worker : workers) worker.join();
    for (Status& status : done) PENSTOCK_TRY(std::move(status));
    return {};
  }
  Status work(std::atomic<std::size_t>& next, unsigned t, std::uint64_t piece, unsigned depth, bool fetch,
              bool upload) const {
    PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
    std::vector<std::optional<Event>> events(depth);
    unsigned turn = 0;
    for (std::size_t k = next++; k < keys.size(); k = next++) {
      PENSTOCK_ASSIGN(const auto size, store->size_bytes(keys[k]));
      const std::uint64_t bytes = size.value_or(0);
      for (std::uint64_t at = 0; at < bytes; at += piece, turn = (turn + 1) % depth) {
        const std::uint64_t n = std::min(piece, bytes - at);
        std::byte* const slab = pinned + (t * depth + turn) * piece;
        if (events[turn]) PENSTOCK_TRY(events[turn]->synchronize());
        if (fetch)
          PENSTOCK_TRY(fetch_one(*store, {keys[k], ByteRange::span(at, n), nullptr}, ByteSpan(slab, n), {}).status);
        if (!upload) continue;
        PENSTOCK_TRY(copy_async(target + k * kChunk * kChunk * kChunk * 2 + at, kGpu, slab, {}, n, stream));
        PENSTOCK_ASSIGN(events[turn], Event::record(stream));
      }
    }
    return stream.synchronize();
  }
};

std::vector<double> times(int repeats, const std::function<Status()>& work) {
  std::vector<double> out;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = Clock::now();
    work().value();
    if (i > 0) out.push_back(seconds_since(start));
  }
  return out;
}

Status bounds(const std::string& path, int repeats) {
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const auto memory, Memory::create(kGpu, 0));
  std::vector<double> fresh;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = Clock::now();
    PENSTOCK_ASSIGN(const Buffer buffer, memory->allocate(kBytes, 256, stream));
    PENSTOCK_TRY(stream.synchronize());
    if (i > 0) fresh.push_back(seconds_since(start));
  }
  print({"device memory for the volume, freed before each turn", fresh, kBytes});
  PENSTOCK_ASSIGN(const Buffer target, memory->allocate(kBytes, 256, stream));
  PENSTOCK_TRY(stream.synchronize());
  Pipe pipe;
  PENSTOCK_ASSIGN(pipe.store, open_store(path, StoreMode::read));
  PENSTOCK_ASSIGN(pipe.keys, pipe.store->list("c"));
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  Backend& backend = *find_backend(Device::Type::cuda);
  PENSTOCK_ASSIGN(void* const pinned, backend.allocate_pinned(512 * kMiB));
  pipe.pinned = static_cast<std::byte*>(pinned);
  pipe.target = target.data();
  std::memset(pipe.pinned, 1, 512 * kMiB);
  for (const auto& [piece, depth] : {std::pair{kMiB, 2u},
                                     {kMiB, 4u},
                                     {2 * kMiB, 2u},
                                     {2 * kMiB, 4u},
                                     {4 * kMiB, 2u},
                                     {4 * kMiB, 3u},
                                     {8 * kMiB, 4u}})
    for (const int mode : {1, 2, 3}) {
      const bool fetch = (mode & 1) != 0, upload = (mode & 2) != 0;
      Row row{std::string(fetch ? upload ? "fetch and upload" : "fetch" : "upload") + ", pieces of " +
                  std::to_string(piece / 1024) + " KiB, " + std::to_string(depth) + " a thread",
              times(repeats, [&] { return pipe.run(threads, piece, depth, fetch, upload); }), kBytes};
      print(std::move(row), ", \"threads\": " + std::to_string(threads));
    }
  backend.free_pinned(pinned);
  return {};
}

/// Whole reads, as a user does them: open, memory for the result, read, wait.
Status reads(const std::string& path, const char* name, int repeats) {
  PENSTOCK_ASSIGN(const auto memory, Memory::create(kGpu, 0));
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  const Region all = {{0, kPlanes, 1}, {0, kSide, 1}, {0, kSide, 1}};
  std::vector<double> whole, allocate, host;
  Report report;
  bool right = true;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = Clock::now();
    PENSTOCK_ASSIGN(auto store, open_store(path, StoreMode::read));
    PENSTOCK_ASSIGN(const Array array, Array::open(store, ""));
    const auto opened = Clock::now();
    PENSTOCK_ASSIGN(const Buffer target, memory->allocate(kBytes, 256, stream));
    const double allocated = seconds_since(opened);
    PENSTOCK_ASSIGN(report, array.read(all, {target.data(), {}, kGpu, stream}, {}));
    const double returned = seconds_since(start);
    PENSTOCK_TRY(stream.synchronize());
    if (i > 0) {
      whole.push_back(seconds_since(start));
      allocate.push_back(allocated);
      host.push_back(returned);
      continue;
    }
    std::vector<std::uint16_t> got(kBytes / 2), want(kChunk * kSide * kSide);
    PENSTOCK_TRY(copy_async(got.data(), {}, target.data(), kGpu, kBytes, stream));
    PENSTOCK_TRY(stream.synchronize());
    for (std::uint64_t z = 0; z < kPlanes; z += kChunk) {
      fill_planes(want.data(), z, kChunk);
      right = right && std::memcmp(want.data(), got.data() + z * kSide * kSide, want.size() * 2) == 0;
    }
  }
  print({std::string("read ") + name + ": allocation", allocate, kBytes});
  print({std::string("read ") + name + ": until the call returns", host, kBytes});
  std::string more = ", \"stored_bytes\": " + std::to_string(report.stored_bytes) +
                     ", \"peak_device_bytes\": " + std::to_string(report.peak_device_bytes) +
                     ", \"peak_host_bytes\": " + std::to_string(report.peak_host_bytes) +
                     ", \"bytes_checked\": " + (right ? "true" : "FALSE");
  for (const StageReport& stage : report.stages)
    more += ", \"" + stage.stage + "_thread_s\": " + std::to_string(stage.seconds);
  print({std::string("read ") + name, whole, kBytes}, more);
  return right ? Status{} : Status(Error(ErrorCode::internal, "other bytes came out"));
}

/// Two thousand regions of one inner chunk of 64 KiB each, of a hundred arrays, by one call.
Status regions(const std::string& folder, int repeats) {
  constexpr std::uint64_t kArrays = 100, kRegions = 2000, kEdge = 32, kElements = kEdge * kEdge * kEdge;
  const CodecSpec sharding{
      "sharding_indexed", R"({"chunk_shape":[32,32,32],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},)"
                          R"({"name":"zstd","configuration":{"level":3,"checksum":false}}]})"};
  PENSTOCK_ASSIGN(auto store, open_store(folder + "/regions.zarr", StoreMode::create));
  std::vector<Array> arrays;
  std::vector<std::uint16_t> values;
  for (std::uint64_t a = 0; a < kArrays; ++a) {
    Dataset d;
    d.shape = {128, 128, 128};
    d.chunk_shape = {128, 128, 128};
    d.codecs = {sharding};
    d.dtype = DType::uint16();
    d.fill.assign(2, std::byte{0});
    const std::string name = "a" + std::to_string(a);
    if (auto there = Array::open(store, name)) {
      arrays.push_back(*std::move(there));
      continue;
    }
    PENSTOCK_ASSIGN(Array array, Array::create(store, name, d, Array::IfExists::fail));
    values.resize(128 * 128 * 128);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::uint16_t>(100 + i / 4096 % 300 + (spread(i + a) & 31));
    PENSTOCK_TRY(array.write(whole(d.shape), {values.data(), {}, {}, {}}, {}));
    arrays.push_back(std::move(array));
  }
  PENSTOCK_ASSIGN(const auto memory, Memory::create(kGpu, 0));
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const Buffer target, memory->allocate(kRegions * kElements * 2, 256, stream));
  std::vector<std::uint16_t> host(kRegions * kElements), got(host.size());
  std::vector<ReadItem> to_host, to_device;
  for (std::uint64_t i = 0; i < kRegions; ++i) {
    const std::uint64_t bits = spread(i);
    const Region region = {
        {bits % 4 * kEdge, kEdge, 1}, {bits / 4 % 4 * kEdge, kEdge, 1}, {bits / 16 % 4 * kEdge, kEdge, 1}};
    to_host.push_back({&arrays[i % kArrays], region, {host.data() + i * kElements, {}, {}, {}}});
    to_device.push_back({&arrays[i % kArrays], region, {target.data() + i * kElements * 2, {}, kGpu, stream}});
  }
  Report report;
  for (const auto& [name, items] : {std::pair{"host", &to_host}, std::pair{"device", &to_device}}) {
    const auto seconds = times(repeats, [&]() -> Status {
      PENSTOCK_ASSIGN(report, read_many(*items, {}));
      return stream.synchronize();
    });
    print({std::string("2,000 regions of 100 arrays to the ") + name, seconds, static_cast<double>(host.size() * 2)},
          ", \"regions_per_s\": " + std::to_string(kRegions / *std::min_element(seconds.begin(), seconds.end())));
  }
  PENSTOCK_TRY(copy_async(got.data(), {}, target.data(), kGpu, got.size() * 2, stream));
  PENSTOCK_TRY(stream.synchronize());
  return got == host ? Status{} : Status(Error(ErrorCode::internal, "other bytes came out"));
}

Status run(const std::string& folder, int repeats) {
  const CodecSpec bytes{"bytes", R"({"endian":"little"})"};
  const std::vector<std::pair<const char*, std::vector<CodecSpec>>> layouts = {
      {"raw", {bytes}},
      {"zstd", {bytes, {"zstd", R"({"level":3,"checksum":false})"}}},
      {"blosc-lz4", {bytes, {"blosc", R"({"typesize":2,"cname":"lz4","clevel":5,"shuffle":"shuffle"})"}}}};
  for (const auto& [name, codecs] : layouts) {
    const std::string path = folder + "/" + name + ".zarr";
    PENSTOCK_TRY(make_store(path, codecs));
    PENSTOCK_TRY(reads(path, name, repeats));
  }
  PENSTOCK_TRY(regions(folder, repeats));
  return bounds(folder + "/raw.zarr", repeats);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !cuda_unavailable_reason().empty()) {
    std::printf("%s\n", argc < 2 ? "usage: penstock_bench_reads FOLDER [REPEATS]" : cuda_unavailable_reason().c_str());
    return argc < 2 ? 64 : 69;
  }
  std::printf("{\"device\": \"%s\"}\n", devices().front().description.c_str());
  const Status done = run(argv[1], argc > 2 ? std::atoi(argv[2]) : 7);
  if (!done) std::printf("{\"failed\": \"%s\"}\n", done.error().message().c_str());
  return done ? 0 : 1;
}
