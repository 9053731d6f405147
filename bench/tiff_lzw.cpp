// LZW tiles of TIFF on one core: the decoder beside libtiff's, on the same tiles in one run, every byte compared.
//
// penstock_bench_tiff_lzw [TILES]   tiles of 256 x 256; default 64.  Prints decoded GB/s of both and their ratio.
#include <tiffio.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "codec/chain.hpp"

using namespace penstock;

namespace {

constexpr std::uint32_t kTile = 256;
constexpr int kRounds = 7;

/// A file in memory.
struct File {
  std::vector<std::uint8_t> bytes;
  toff_t at = 0;

  static File& of(thandle_t handle) { return *static_cast<File*>(handle); }
  static tmsize_t read(thandle_t handle, void* to, tmsize_t wanted) {
    File& file = of(handle);
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(wanted),
                                             file.bytes.size() - std::min<std::size_t>(file.at, file.bytes.size()));
    std::memcpy(to, file.bytes.data() + file.at, count);
    file.at += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t write(thandle_t handle, void* from, tmsize_t count) {
    File& file = of(handle);
    file.bytes.resize(std::max<std::size_t>(file.bytes.size(), file.at + static_cast<std::size_t>(count)));
    std::memcpy(file.bytes.data() + file.at, from, static_cast<std::size_t>(count));
    file.at += static_cast<toff_t>(count);
    return count;
  }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    File& file = of(handle);
    return file.at = offset + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.at : file.bytes.size());
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return of(handle).bytes.size(); }
  static int map(thandle_t handle, void** base, toff_t* size) {
    *base = of(handle).bytes.data();
    *size = of(handle).bytes.size();
    return 1;
  }
  static void unmap(thandle_t, void*, toff_t) {}
  TIFF* open(const char* mode) {
    at = 0;
    return TIFFClientOpen("memory", mode, this, read, write, seek, close, size, map, unmap);
  }
};

struct Case {
  const char* name;
  const char* dtype;
  std::uint16_t bits, format, predictor;
};

/// Terrain: waves, and noise as of a sensor.
double height(std::uint32_t tile, std::uint32_t y, std::uint32_t x, std::mt19937& random) {
  const double u = x + 256.0 * (tile % 8), v = y + 256.0 * static_cast<double>(tile / 8);
  return 1200 + 300 * std::sin(u / 97) * std::cos(v / 131) + 60 * std::sin(u / 11 + v / 23) +
         static_cast<double>(random() % 16) / 4;
}

std::vector<std::byte> make_tile(const Case& c, std::uint32_t tile) {
  std::mt19937 random(tile);
  std::vector<std::byte> out(std::size_t{kTile} * kTile * c.bits / 8);
  for (std::uint32_t y = 0; y < kTile; ++y)
    for (std::uint32_t x = 0; x < kTile; ++x) {
      const std::size_t i = std::size_t{y} * kTile + x;
      const double value = height(tile, y, x, random);
      if (c.bits == 8) {
        out[i] = static_cast<std::byte>(static_cast<int>(value / 100));
      } else if (c.bits == 16) {
        const auto v = static_cast<std::uint16_t>(value * 4);
        std::memcpy(out.data() + 2 * i, &v, 2);
      } else {
        const auto v = static_cast<float>(value);
        std::memcpy(out.data() + 4 * i, &v, 4);
      }
    }
  return out;
}

File write_file(const Case& c, std::uint32_t tiles, std::vector<std::byte>& all) {
  File file;
  TIFF* const tiff = file.open("w");
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, kTile * 8);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, kTile * ((tiles + 7) / 8));
  TIFFSetField(tiff, TIFFTAG_TILEWIDTH, kTile);
  TIFFSetField(tiff, TIFFTAG_TILELENGTH, kTile);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(c.bits));
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, static_cast<int>(c.format));
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
  TIFFSetField(tiff, TIFFTAG_PREDICTOR, static_cast<int>(c.predictor));
  for (std::uint32_t t = 0; t < tiles; ++t) {
    std::vector<std::byte> tile = make_tile(c, t);
    all.insert(all.end(), tile.begin(), tile.end());
    TIFFWriteEncodedTile(tiff, t, tile.data(), static_cast<tmsize_t>(tile.size()));
  }
  TIFFClose(tiff);
  return file;
}

/// Seconds that this thread has run: others on the machine do not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

void run(const Case& c, std::uint32_t tiles) {
  std::vector<std::byte> all;
  File file = write_file(c, tiles, all);
  const std::size_t tile_bytes = all.size() / tiles;
  TIFF* const tiff = file.open("r");
  std::uint64_t* offsets = nullptr;
  std::uint64_t* sizes = nullptr;
  TIFFGetField(tiff, TIFFTAG_TILEOFFSETS, &offsets);
  TIFFGetField(tiff, TIFFTAG_TILEBYTECOUNTS, &sizes);
  std::vector<CodecSpec> codecs = {{"bytes", c.bits > 8 ? R"({"endian":"little"})" : "{}"}, {"tiff.lzw", "{}"}};
  if (c.predictor > 1)
    codecs[0] = {"tiff.predictor",
                 R"({"predictor":)" + std::to_string(c.predictor) + R"(,"samples":1,"endian":"little"})"};
  const DType dtype = *parse_dtype_name(c.dtype);
  const auto chain = CodecChain::make(codecs, {{kTile, kTile}, dtype, std::vector<std::byte>(dtype.size_bytes)});
  if (!chain) fail(chain.error().message().c_str());
  std::vector<std::byte> out(tile_bytes);
  ScratchBuffers scratch;
  double ours = 1e9, theirs = 1e9;
  std::uint64_t stored = 0;
  for (std::uint32_t t = 0; t < tiles; ++t) stored += sizes[t];
  for (int round = 0; round < kRounds; ++round) {
    double start = now();
    for (std::uint32_t t = 0; t < tiles; ++t) {
      const ByteView in(reinterpret_cast<const std::byte*>(file.bytes.data()) + offsets[t], sizes[t]);
      if (!chain->decode(in, out, scratch, {})) fail("a tile that cannot be decoded");
      if (round == 0 && !std::equal(out.begin(), out.end(), all.begin() + static_cast<std::ptrdiff_t>(t * tile_bytes)))
        fail("other bytes than were encoded");
    }
    if (round > 0) ours = std::min(ours, now() - start);
    start = now();
    for (std::uint32_t t = 0; t < tiles; ++t)
      if (TIFFReadEncodedTile(tiff, t, out.data(), static_cast<tmsize_t>(tile_bytes)) < 0) fail("libtiff");
    if (round > 0) theirs = std::min(theirs, now() - start);
  }
  TIFFClose(tiff);
  const double gb = static_cast<double>(all.size()) / 1e9;
  std::printf("%-12s ratio %5.2f   penstock %6.3f GB/s   libtiff %6.3f GB/s   %5.2f x\n", c.name,
              static_cast<double>(all.size()) / static_cast<double>(stored), gb / ours, gb / theirs, theirs / ours);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint32_t tiles = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 64;
  if (tiles == 0) fail("no tiles");
  for (const Case& c :
       {Case{"uint8", "uint8", 8, 1, 1}, Case{"uint16", "uint16", 16, 1, 1}, Case{"uint16 p2", "uint16", 16, 1, 2},
        Case{"float32", "float32", 32, 3, 1}, Case{"float32 p3", "float32", 32, 3, 3}})
    run(c, tiles);
  return 0;
}
