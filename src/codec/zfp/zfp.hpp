// The codecs "zfp" and "numcodecs.zfpy": lossy and lossless compression of blocks of numbers, through libzfp.
#pragma once
#include <array>

#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kZfpCodec;
extern const CodecEntry kZfpyCodec;

/// How libzfp compresses.
struct ZfpParameters {
  enum class Mode : std::uint8_t { reversible, expert, fixed_accuracy, fixed_rate, fixed_precision };
  Mode mode = Mode::reversible;
  double tolerance = 0;             ///< fixed_accuracy: largest error of an element
  double rate = 0;                  ///< fixed_rate: bits of an element
  std::uint32_t precision = 0;      ///< fixed_precision: bit planes
  std::uint32_t min_bits = 0;       ///< expert: of a block of 4^rank elements
  std::uint32_t max_bits = 0;       ///< expert
  std::uint32_t max_precision = 0;  ///< expert
  std::int32_t min_exponent = 0;    ///< expert
};

/// What libzfp compresses: int32, int64, float32 or float64 of rank 1 to 4, fastest axis first.
struct ZfpField {
  Kind kind = Kind::floating;
  std::uint32_t size_bytes = 4;
  std::uint32_t rank = 1;
  std::array<std::size_t, 4> extents{};  ///< as many as rank
};

/// Whether a header with type, shape and mode precedes the blocks ("numcodecs.zfpy") or not ("zfp").
enum class ZfpHeader : std::uint8_t { none, full };

/// Most bytes of the compressed field.
std::uint64_t zfp_bound(const ZfpField& field, const ZfpParameters& parameters);
/// Compresses `in`, the elements in C order.  Errors: out_of_memory, internal (libzfp).
Status zfp_encode(const ZfpField& field, const ZfpParameters& parameters, ZfpHeader header, ByteView in, Bytes& out);
/// Decompresses; with a header, its mode is used and its field must be `field`.  Takes working memory of the bound and
/// the input together, because libzfp itself does not look for the end of its input.
/// Errors: corrupt_data, out_of_memory.
Status zfp_decode(const ZfpField& field, const ZfpParameters& parameters, ZfpHeader header, ByteView in, ByteSpan out);
}  // namespace penstock
