// The codec "zstd".
#pragma once
#include <memory>

#include "codec/list.hpp"

namespace penstock {
extern const CodecEntry kZstdCodec;

struct ZstdParameters {
  int level = 0;  ///< 0 is the library's default, 3
  bool checksum = false;
};
/// The codec on libzstd.
std::unique_ptr<BytesToBytes> make_zstd(ZstdParameters parameters);
}  // namespace penstock
