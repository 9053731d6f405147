// Speed of the zstd decoder on one GPU: whole batches, each pass, other shapes, less scratch.  Every byte is checked.
//
//   penstock_bench_zstd [--quick] [--sweep] [NAME]     only the data whose name contains NAME
//
// Prints one JSON object a line.  Data are resident on the device.  Times are medians of wall-clock time up to a
// synchronisation, about 10 us of which are not the device's.
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "codec/zstd/passes.hpp"
#include "timing.hpp"

using namespace penstock;
using namespace penstock::bench;
using namespace penstock::zstd;

namespace {

using Data = std::vector<std::byte>;

/// Runs work(i) for i < n on all cores.
void parallel(std::size_t n, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> threads;
  const std::size_t all = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t t = 0; t < all; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < n; i += all) work(i);
    });
  for (auto& thread : threads) thread.join();
}

constexpr std::size_t kSide = 512;

/// Blobs on a background with shot noise: what a microscope makes.  nz planes of 512 x 512.
std::vector<std::uint16_t> microscopy(std::size_t nz) {
  struct Blob {
    double center[3], width[3], height;
  };
  std::mt19937 random(11);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<Blob> blobs(64);
  for (Blob& b : blobs) {
    for (double& c : b.center) c = unit(random);
    for (double& w : b.width) w = 0.04 + 0.12 * unit(random);
    b.height = 80 + 420 * unit(random);
  }
  const auto bell = [](double x, double center, double width) {
    return std::exp(-0.5 * (x - center) * (x - center) / (width * width));
  };
  std::vector<std::uint16_t> volume(nz * kSide * kSide);
  parallel(nz, [&](std::size_t z) {
    std::mt19937 noise(static_cast<unsigned>(z) + 1);
    std::normal_distribution<double> normal;
    std::vector<double> mean(kSide * kSide, 40);
    for (const Blob& b : blobs)
      for (std::size_t y = 0; y < kSide; ++y) {
        const double zy = b.height *
                          bell((static_cast<double>(z) + .5) / static_cast<double>(nz), b.center[0], b.width[0]) *
                          bell((static_cast<double>(y) + .5) / kSide, b.center[1], b.width[1]);
        if (zy < 1e-3) continue;
        for (std::size_t x = 0; x < kSide; ++x)
          mean[y * kSide + x] += zy * bell((static_cast<double>(x) + .5) / kSide, b.center[2], b.width[2]);
      }
    for (std::size_t i = 0; i < mean.size(); ++i)
      volume[z * mean.size() + i] =
          static_cast<std::uint16_t>(std::clamp(mean[i] + std::sqrt(mean[i]) * normal(noise), 0.0, 65535.0) + .5);
  });
  return volume;
}

/// Ellipsoids with numbers on a background of 0.
std::vector<std::uint32_t> labels(std::size_t nz) {
  std::mt19937 random(13);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<std::uint32_t> volume(nz * kSide * kSide, 0);
  const double size[3] = {static_cast<double>(nz), kSide, kSide};
  const auto count = static_cast<std::uint32_t>(4000 * nz / 256);
  for (std::uint32_t i = 0; i < count; ++i) {
    double radius[3], center[3];
    std::size_t low[3], high[3];
    for (double& r : radius) r = 5 + 11 * unit(random);
    for (int d = 0; d < 3; ++d) {
      center[d] = unit(random) * size[d];
      low[d] = static_cast<std::size_t>(std::max(0.0, std::floor(center[d] - radius[d])));
      high[d] = static_cast<std::size_t>(std::min(size[d], std::ceil(center[d] + radius[d]) + 1));
    }
    const auto part = [&](int d, std::size_t at) {
      const double x = (static_cast<double>(at) - center[d]) / radius[d];
      return x * x;
    };
    for (std::size_t z = low[0]; z < high[0]; ++z)
      for (std::size_t y = low[1]; y < high[1]; ++y)
        for (std::size_t x = low[2]; x < high[2]; ++x)
          if (part(0, z) + part(1, y) + part(2, x) <= 1) volume[(z * kSide + y) * kSide + x] = 1 + 7 * i;
  }
  return volume;
}

