// DEFLATE streams of a known size decoded by one thread, several symbols at a look.
#pragma once
#include <cstdint>
#include <optional>

#include "penstock/bytes.hpp"

namespace penstock::deflate {

/// Outputs from which on making the tables is repaid: they are twice as large as libdeflate's.
inline constexpr std::uint64_t kInflateBytes = std::uint64_t{32} << 10;

enum class Streams : std::uint8_t {
  all,
  that_gain  ///< unless the first codes promise nothing: quicker than libdeflate are differences of images, small
             ///< numbers
};

/// Decodes a stream without a container that makes exactly `out.size()` bytes.  Returns the bytes of `in` that it took;
/// nullopt where it is damaged, makes more or fewer, or gains nothing: another decoder does it or says why not, and
/// `out` may hold anything.  What it takes zlib takes, and makes the same of it.
[[nodiscard]] std::optional<std::uint64_t> inflate_whole(ByteView in, ByteSpan out, Streams which);

}  // namespace penstock::deflate
