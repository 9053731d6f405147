// Decoding by libraries that work piece by piece: zlib, bzip2, liblzma, and zstd where the size is not known.
#pragma once
#include "codec/codec.hpp"

namespace penstock {

/// One decompression library's stream.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  struct Step {
    std::size_t used = 0;  ///< bytes of input
    std::size_t made = 0;  ///< bytes of output
    bool end = false;      ///< the stream, or this member of it, is over
  };
  /// Takes some of `in` and fills some of `out`.  Errors: corrupt_data (what is wrong, without the place), others.
  virtual Result<Step> step(ByteView in, ByteSpan out) = 0;
  /// Whether another member of the stream begins here, after one has ended and its padding.
  [[nodiscard]] virtual bool begins_member(ByteView /*rest*/) const { return false; }
  /// Makes ready for the next member.
  virtual Status restart() { return {}; }
  /// Bytes after a member that mean nothing and are skipped.
  [[nodiscard]] virtual std::size_t padding(ByteView /*rest*/) const { return 0; }
};

/// Number of zero bytes that `bytes` begins with.
std::size_t leading_zeros(ByteView bytes);

/// What ends the decoding of a stream.
enum class StreamEnd : std::uint8_t {
  of_input,     ///< all of the input is looked at, and the streams in it end with it
  full_output,  ///< the output that is expected is there; of what follows as much again is looked at, for a checksum:
                ///< TIFF files
};

/// Decodes `in`, growing `out` as far as it may.  Errors: corrupt_data with the byte position.
Status decode_stream(StreamDecoder& decoder, ByteView in, Sink& out, StreamEnd end = StreamEnd::of_input);

}  // namespace penstock