/// The chunks of shape (z, y, x) of a volume.
template <class T>
std::vector<Data> cut(const std::vector<T>& volume, std::size_t z, std::size_t y, std::size_t x) {
  std::vector<Data> chunks;
  const std::size_t nz = volume.size() / (kSide * kSide);
  for (std::size_t z0 = 0; z0 + z <= nz; z0 += z)
    for (std::size_t y0 = 0; y0 < kSide; y0 += y)
      for (std::size_t x0 = 0; x0 < kSide; x0 += x) {
        Data chunk(z * y * x * sizeof(T));
        for (std::size_t r = 0; r < z * y; ++r)
          std::memcpy(chunk.data() + r * x * sizeof(T), &volume[((z0 + r / y) * kSide + y0 + r % y) * kSide + x0],
                      x * sizeof(T));
        chunks.push_back(std::move(chunk));
      }
  return chunks;
}

Data shuffled(const Data& data, std::size_t item) {
  Data out(data.size());
  const std::size_t n = data.size() / item;
  for (std::size_t i = 0; i < data.size(); ++i) out[i % item * n + i / item] = data[i];
  return out;
}

Data compress(const Data& data, int level, int checksum) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
  Data out(ZSTD_compressBound(data.size()));
  out.resize(ZSTD_compress2(context, out.data(), out.size(), data.data(), data.size()));
  ZSTD_freeCCtx(context);
  return out;
}

/// Chunks of one kind, decoded and encoded.
struct Set {
  std::string name;
  std::vector<Data> chunks, frames;
  Set(std::string n, std::vector<Data> c, int level = 3, int checksum = 0) : name(std::move(n)), chunks(std::move(c)) {
    frames.resize(chunks.size());
    parallel(chunks.size(), [&](std::size_t i) { frames[i] = compress(chunks[i], level, checksum); });
  }
};

struct Bench {
  Device device{Device::Type::cuda, 0};
  Stream stream = Stream::create(device).value();
  std::shared_ptr<Memory> memory = Memory::create(device, 0).value();
  std::uint32_t multiprocessors = multiprocessors_cuda(stream).value();
  bool sweep = false;
  bool quick = false;

  Buffer buffer(std::uint64_t bytes) const { return memory->allocate(bytes, 256, stream).value(); }
  void download(void* to, const void* from, std::uint64_t bytes) const {
    copy_async(to, {}, from, device, bytes, stream).value();
    stream.synchronize().value();
  }
  /// Milliseconds of work().
  double once(const std::function<void()>& work) const {
    stream.synchronize().value();
    const auto start = Clock::now();
    work();
    stream.synchronize().value();
    return seconds_since(start) * 1e3;
  }
};

/// A set repeated, in separate buffers, on the device.
struct Batched {
  const Set& set;
  std::uint32_t count;
  std::uint64_t chunk_bytes, encoded_bytes = 0;
  Buffer in, out, tasks, results;
  Batch batch;

  Batched(const Bench& bench, const Set& s, std::uint32_t n) : set(s), count(n), chunk_bytes(s.chunks[0].size()) {
    std::vector<std::uint64_t> at;
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      at.push_back(total);
      encoded_bytes += frame(i).size();
      total += (frame(i).size() + 15) / 16 * 16;
    }
    Data host(total);
    for (std::uint32_t i = 0; i < n; ++i) std::memcpy(host.data() + at[i], frame(i).data(), frame(i).size());
    in = bench.buffer(total);
    out = bench.buffer(decoded());
    tasks = bench.buffer(n * sizeof(DecodeTask));
    results = bench.buffer(n * sizeof(ChunkStatus));
    std::vector<DecodeTask> words;
    for (std::uint32_t i = 0; i < n; ++i)
      words.push_back({in.data() + at[i], frame(i).size(), out.data() + i * chunk_bytes, chunk_bytes});
    copy_async(in.data(), bench.device, host.data(), {}, total, bench.stream).value();
    copy_async(tasks.data(), bench.device, words.data(), {}, tasks.size(), bench.stream).value();
    bench.stream.synchronize().value();
    batch.tasks = reinterpret_cast<const DecodeTask*>(tasks.data());
    batch.results = reinterpret_cast<ChunkStatus*>(results.data());
    batch.count = n;
    batch.decoded_bytes = decoded();
    batch.largest_bytes = chunk_bytes;
  }
  [[nodiscard]] const Data& frame(std::uint32_t i) const { return set.frames[i % set.frames.size()]; }
  [[nodiscard]] std::uint64_t decoded() const { return chunk_bytes * count; }
  /// Why the bytes are not right; empty when they are.
  [[nodiscard]] std::string problem(const Bench& bench) const {
    std::vector<ChunkStatus> words(count);
    bench.download(words.data(), results.data(), results.size());
    for (std::uint32_t i = 0; i < count; ++i)
      if (const Status status = to_status(words[i], "zstd"); !status)
        return "frame " + std::to_string(i) + ": " + status.error().message();
    Data made(decoded());
    bench.download(made.data(), out.data(), made.size());
    for (std::uint32_t i = 0; i < count; ++i)
      if (std::memcmp(made.data() + i * chunk_bytes, set.chunks[i % set.chunks.size()].data(), chunk_bytes) != 0)
        return "frame " + std::to_string(i) + ": other bytes";
    return {};
  }
};

