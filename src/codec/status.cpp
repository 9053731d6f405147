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
    case DecodeStatus::too_large: return "larger than the decoder's limit of 2 GiB";
    case DecodeStatus::not_run: return "the decoder did not run";
  }
  return "unknown status";
}

Status to_status(const ChunkStatus& status, std::string_view codec) {
  if (status.status == DecodeStatus::ok) return {};
  const ErrorCode code = status.status == DecodeStatus::not_run ? ErrorCode::internal : ErrorCode::corrupt_data;
  return Error(code, "codec " + std::string(codec) + ": " + std::string(decode_status_text(status.status)) +
                         " at byte " + std::to_string(status.position));
}

}  // namespace penstock
