// Checksums checked on a device.
#pragma once
#include <memory>

#include "codec/checksum/sums.hpp"
#include "codec/device_decoder.hpp"

namespace penstock::checksum {

/// Checks the chunks of a batch, each by a block of threads, in the order of `stream`.
/// front: 4 when the checksum stands before the bytes, 0 when behind.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status check_cuda(const DeviceBatch& batch, const Kind& kind, std::uint32_t front, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_device_decoder(Sum sum, std::uint32_t front);

}  // namespace penstock::checksum
