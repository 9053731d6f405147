// The codec "tiff.jpeg".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffJpegCodec;

namespace tiff {

/// What a JPEG stream in a tile or strip must be.
struct JpegImage {
  std::uint64_t width = 0, height = 0;
  std::uint64_t max_height = 0;  ///< of the stream, whose last rows are left out then
  std::uint32_t samples = 1;     ///< of a pixel, side by side
  bool is_ycbcr = false;         ///< stored so; RGB is made of it
};

/// One stream, of 8 bits a sample; `tables`: another stream that holds tables only, or nothing.   Errors: corrupt_data,
/// unsupported (of another kind, by name), out_of_memory.
Status decode_jpeg(ByteView tables, ByteView in, const JpegImage& image, ByteSpan out);

}  // namespace tiff
}  // namespace penstock
