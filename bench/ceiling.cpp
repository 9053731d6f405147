// The ceiling for reading an array: every file, decoded with the codec's library on all cores.
//   penstock_ceiling ARRAY LAYOUT THREADS [MEMORY]
//     LAYOUT: raw, zstd, blosc-lz4, sharded-zstd (of bench/layouts.py)
//     MEMORY: fresh (the default), where chunks lie one after another; reused, by each thread for one chunk after the
//             other, as when they are sent on to a device; decode: reused, and the files were read before the clock
// No planning, no placement.  Prints one JSON object.
#include <blosc.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kChunkBytes = 128ull * 128 * 128 * 2;  // of every layout here, innermost
constexpr std::uint64_t kShardChunks = 8;                      // 256^3 in chunks of 128^3
constexpr std::uint64_t kReusedChunks = 3;                     // of a thread: one is filled while others are sent

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "penstock_ceiling: %s\n", why.c_str());
  std::exit(1);
}

struct Range {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

void read_exactly(const Range& range, std::byte* to) {
  const int fd = ::open(range.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(range.file + ": cannot be opened");
  for (std::uint64_t done = 0; done < range.bytes;) {
    const ssize_t n = ::pread(fd, to + done, range.bytes - done, static_cast<off_t>(range.offset + done));
    if (n <= 0) fail(range.file + ": shorter than expected");
    done += static_cast<std::uint64_t>(n);
  }
  ::close(fd);
}

// The encoded chunks of a file: the file itself, or what the shard's index lists.
void add_ranges(const std::string& file, std::string_view layout, std::vector<Range>& out) {
  const auto size = std::filesystem::file_size(file);
  if (layout != "sharded-zstd") {
    out.push_back({file, 0, size});
    return;
  }
  constexpr std::uint64_t index_bytes = kShardChunks * 16 + 4;
  if (size < index_bytes) fail(file + ": too small for a shard");
  std::uint64_t index[kShardChunks * 2];
  read_exactly({file, size - index_bytes, sizeof index}, reinterpret_cast<std::byte*>(index));
  for (std::uint64_t i = 0; i < kShardChunks; ++i) out.push_back({file, index[2 * i], index[2 * i + 1]});
}

void decode(std::string_view layout, const Range& range, const std::byte* encoded, ZSTD_DCtx* zstd, std::byte* to) {
  std::size_t got = 0;
  if (layout == "raw") {
    if (range.bytes == kChunkBytes) std::memcpy(to, encoded, got = kChunkBytes);
  } else if (layout == "blosc-lz4") {
    got = static_cast<std::size_t>(std::max(0, blosc_decompress_ctx(encoded, to, kChunkBytes, 1)));
  } else {
    got = ZSTD_decompressDCtx(zstd, to, kChunkBytes, encoded, range.bytes);
  }
  if (got != kChunkBytes) fail(range.file + ": does not decode to one chunk");
}

void read_and_decode(std::string_view layout, const Range& range, std::vector<std::byte>& scratch, ZSTD_DCtx* zstd,
                     std::byte* to) {
  if (layout == "raw") {
    if (range.bytes != kChunkBytes) fail(range.file + ": not one chunk");
    read_exactly(range, to);
    return;
  }
  scratch.resize(std::max<std::size_t>(scratch.size(), range.bytes));
  read_exactly(range, scratch.data());
  decode(layout, range, scratch.data(), zstd, to);
}

/// Memory in huge pages: fewer page faults, what a careful program would do.
std::byte* map_memory(std::uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("out of memory");
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

std::vector<Range> find_ranges(const std::string& array, std::string_view layout) {
  std::vector<Range> ranges;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(array + "/c")) {
    if (entry.is_regular_file()) add_ranges(entry.path().string(), layout, ranges);
  }
  if (ranges.empty()) fail("no chunks below ARRAY/c");
  return ranges;
}

/// Calls chunk(i, place, scratch, context) for each chunk, on `threads`; `reuses`: each has some places of its own.
template <class Chunk>
void on_threads(int threads, std::size_t chunks, bool reuses, const Chunk& chunk) {
  std::atomic<std::size_t> next{0};
  const auto work = [&](int thread) {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd(ZSTD_createDCtx(), &ZSTD_freeDCtx);
    std::vector<std::byte> scratch;
    std::uint64_t turn = 0;
    for (std::size_t i; (i = next.fetch_add(1)) < chunks;)
      chunk(i, reuses ? thread * kReusedChunks + turn++ % kReusedChunks : i, scratch, zstd.get());
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work, i);
  work(0);
  for (auto& thread : pool) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) fail("usage: penstock_ceiling ARRAY LAYOUT THREADS [fresh|reused|decode]");
  const std::string_view layout = argv[2], memory = argc == 5 ? argv[4] : "fresh";
  const int threads = std::atoi(argv[3]);
  if (threads < 1) fail("THREADS must be 1 or more");
  if (layout != "raw" && layout != "zstd" && layout != "blosc-lz4" && layout != "sharded-zstd") fail("no such layout");
  if (memory != "fresh" && memory != "reused" && memory != "decode") fail("MEMORY must be fresh, reused or decode");
  auto start = std::chrono::steady_clock::now();
  const std::vector<Range> ranges = find_ranges(argv[1], layout);
  const std::uint64_t bytes = ranges.size() * kChunkBytes;
  const bool reuses = memory != "fresh";
  const std::uint64_t held = reuses ? threads * kReusedChunks * kChunkBytes : bytes;
  std::byte* const out = map_memory(held);
  std::vector<std::vector<std::byte>> files;
  if (memory == "decode") {
    for (const Range& range : ranges) read_exactly(range, files.emplace_back(range.bytes).data());
  }
  if (reuses) {
    std::memset(out, 1, held);
    start = std::chrono::steady_clock::now();
  }
  on_threads(threads, ranges.size(), reuses,
             [&](std::size_t i, std::uint64_t place, std::vector<std::byte>& scratch, ZSTD_DCtx* zstd) {
               std::byte* const to = out + place * kChunkBytes;
               if (files.empty()) {
                 read_and_decode(layout, ranges[i], scratch, zstd, to);
               } else {
                 decode(layout, ranges[i], files[i].data(), zstd, to);
               }
             });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("{\"seconds\": %.6f, \"bytes\": %llu}\n", seconds.count(), static_cast<unsigned long long>(bytes));
  return 0;
}
