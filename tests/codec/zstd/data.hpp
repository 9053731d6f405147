// Data of several characters, and frames of it by libzstd.
#pragma once
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace penstock::zstd::test {

using Data = std::vector<std::uint8_t>;

enum class Kind { random, text, zeros, u16, shuffled, labels, runs, skewed, mixed };
inline constexpr Kind kKinds[] = {Kind::random, Kind::text, Kind::zeros,  Kind::u16,  Kind::shuffled,
                                  Kind::labels, Kind::runs, Kind::skewed, Kind::mixed};

/// A smooth field with noise, as a microscope makes.
inline std::uint16_t field(std::size_t i, std::mt19937& random) {
  const double slow = 300 * (1 + std::sin(static_cast<double>(i) / 900)) + static_cast<double>(i >> 12);
  return static_cast<std::uint16_t>(400 + slow + static_cast<double>(random() % 13));
}

inline Data make(Kind kind, std::size_t n, std::mt19937& random) {
  Data data(n);
  const auto byte = [&] { return static_cast<std::uint8_t>(random()); };
  switch (kind) {
    case Kind::random:
      for (auto& x : data) x = byte();
      break;
    case Kind::text: {
      static const char* const words[] = {"the ", "frame ", "of ", "block ", "and ", "sequence ", "window ", "zarr\n"};
      for (std::size_t i = 0; i < n;)
        for (const char* w = words[random() % 8]; *w != 0 && i < n; ++w) data[i++] = static_cast<std::uint8_t>(*w);
      break;
    }
    case Kind::zeros: break;
    case Kind::u16:
    case Kind::shuffled:
      for (std::size_t i = 0; i + 1 < n; i += 2) {
        const std::uint16_t v = field(i / 2, random);
        data[kind == Kind::u16 ? i : i / 2] = static_cast<std::uint8_t>(v);
        data[kind == Kind::u16 ? i + 1 : n / 2 + i / 2] = static_cast<std::uint8_t>(v >> 8);
      }
      break;
    case Kind::labels:
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t v = i / 4, x = v % 64, y = v / 64;
        const bool inside = (x - 30) * (x - 30) + (y % 64 - 30) * (y % 64 - 30) < 300 + y / 8;
        data[i] = static_cast<std::uint8_t>((inside ? 1 + 7 * (y / 200) : 0) >> (8 * (i % 4)));
      }
      break;
    case Kind::runs:  // of periods from 1 to 9
      for (std::size_t i = 0; i < n;) {
        const std::size_t period = 1 + random() % 9, end = std::min(n, i + period + random() % 700);
        for (std::size_t k = 0; i < end; ++k, ++i) data[i] = k < period ? byte() : data[i - period];
      }
      break;
    case Kind::skewed:
      for (auto& x : data) x = static_cast<std::uint8_t>(std::min<unsigned>(random() % 256, random() % 64));
      break;
    case Kind::mixed:
      for (std::size_t i = 0; i < n;) {
        const Data part = make(kKinds[random() % 8], std::min<std::size_t>(n - i, 1 + random() % 200000), random);
        std::copy(part.begin(), part.end(), data.begin() + static_cast<std::ptrdiff_t>(i));
        i += part.size();
      }
      break;
  }
  return data;
}

/// How a frame is to be made.
struct FrameOptions {
  int level = 3;
  bool content_size = true;
  bool checksum = false;
  int window_log = 0;     ///< 0: the level's
  std::size_t flush = 0;  ///< a block ends after at most so many bytes; 0: never early
};

inline Data compress(const Data& data, const FrameOptions& options) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, options.level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, options.content_size ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, options.checksum ? 1 : 0);
  if (options.window_log != 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, options.window_log);
  if (options.content_size) ZSTD_CCtx_setPledgedSrcSize(context, data.size());
  Data out(ZSTD_compressBound(data.size()) + 64 + (options.flush != 0 ? data.size() / options.flush * 32 : 0));
  ZSTD_inBuffer in{data.data(), data.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (options.flush != 0 && in.pos < data.size()) {
    ZSTD_inBuffer part{data.data(), std::min(data.size(), in.pos + options.flush), in.pos};
    ZSTD_compressStream2(context, &to, &part, ZSTD_e_flush);
    in.pos = part.pos;
  }
  if (ZSTD_compressStream2(context, &to, &in, ZSTD_e_end) != 0) std::abort();
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

/// A level, a window, flushes and flags by chance.
inline FrameOptions random_options(std::mt19937& random) {
  static constexpr int kLevels[] = {-5, 1, 3, 3, 5, 9, 13, 19};
  FrameOptions options;
  options.level = kLevels[random() % 8];
  options.content_size = random() % 2 == 0;
  options.checksum = random() % 3 == 0;
  if (random() % 5 == 0) options.window_log = 10 + static_cast<int>(random() % 8);
  if (!options.content_size && random() % 2 == 0) options.flush = 2000 + random() % 100000;
  return options;
}

}  // namespace penstock::zstd::test
