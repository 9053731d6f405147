// What became of one chunk in a batch: the same words on the host and on a device.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "device/portable.hpp"
#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Why a chunk could not be decoded.
enum class DecodeStatus : std::uint32_t {
  ok = 0,
  truncated_input,       ///< the input ends inside a sequence
  output_too_small,      ///< more bytes come out than the chunk has
  short_output,          ///< fewer bytes come out than the chunk has
  bad_offset,            ///< a match starts before the output, or has offset 0
  bad_end,               ///< the last sequences break the format's rules for the end of a block
  bad_header,            ///< the size in front of the data is not that of the chunk
  too_large,             ///< larger than the decoder's limit
  bad_magic,             ///< what should begin a frame does not
  bad_block,             ///< the header of a block or section contradicts itself, the block's size or the format
  bad_table,             ///< the description of a Huffman or FSE table is wrong
  bad_stream,            ///< an entropy-coded stream does not hold exactly what its section needs
  bad_checksum,          ///< the bytes are not those that were checksummed
  needs_dictionary,      ///< the frame was made with a dictionary
  unsupported_feature,   ///< the format's version or an option of it is not known
  scratch_too_small,     ///< needs more scratch than a chunk of its size gets: cut into very many small blocks
  legacy_frame,          ///< an LZ4 frame of the format before frames had headers
  bad_padding,           ///< the number of bits that fill up the last byte is not that of the chunk's size
  refused_by_nvcomp,     ///< nvCOMP says no more than that
  not_run = 0xFFFFFFFF,  ///< what the words hold before a device has written them
};

/// "the input ends inside a sequence"
PENSTOCK_API std::string_view decode_status_text(DecodeStatus status);

/// One per chunk, written by the decoder.
struct ChunkStatus {
  DecodeStatus status = DecodeStatus::not_run;
  std::uint32_t reserved = 0;
  std::uint64_t position = 0;      ///< byte of the input where decoding stopped
  std::uint64_t output_bytes = 0;  ///< bytes that were made
};

/// Whether nothing is known to be wrong with the bytes: the chunk is to be decoded on the CPU.
constexpr bool needs_cpu(DecodeStatus status) {
  return status == DecodeStatus::too_large || status == DecodeStatus::unsupported_feature ||
         status == DecodeStatus::scratch_too_small || status == DecodeStatus::refused_by_nvcomp;
}

/// Success, or corrupt_data (unsupported: a dictionary, an unknown feature): "codec lz4: the input ends inside a
/// sequence at byte 4711".
Status to_status(const ChunkStatus& status, std::string_view codec);

/// One chunk of a batch in device memory: `in_bytes` at `in` become exactly `out_bytes` at `out`.
struct DecodeTask {
  const std::byte* in = nullptr;
  std::uint64_t in_bytes = 0;
  std::byte* out = nullptr;
  std::uint64_t out_bytes = 0;
};

/// What becomes of a chunk whose encoded size is known to be `wanted`: ok only when its input is that long.
PENSTOCK_HD ChunkStatus check_size(const DecodeTask& task, std::uint64_t wanted) {
  ChunkStatus result;
  result.status = task.in_bytes < wanted   ? DecodeStatus::truncated_input
                  : task.in_bytes > wanted ? DecodeStatus::output_too_small
                                           : DecodeStatus::ok;
  result.position = task.in_bytes < wanted ? task.in_bytes : wanted;
  result.output_bytes = result.status == DecodeStatus::ok ? task.out_bytes : 0;
  return result;
}

}  // namespace penstock
