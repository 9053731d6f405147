// Checksums checked and made on a device.
#pragma once
#include <memory>

#include "codec/checksum/sums.hpp"
#include "codec/device_decoder.hpp"
#include "codec/device_encoder.hpp"

namespace penstock::checksum {

/// Checks the chunks of a batch, each by a block of threads, in the order of `stream`.
/// front: 4 when the checksum stands before the bytes, 0 when behind.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status check_cuda(const DeviceBatch& batch, const Kind& kind, std::uint32_t front, const Stream& stream);

/// Copies the chunks of a batch and adds their checksums.  front: as above.  Errors: as DeviceEncoder::encode.
[[nodiscard]] Status append_cuda(const EncodeBatch& batch, const Kind& kind, std::uint32_t front, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_device_decoder(Sum sum, std::uint32_t front);
std::unique_ptr<DeviceEncoder> make_device_encoder(Sum sum, std::uint32_t front);

}  // namespace penstock::checksum