constexpr const char* kPassNames[] = {"parse", "list", "literals", "sequences", "execute", "verify"};
constexpr int kPasses = 6;

/// Milliseconds of each pass of a batch, one after the other.  Of several slices, which share their scratch, the first.
std::vector<double> time_passes(const Bench& bench, const Layout& layout, const LaunchShape& shape) {
  std::vector<std::vector<double>> times(kPasses);
  for (int round = 0; round < (bench.quick ? 2 : 6); ++round)
    for (int p = 0; p < kPasses; ++p) {
      const double ms =
          bench.once([&] { run_pass_cuda(static_cast<Pass>(p), layout, 0, shape, bench.stream).value(); });
      if (round > 0) times[static_cast<std::size_t>(p)].push_back(ms);
    }
  std::vector<double> result;
  for (const auto& t : times) result.push_back(median(t));
  return result;
}

/// Milliseconds of one pass in each shape.
void sweep_shapes(const Bench& bench, const Batched& batched, const Layout& layout, const LaunchShape& chosen) {
  std::string text;
  const auto try_shape = [&](Pass pass, const char* name, LaunchShape shape) {
    std::vector<double> times;
    for (int round = 0; round < 4; ++round) {
      for (int p = 0; p < static_cast<int>(pass); ++p)
        run_pass_cuda(static_cast<Pass>(p), layout, 0, chosen, bench.stream).value();
      const double ms = bench.once([&] { run_pass_cuda(pass, layout, 0, shape, bench.stream).value(); });
      if (round > 0) times.push_back(ms);
    }
    char word[64];
    std::snprintf(word, sizeof word, "%s\"%s\": %.3f", text.empty() ? "" : ", ", name, median(times));
    text += word;
  };
  try_shape(Pass::literals, "L", chosen);
  for (const std::uint32_t n : {1u, 2u, 4u, 8u}) {
    LaunchShape shape = chosen;
    shape.sequence_blocks = n;
    try_shape(Pass::sequences, ("S" + std::to_string(n)).c_str(), shape);
  }
  for (const std::uint32_t n : {64u, 128u, 256u, 1024u})
    for (const bool few : {false, true}) {
      if (few && n != 64) continue;
      LaunchShape shape = chosen;
      shape.execute_threads = n;
      shape.many_chunks = few;
      try_shape(Pass::execute, ("E" + std::to_string(n) + (few ? "h" : "")).c_str(), shape);
    }
  std::printf("{\"sweep\": \"%s\", \"frame_KiB\": %llu, \"frames\": %u, \"ms\": {%s}}\n", batched.set.name.c_str(),
              static_cast<unsigned long long>(batched.chunk_bytes / kKiB), batched.count, text.c_str());
}

