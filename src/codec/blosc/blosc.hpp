// The codec "blosc".
#pragma once
#include <memory>
#include <string>

#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kBloscCodec;

enum class BloscShuffle : std::uint8_t { none = 0, bytes = 1, bits = 2 };

struct BloscParameters {
  std::string cname = "lz4";
  int clevel = 5;
  BloscShuffle shuffle = BloscShuffle::bytes;
  std::uint32_t typesize = 1;
  std::uint64_t blocksize = 0;  ///< bytes; 0: the library chooses
};
/// The codec on c-blosc.
std::unique_ptr<BytesToBytes> make_blosc(BloscParameters parameters);
/// Whether c-blosc was built with this inner compressor.
bool blosc_has(const std::string& cname);
/// Text of a shuffle as v3 metadata spells it.
std::string_view blosc_shuffle_name(BloscShuffle shuffle);
}  // namespace penstock
