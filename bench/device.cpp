// Speed of the device stage on one GPU: pinning, upload, LZ4 decoding, placement.  Every byte is checked.
// Prints one JSON object a line.
#include <lz4.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "array/assemble/place.hpp"
#include "codec/lz4/device.hpp"
#include "device/backend.hpp"
#include "device/pinned_ring.hpp"
#include "timing.hpp"

using namespace penstock;
using namespace penstock::bench;

namespace {

struct Bench {
  Device device{Device::Type::cuda, 0};
  Stream stream = Stream::create(device).value();
  std::shared_ptr<Memory> memory = Memory::create(device, 0).value();

  Buffer buffer(std::uint64_t bytes) { return memory->allocate(bytes, 256, stream).value(); }
  Buffer upload(const void* from, std::uint64_t bytes) {
    Buffer to = buffer(bytes);
    copy_async(to.data(), device, from, {}, bytes, stream).value();
    stream.synchronize().value();
    return to;
  }
  std::vector<std::byte> download(const Buffer& from) {
    std::vector<std::byte> to(from.size());
    copy_async(to.data(), {}, from.data(), device, from.size(), stream).value();
    stream.synchronize().value();
    return to;
  }
  /// Median seconds of 7 runs after 1 to warm up.
  double time(const std::function<void()>& work) {
    stream.synchronize().value();
    return median_seconds(7, [&] {
      work();
      stream.synchronize().value();
    });
  }
};

void say(const std::string& what, double seconds, double bytes, bool right) {
  std::printf("{\"what\": \"%s\", \"ms\": %.3f, \"GB_per_s\": %.2f, \"bytes_checked\": %s}\n", what.c_str(),
              seconds * 1e3, bytes / seconds / 1e9, right ? "true" : "FALSE");
  std::fflush(stdout);
}

/// A smooth u16 field with noise: what a microscope makes.
std::vector<std::byte> u16_field(std::uint64_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  std::mt19937 random(seed);
  for (std::uint64_t i = 0; i + 1 < bytes; i += 2) {
    const double slow = 60 * (1 + static_cast<double>((i >> 9) % 97) / 97);
    const auto value = static_cast<std::uint16_t>(400 + slow + random() % 12);
    std::memcpy(data.data() + i, &value, 2);
  }
  return data;
}

void pinning(Bench& bench) {
  Backend& backend = *find_backend(Device::Type::cuda);
  for (const std::uint64_t mib : {8, 64, 512}) {
    const auto start = Clock::now();
    void* data = backend.allocate_pinned(mib * kMiB).value();
    const double pin = seconds_since(start);
    say("pin " + std::to_string(mib) + " MiB", pin, static_cast<double>(mib * kMiB), true);
    std::memset(data, 5, mib * kMiB);
    const Buffer to = bench.buffer(mib * kMiB);
    const double up =
        bench.time([&] { copy_async(to.data(), bench.device, data, {}, mib * kMiB, bench.stream).value(); });
    say("upload pinned " + std::to_string(mib) + " MiB", up, static_cast<double>(mib * kMiB),
        bench.download(to) == std::vector<std::byte>(mib * kMiB, std::byte{5}));
    backend.free_pinned(data);
  }
}

void lz4_decode(Bench& bench, const char* name, const std::vector<std::byte>& field, std::uint64_t count) {
  const int n = static_cast<int>(field.size());
  std::vector<char> packed(static_cast<std::size_t>(LZ4_compressBound(n)));
  const int size = LZ4_compress_default(reinterpret_cast<const char*>(field.data()), packed.data(), n,
                                        static_cast<int>(packed.size()));
  std::vector<std::byte> all(static_cast<std::size_t>(size) * count);
  for (std::uint64_t i = 0; i < count; ++i)
    std::memcpy(all.data() + i * static_cast<std::uint64_t>(size), packed.data(), static_cast<std::size_t>(size));
  const Buffer in = bench.upload(all.data(), all.size());
  const Buffer out = bench.buffer(field.size() * count);
  std::vector<DecodeTask> tasks;
  for (std::uint64_t i = 0; i < count; ++i)
    tasks.push_back({in.data() + i * static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(size),
                     out.data() + i * field.size(), field.size()});
  const Buffer device_tasks = bench.upload(tasks.data(), tasks.size() * sizeof(DecodeTask));
  const Buffer results = bench.buffer(count * sizeof(ChunkStatus));
  const DeviceBatch batch{reinterpret_cast<const DecodeTask*>(device_tasks.data()),
                          reinterpret_cast<ChunkStatus*>(results.data()),
                          {static_cast<std::uint32_t>(count), field.size() * count, field.size()}};
  const lz4::Format format{lz4::Framing::block};
  const double time = bench.time([&] { lz::decode_cuda(format, batch, bench.stream).value(); });
  const auto made = bench.download(out);
  bool right = true;
  for (std::uint64_t i = 0; i < count; ++i)
    right = right && std::memcmp(made.data() + i * field.size(), field.data(), field.size()) == 0;
  say("lz4 " + std::string(name) + " " + std::to_string(count) + " x " + std::to_string(field.size() >> 10) +
          " KiB, ratio " + std::to_string(field.size() / static_cast<double>(size)).substr(0, 4),
      time, static_cast<double>(field.size() * count), right);
}

/// 512 chunks of 128^3 u16 into a C-order volume; `order`: how a chunk lies.
void placement(Bench& bench, const char* name, const std::vector<std::int64_t>& order, bool swap) {
  constexpr std::uint64_t kChunk = 128 * 128 * 128 * 2, kGrid = 8, kSide = 128 * kGrid;
  const auto field = u16_field(kChunk, 3);
  const Buffer source = bench.upload(field.data(), field.size());
  const Buffer target = bench.buffer(kSide * kSide * kSide * 2);
  const std::vector<std::int64_t> strides = {static_cast<std::int64_t>(kSide * kSide * 2),
                                             static_cast<std::int64_t>(kSide * 2), 2};
  const std::vector<Range> part = {{0, 128, 1}, {0, 128, 1}, {0, 128, 1}};
  const std::vector<SwapRun> swaps = {{0, 2, 1}};
  std::vector<PlaceItem> items;
  for (std::uint64_t c = 0; c < kGrid * kGrid * kGrid; ++c) {
    PlaceItem item;
    item.source = source.data();
    item.source_strides = order;
    item.part = part;
    item.target = target.data() + ((c / 64 * kSide + c / 8 % 8) * kSide + c % 8) * 256;
    item.target_strides = strides;
    item.item_bytes = 2;
    if (swap) item.swaps = swaps;
    items.push_back(item);
  }
  const double time = bench.time([&] { place_cuda(items, bench.stream).value(); });
  // The first chunk on the host.
  std::vector<std::byte> expected(kChunk), got(kChunk);
  const std::vector<std::int64_t> dense = {32768, 256, 2};
  PlaceItem one = items[0];
  one.source = field.data();
  one.target = expected.data();
  one.target_strides = dense;
  place_cpu(one).value();
  const auto volume = bench.download(target);
  one.source = volume.data();
  one.source_strides = strides;
  one.swaps = {};
  one.target = got.data();
  place_cpu(one).value();
  say("place " + std::string(name), time, static_cast<double>(kChunk * items.size()), got == expected);
}

}  // namespace

int main() {
  if (!cuda_unavailable_reason().empty()) {
    std::printf("no CUDA device: %s\n", cuda_unavailable_reason().c_str());
    return 69;
  }
  std::printf("{\"device\": \"%s\"}\n", devices().front().description.c_str());
  Bench bench;
  pinning(bench);
  placement(bench, "128^3 u16, C order", {32768, 256, 2}, false);
  placement(bench, "128^3 u16, C order, swapped", {32768, 256, 2}, true);
  placement(bench, "128^3 u16, Fortran order", {2, 256, 32768}, false);
  const auto zeros = std::vector<std::byte>(kMiB);
  for (const std::uint64_t count : {1, 64, 512, 2048}) lz4_decode(bench, "u16", u16_field(kMiB, 1), count);
  for (const std::uint64_t count : {128, 512}) lz4_decode(bench, "u16", u16_field(4 * kMiB, 1), count);
  lz4_decode(bench, "u16", u16_field(64 << 10, 1), 8192);
  lz4_decode(bench, "zeros", zeros, 512);
  std::vector<std::byte> noise(kMiB);
  std::mt19937 random(4);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
  lz4_decode(bench, "noise", noise, 512);
  return 0;
}
