#include "core/utf8.hpp"

#include <cstring>

namespace penstock {
namespace {

/// Length of the well-formed sequence at `at`, 0 when there is none.  Table 3-7 of the Unicode standard.
std::size_t sequence_length(const std::uint8_t* at, std::size_t left) {
  const std::uint8_t lead = at[0];
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || left < length) return 0;
  // Overlong forms, surrogates and what lies past U+10FFFF show in the second byte.
  const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (at[1] < low || at[1] > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((at[i] & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::optional<std::size_t> find_bad_utf8(ByteView text) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  std::size_t i = 0;
  while (i < text.size()) {
    // Eight ASCII characters at a time: most text is nothing else.
    std::uint64_t eight = 0;
    if (text.size() - i >= sizeof eight) {
      std::memcpy(&eight, bytes + i, sizeof eight);
      if ((eight & 0x8080808080808080U) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const std::size_t length = sequence_length(bytes + i, text.size() - i);
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

}  // namespace penstock
