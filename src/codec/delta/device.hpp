// Integer differences summed on a device.
#pragma once
#include <memory>

#include "codec/delta/sums.hpp"
#include "codec/device_decoder.hpp"

namespace penstock::delta {

/// A block of threads for each chunk.  Errors: as DeviceDecoder::decode.
[[nodiscard]] Status decode_cuda(const DeviceBatch& batch, ScalarType from, ScalarType to, const Stream& stream);

std::unique_ptr<DeviceDecoder> make_device_decoder(ScalarType from, ScalarType to);

}  // namespace penstock::delta
