// A codec step that nvCOMP does, as a DeviceDecoder.
#pragma once
#include <memory>
#include <optional>

#include "codec/codec.hpp"
#include "codec/device_decoder.hpp"
#include "codec/nvcomp/check.hpp"
#include "codec/nvcomp/library.hpp"

namespace penstock::nvcomp {

/// The format of a codec's chunks, if nvCOMP decodes it.  zstd with checksums is left to us: nvCOMP is not known to
/// verify them.
std::optional<Format> format_of(const CodecSpec& codec);

/// A decoder for a CUDA device.  Every chunk's header is looked at before and its size and checksum afterwards
/// (codec/nvcomp/check.hpp).  Whatever it refuses, the CPU is to decode.
std::unique_ptr<DeviceDecoder> make_device_decoder(std::shared_ptr<const Library> library, Format format);

/// nvCOMP between our kernels, in the order of `stream`.  Errors: invalid_argument (not a CUDA stream), unsupported
/// (built without CUDA), device_error.
Status decode_cuda(const Library& library, Format format, const DeviceBatch& batch, const Arrays& arrays, ByteSpan temp,
                   const Stream& stream);

}  // namespace penstock::nvcomp
