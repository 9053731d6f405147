// LZ4 frames of blocks that no encoder makes (codec/lz_maker.hpp).
#pragma once
#include "codec/lz4_frame/xxh32.hpp"
#include "codec/lz_maker.hpp"
#include "device/team.hpp"

namespace penstock::test {

inline std::uint32_t xxh32_of(const std::uint8_t* data, std::size_t size) {
  lz4_frame::Xxh32Shared shared;
  return lz4_frame::xxh32(HostTeam<>(), data, static_cast<std::uint32_t>(size), shared);
}

/// Appends a frame of `size` bytes of content, and those to `content`.
inline void add_lz4_frame(Choices& choices, std::size_t size, Data& frame, Data& content) {
  const bool linked = choices.one_in(2), block_sums = choices.one_in(3), has_size = choices.one_in(3),
             content_sum = choices.one_in(2);
  const std::size_t begin = content.size(), header = frame.size() + 4;
  put_little(frame, 0x184D2204, 4);
  frame.push_back(static_cast<std::uint8_t>(64 | (linked ? 0 : 32) | (block_sums ? 16 : 0) | (has_size ? 8 : 0) |
                                            (content_sum ? 4 : 0)));
  const std::uint32_t size_code = 4 + choices.below(4);
  frame.push_back(static_cast<std::uint8_t>(size_code << 4));
  if (has_size) put_little(frame, size, 8);
  frame.push_back(static_cast<std::uint8_t>(xxh32_of(frame.data() + header, frame.size() - header) >> 8));
  for (std::size_t left = size; left > 0;) {
    const std::size_t n = std::min<std::size_t>({left, std::size_t{1} << 16, 1 + choices.below(left)});
    left -= n;
    const std::size_t at = content.size();
    const auto steps = make_steps(choices, kLz4Limits, n, linked ? begin : at, content);
    const bool stored = choices.one_in(6);
    const Data block =
        stored ? Data(content.begin() + static_cast<std::ptrdiff_t>(at), content.end()) : lz4_block(steps, content, at);
    put_little(frame, block.size() | (stored ? std::uint64_t{1} << 31 : 0), 4);
    const std::size_t bytes = frame.size();
    frame.insert(frame.end(), block.begin(), block.end());
    if (block_sums) put_little(frame, xxh32_of(frame.data() + bytes, block.size()), 4);
  }
  put_little(frame, 0, 4);
  if (content_sum) put_little(frame, xxh32_of(content.data() + begin, size), 4);
}

/// Appends a frame that is skipped.
inline void add_skippable_lz4_frame(Choices& choices, Data& frame) {
  put_little(frame, 0x184D2A50 + choices.below(16), 4);
  const std::uint32_t n = choices.below(20);
  put_little(frame, n, 4);
  for (std::uint32_t i = 0; i < n; ++i) frame.push_back(static_cast<std::uint8_t>(choices.chance()));
}

}  // namespace penstock::test
