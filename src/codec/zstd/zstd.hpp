// The codec "zstd".
#pragma once
#include <cstdint>
#include <memory>

#include "codec/entry.hpp"
#include "codec/stream.hpp"

namespace penstock {
extern const CodecEntry kZstdCodec;

struct ZstdParameters {
  int level = 0;  ///< 0 is the library's default, 3
  bool checksum = false;
  /// Encoding: how libzstd searches for matches, with tables of the level's size.
  enum class Search : std::uint8_t { of_the_level, fast } search = Search::of_the_level;
  StreamEnd end = StreamEnd::of_input;  ///< full_output: the codec of TIFF files
};
/// The codec on libzstd.
std::unique_ptr<BytesToBytes> make_zstd(ZstdParameters parameters);
/// zstd as a step of a device chain (zstd/device_decoder.cpp).
std::unique_ptr<DeviceDecoder> make_zstd_device_decoder();
/// Device encoder.  It knows one way to compress, whatever the level.
std::unique_ptr<DeviceEncoder> make_zstd_device_encoder(bool checksum);
}  // namespace penstock
