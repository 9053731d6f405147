// The codec "tiff.lzw", and LZW as TIFF files have it, on the CPU.
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffLzwCodec;

namespace tiff {

/// How codes lie in the bytes.
enum class LzwVariant : std::uint8_t {
  standard,   ///< highest bits first; codes grow one code before the table needs it (TIFF 6.0)
  old_style,  ///< lowest bits first; codes grow when the table needs it (files of before TIFF 6.0)
};

/// Whether the first bytes of a strip are of the old style, which begin with the Clear code lowest bit first.
bool is_old_style_lzw(ByteView first_bytes);

/// Decodes until `out` is full; what follows is not looked at.  Codes beyond a full table are of 12 bits and add
/// nothing.  Errors: corrupt_data at the byte: no Clear code at the beginning, a code that is not in the table yet, the
/// end before `out` is full.
Status decode_lzw(ByteView in, ByteSpan out, LzwVariant variant);
/// Encodes in the standard variant.  Errors: out_of_memory.
Status encode_lzw(ByteView in, Bytes& out);

}  // namespace tiff
}  // namespace penstock