/// One row: a batch decoded with `scratch_share` times its decoded bytes (0: as scratch_bytes says).
void measure(const Bench& bench, const Batched& batched, double scratch_share) {
  const Batch& batch = batched.batch;
  const std::uint64_t usual = scratch_bytes(batch.count, batch.decoded_bytes, batch.largest_bytes);
  const std::uint64_t least = min_scratch_bytes(batch.count, batch.decoded_bytes, batch.largest_bytes);
  const auto wanted = static_cast<std::uint64_t>(scratch_share * static_cast<double>(batch.decoded_bytes));
  const Buffer scratch = bench.buffer(scratch_share == 0 ? usual : std::max(least, wanted));
  const std::span<std::byte> span{scratch.data(), scratch.size()};
  const Layout layout = lay_out(batch, span).value();
  const LaunchShape shape = choose_shape(layout, batch, bench.multiprocessors);
  std::vector<double> times;
  for (int round = 0; round < (bench.quick ? 3 : 10); ++round) {
    const double ms = bench.once([&] { decode_cuda(batch, span, bench.stream).value(); });
    if (round > 0) times.push_back(ms);
  }
  const std::string problem = batched.problem(bench);
  std::uint64_t pages = 0;
  bench.download(&pages, layout.workspace.pages_taken, sizeof pages);
  const double decoded = static_cast<double>(batched.decoded()), total = median(times);
  const auto [fast, slow] = std::minmax_element(times.begin(), times.end());
  std::printf(
      "{\"data\": \"%s\", \"frame_KiB\": %llu, \"frames\": %u, \"ratio\": %.2f, \"GB_per_s\": %.2f, \"ms\": %.3f, "
      "\"ms_min\": %.3f, \"ms_max\": %.3f, \"scratch_per_decoded\": %.3f, \"needed_per_decoded\": %.3f, "
      "\"slices\": %llu, \"shape\": \"S%u E%u%s\", \"checked\": \"%s\"",
      batched.set.name.c_str(), static_cast<unsigned long long>(batched.chunk_bytes / kKiB), batched.count,
      decoded / static_cast<double>(batched.encoded_bytes), decoded / total / 1e6, total, *fast, *slow,
      static_cast<double>(scratch.size()) / decoded, static_cast<double>(pages * kPageBytes) / decoded,
      static_cast<unsigned long long>(layout.workspace.slices_of(pages)), shape.sequence_blocks, shape.execute_threads,
      shape.many_chunks ? "h" : "", problem.empty() ? "every byte" : ("WRONG: " + problem).c_str());
  if (scratch_share == 0) {
    const std::vector<double> passes = time_passes(bench, layout, shape);
    double sum = 0;
    for (const double ms : passes) sum += ms;
    std::printf(", \"pass_ms\": {");
    for (int p = 0; p < kPasses; ++p)
      std::printf("%s\"%s\": %.3f", p == 0 ? "" : ", ", kPassNames[p], passes[static_cast<std::size_t>(p)]);
    std::printf("}, \"pass_share\": {");
    for (int p = 0; p < kPasses; ++p)
      std::printf("%s\"%s\": %.2f", p == 0 ? "" : ", ", kPassNames[p], passes[static_cast<std::size_t>(p)] / sum);
    std::printf("}");
  }
  std::printf("}\n");
  if (scratch_share == 0 && bench.sweep) sweep_shapes(bench, batched, layout, shape);
  std::fflush(stdout);
}

void measure_set(const Bench& bench, const Set& set, const std::vector<std::uint32_t>& counts) {
  for (const std::uint32_t count : counts) {
    const Batched batched(bench, set, count);
    measure(bench, batched, 0);
    if (!bench.quick && batched.decoded() >= 512 * kMiB) measure(bench, batched, 0.5);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!cuda_unavailable_reason().empty()) {
    std::printf("no CUDA device: %s\n", cuda_unavailable_reason().c_str());
    return 69;
  }
  Bench bench;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--sweep")
      bench.sweep = true;
    else if (word == "--quick")
      bench.quick = true;
    else
      only = word;
  }
  std::printf("{\"device\": \"%s\", \"multiprocessors\": %u, \"libzstd\": \"%s\"}\n",
              devices().front().description.c_str(), bench.multiprocessors, ZSTD_versionString());
  const auto wanted = [&](const char* name) { return std::string(name).find(only) != std::string::npos; };
  const std::size_t planes = bench.quick ? 64 : 128;
  if (wanted("u16") || wanted("u16-shuffled")) {
    const auto volume = microscopy(planes);
    auto mib = cut(volume, 64, 64, 128);
    if (wanted("u16-shuffled")) {
      std::vector<Data> planes_of_bytes;
      for (const Data& chunk : mib) planes_of_bytes.push_back(shuffled(chunk, 2));
      measure_set(bench, Set("u16-shuffled", std::move(planes_of_bytes)), {512, 2048});
    }
    if (wanted("u16")) {
      measure_set(bench, Set("u16-checksum", mib, 3, 1), {512});
      measure_set(bench, Set("u16-level1", mib, 1), {512});
      measure_set(bench, Set("u16-level9", mib, 9), {512});
      measure_set(bench, Set("u16", std::move(mib)), {1, 64, 512, 2048});
      measure_set(bench, Set("u16", cut(volume, 32, 32, 32)), {1024, 8192, 32768});
      if (planes >= 128) measure_set(bench, Set("u16", cut(volume, 128, 128, 128)), {16, 128, 512});
    }
  }
  if (wanted("labels")) measure_set(bench, Set("labels", cut(labels(64), 64, 64, 64)), {512, 2048});
  return 0;
}
