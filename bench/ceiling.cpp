// The ceiling for reading an array: every file into fresh memory, decoded with the codec's library on all cores.
//   penstock_ceiling ARRAY LAYOUT THREADS     LAYOUT: raw, zstd, blosc-lz4, sharded-zstd (of bench/layouts.py)
// No planning, no placement: chunks lie one after another in the output.  Prints one JSON object.
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

void decode(std::string_view layout, const Range& range, std::vector<std::byte>& scratch, ZSTD_DCtx* zstd,
            std::byte* to) {
  if (layout == "raw") {
    if (range.bytes != kChunkBytes) fail(range.file + ": not one chunk");
    read_exactly(range, to);
    return;
  }
  scratch.resize(std::max<std::size_t>(scratch.size(), range.bytes));
  read_exactly(range, scratch.data());
  std::size_t got = 0;
  if (layout == "blosc-lz4") {
    got = static_cast<std::size_t>(std::max(0, blosc_decompress_ctx(scratch.data(), to, kChunkBytes, 1)));
  } else {
    got = ZSTD_decompressDCtx(zstd, to, kChunkBytes, scratch.data(), range.bytes);
  }
  if (got != kChunkBytes) fail(range.file + ": does not decode to one chunk");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: penstock_ceiling ARRAY LAYOUT THREADS");
  const std::string_view layout = argv[2];
  const int threads = std::atoi(argv[3]);
  if (threads < 1) fail("THREADS must be 1 or more");
  if (layout != "raw" && layout != "zstd" && layout != "blosc-lz4" && layout != "sharded-zstd") fail("no such layout");
  const auto start = std::chrono::steady_clock::now();
  std::vector<Range> ranges;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(argv[1]) + "/c")) {
    if (entry.is_regular_file()) add_ranges(entry.path().string(), layout, ranges);
  }
  if (ranges.empty()) fail("no chunks below ARRAY/c");
  const std::uint64_t bytes = ranges.size() * kChunkBytes;
  void* out = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (out == MAP_FAILED) fail("out of memory");
  ::madvise(out, bytes, MADV_HUGEPAGE);  // fewer page faults: what a careful program would do
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd(ZSTD_createDCtx(), &ZSTD_freeDCtx);
    std::vector<std::byte> scratch;
    for (std::size_t i; (i = next.fetch_add(1)) < ranges.size();) {
      decode(layout, ranges[i], scratch, zstd.get(), static_cast<std::byte*>(out) + i * kChunkBytes);
    }
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (auto& thread : pool) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("{\"seconds\": %.6f, \"bytes\": %llu}\n", seconds.count(), static_cast<unsigned long long>(bytes));
  return 0;
}
