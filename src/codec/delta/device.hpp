// Differences summed on a device.
#pragma once
#include <memory>

#include "codec/delta/float_sums.hpp"
#include "codec/delta/sums.hpp"
#include "codec/device_decoder.hpp"

namespace penstock::delta {

/// Integers, a block of threads for each chunk.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status decode_cuda(const DeviceBatch& batch, ScalarType from, ScalarType to, const Stream& stream);

/// How floats are summed.
struct FloatDelta {
  ScalarType from, to;
  std::uint32_t parts;     ///< scalars of an element
  std::uint8_t sum_bytes;  ///< 4 or 8: of the type of the sums
};
/// Floats, a warp for each chunk.
[[nodiscard]] Status decode_floats_cuda(const DeviceBatch& batch, const FloatDelta& delta, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_device_decoder(ScalarType from, ScalarType to);
std::unique_ptr<DeviceDecoder> make_float_decoder(const FloatDelta& delta);

}  // namespace penstock::delta
