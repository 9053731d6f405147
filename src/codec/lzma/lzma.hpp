// The codec "numcodecs.lzma".
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kLzmaCodec;

/// Containers, with the numbers of Python's lzma module.
enum class LzmaFormat : std::uint8_t { detect = 0, xz = 1, alone = 2, raw = 3 };

/// One filter of a chain.  Numbers that are not given take the values of `preset`.
struct LzmaFilter {
  std::uint64_t id = 0;
  std::uint32_t preset = 6;
  std::optional<std::uint32_t> dict_size, lc, lp, pb, mode, nice_len, mf, depth;
  std::uint32_t dist = 1;          ///< delta
  std::uint32_t start_offset = 0;  ///< branch filters
};

struct LzmaParameters {
  LzmaFormat format = LzmaFormat::xz;
  int check = -1;  ///< -1: CRC64
  std::uint32_t preset = 6;
  std::vector<LzmaFilter> filters;  ///< empty: by the preset
  std::string configuration;        ///< as it is written in metadata
};
/// The codec on liblzma.  Errors: unsupported (a filter or check that the library does not have), invalid_metadata.
Result<std::unique_ptr<BytesToBytes>> make_lzma(LzmaParameters parameters);
}  // namespace penstock
