// The codec "tiff.predictor".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kTiffPredictorCodec;

namespace tiff {

/// Rows of a strip or tile, one behind another.
struct PredictorRows {
  std::uint64_t rows = 0, row_items = 0;
  std::uint64_t samples = 1;  ///< of a pixel, side by side in a row
  std::uint32_t item_bytes = 1;
};

/// Predictor 2: each sample is the difference to that of the pixel before, modulo 2^bits.  Native order.
/// Undone, `native` may be `stored`; made in place.
void undo_differences(const PredictorRows& rows, const std::byte* stored, std::byte* native);
void make_differences(const PredictorRows& rows, std::byte* data);
/// Predictor 3: the bytes of a row's floats by significance, the highest first, then differences of bytes.
/// `native`: the elements; neither side may be the other.
void undo_float_bytes(const PredictorRows& rows, const std::byte* stored, std::byte* native, Bytes& row);
void make_float_bytes(const PredictorRows& rows, const std::byte* native, std::byte* stored);

}  // namespace tiff
}  // namespace penstock
