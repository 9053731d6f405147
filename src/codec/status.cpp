#include "codec/status.hpp"

namespace penstock {

std::string_view decode_status_text(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::ok: return "decoded";
    case DecodeStatus::truncated_input: return "the input ends inside a sequence";
    case DecodeStatus::output_too_small: return "more bytes come out than the chunk has";
    case DecodeStatus::short_output: return "fewer bytes come out than the chunk has";
    case DecodeStatus::bad_offset: return "a match starts before the output, or has offset 0";
    case DecodeStatus::bad_end: return "the last sequences break the rules for the end of a block";
    case DecodeStatus::bad_header: return "the size in front of the data is not that of the chunk";
    case DecodeStatus::too_large: return "larger than the decoder's limit";
    case DecodeStatus::bad_magic: return "no frame begins here";
    case DecodeStatus::bad_block: return "the header of a block is wrong";
    case DecodeStatus::bad_table: return "the description of a table of codes is wrong, or a code is not in it";
    case DecodeStatus::bad_stream: return "an entropy-coded stream does not hold what its block needs";
    case DecodeStatus::bad_checksum: return "a checksum is wrong";
    case DecodeStatus::needs_dictionary: return "the frame needs a dictionary";
    case DecodeStatus::unsupported_feature: return "the frame uses a feature that is not supported";
    case DecodeStatus::scratch_too_small: return "the chunk is cut into more blocks than the decoder has scratch for";
    case DecodeStatus::legacy_frame: return "an LZ4 frame of the legacy format, which is not decoded";
    case DecodeStatus::bad_padding: return "the number of padding bits is not that of the chunk";
    case DecodeStatus::refused_by_nvcomp: return "nvCOMP does not decode it";
    case DecodeStatus::not_run: return "the decoder did not run";
  }
  return "unknown status";
}

namespace {

ErrorCode error_code(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::not_run: return ErrorCode::internal;
    case DecodeStatus::needs_dictionary:
    case DecodeStatus::legacy_frame:
    case DecodeStatus::unsupported_feature:
    case DecodeStatus::too_large:
    case DecodeStatus::scratch_too_small: return ErrorCode::unsupported;
    default: return ErrorCode::corrupt_data;
  }
}

}  // namespace

Status to_status(const ChunkStatus& status, std::string_view codec) {
  if (status.status == DecodeStatus::ok) return {};
  return Error(error_code(status.status), "codec " + std::string(codec) + ": " +
                                              std::string(decode_status_text(status.status)) + " at byte " +
                                              std::to_string(status.position));
}

}  // namespace penstock
