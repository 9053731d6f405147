// LZ4 frames of liblz4 and what it makes of frames.
#pragma once
#include <lz4frame.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::test {

struct FrameOptions {
  LZ4F_blockSizeID_t block = LZ4F_max64KB;
  bool linked = false, block_sums = false, content_sum = false, has_size = false;
  int level = 0;
};

inline std::vector<std::uint8_t> make_frame(const std::vector<std::uint8_t>& data, const FrameOptions& options) {
  LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
  p.frameInfo.blockSizeID = options.block;
  p.frameInfo.blockMode = options.linked ? LZ4F_blockLinked : LZ4F_blockIndependent;
  p.frameInfo.blockChecksumFlag = options.block_sums ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
  p.frameInfo.contentChecksumFlag = options.content_sum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  p.frameInfo.contentSize = options.has_size ? data.size() : 0;
  p.compressionLevel = options.level;
  std::vector<std::uint8_t> out(LZ4F_compressBound(data.size(), &p) + LZ4F_HEADER_SIZE_MAX);
  LZ4F_cctx* context = nullptr;
  LZ4F_createCompressionContext(&context, LZ4F_VERSION);
  // Not LZ4F_compressFrame: it makes small blocks and independent ones where it can.
  std::size_t n = LZ4F_compressBegin(context, out.data(), out.size(), &p);
  n += LZ4F_compressUpdate(context, out.data() + n, out.size() - n, data.data(), data.size(), nullptr);
  n += LZ4F_compressEnd(context, out.data() + n, out.size() - n, nullptr);
  LZ4F_freeCompressionContext(context);
  out.resize(n);
  return out;
}

/// nullopt: liblz4 refuses the frames, or they do not make `wanted` bytes.
inline std::optional<std::vector<std::uint8_t>> by_liblz4_frame(const std::vector<std::uint8_t>& in,
                                                                std::uint32_t wanted) {
  std::vector<std::uint8_t> out(std::size_t{wanted} + 1);
  LZ4F_dctx* context = nullptr;
  LZ4F_createDecompressionContext(&context, LZ4F_VERSION);
  std::size_t used = 0, made = 0, hint = 1;
  while (used < in.size() || hint != 0) {
    std::size_t room = out.size() - made, size = in.size() - used;
    hint = LZ4F_decompress(context, out.data() + made, &room, in.data() + used, &size, nullptr);
    made += room;
    used += size;
    if (LZ4F_isError(hint) || (room == 0 && size == 0)) {
      hint = 1;
      break;
    }
  }
  LZ4F_freeDecompressionContext(context);
  if (hint != 0 || used != in.size() || made != wanted) return std::nullopt;
  out.resize(made);
  return out;
}

}  // namespace penstock::test
