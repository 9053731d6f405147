// Strings of the table lie next to each other in the output, in the order of their codes: the place of each code's
// string is all that is kept.  Entry 258 + k is the string of code k after a Clear and one byte more.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "codec/support.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint32_t kClear = 256, kEnd = 257, kFirst = 258, kTable = 4096;
constexpr std::uint32_t kMaxEntries = kTable - kFirst;

/// Takes codes from bytes, several at a time.
template <LzwVariant kVariant>
class Codes {
 public:
  explicit Codes(ByteView in) : in_(in) {}
  /// The next code; false: the bytes end.
  bool next(std::uint32_t width, std::uint32_t& code) {
    if (held_ < width && !fill(width)) return false;
    if constexpr (kVariant == LzwVariant::standard) {
      code = static_cast<std::uint32_t>(bits_ >> (64 - width));
      bits_ <<= width;
    } else {
      code = static_cast<std::uint32_t>(bits_ & ((1U << width) - 1));
      bits_ >>= width;
    }
    held_ -= width;
    return true;
  }
  /// Of the byte that the last code ended in.
  [[nodiscard]] std::uint64_t byte() const {
    const std::uint64_t used = at_ - held_ / 8;
    return used == 0 ? 0 : used - 1;
  }

 private:
  bool fill(std::uint32_t width) {
    if (in_.size() - at_ >= 8) {  // as many whole bytes as there is room for
      std::uint64_t word = 0;
      std::memcpy(&word, in_.data() + at_, 8);
      if constexpr (kVariant == LzwVariant::standard)
        bits_ |= __builtin_bswap64(word) >> held_;
      else
        bits_ |= word << held_;
      const std::uint32_t bytes = (64 - held_) / 8;
      at_ += bytes;
      held_ += bytes * 8;
      if constexpr (kVariant == LzwVariant::standard)
        bits_ &= held_ == 64 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> held_);
      else
        bits_ &= held_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << held_) - 1;
      return true;
    }
    while (held_ < width && at_ < in_.size()) {
      const auto byte = static_cast<std::uint64_t>(in_[at_++]);
      if constexpr (kVariant == LzwVariant::standard)
        bits_ |= byte << (56 - held_);
      else
        bits_ |= byte << held_;
      held_ += 8;
    }
    return held_ >= width;
  }

  ByteView in_;
  std::uint64_t at_ = 0;    // of the next byte
  std::uint64_t bits_ = 0;  // not taken yet, from the top (standard) or the bottom (old style) on
  std::uint32_t held_ = 0;
};

/// The bits of a code that follows `codes` codes after a Clear.
template <LzwVariant kVariant>
std::uint32_t width_after(std::uint32_t codes) {
  const std::uint32_t next = kFirst + codes - (kVariant == LzwVariant::standard ? 0 : 1);
  return next >= 2048 ? 12 : next >= 1024 ? 11 : next >= 512 ? 10 : 9;
}

/// `bytes` from `from` on to `to`, which lies behind it by `bytes` - 1 or more; `left`: room from `to` on.
void copy_string(const std::byte* from, std::byte* to, std::uint64_t bytes, std::uint64_t left) {
  if (bytes <= 16 && left >= 16) {
    std::array<std::byte, 16> words;
    std::memcpy(words.data(), from, 16);  // what is not of the string is written over by the next one
    std::memcpy(to, words.data(), 16);
    to[bytes - 1] = bytes == 1 || from + bytes - 1 != to ? to[bytes - 1] : *from;
    return;
  }
  std::memcpy(to, from, bytes - 1);
  to[bytes - 1] = from[bytes - 1];  // perhaps the first byte of what was just written
}

template <LzwVariant kVariant>
Status decode(ByteView in, ByteSpan out) {
  Codes<kVariant> codes(in);
  std::array<std::uint64_t, kMaxEntries + 1> place;  // in the output, of the string of each code after the Clear
  std::uint32_t count = 0;  // codes after the Clear, as far as they add entries: one more than those
  std::uint32_t width = 9;
  bool begun = false;
  for (std::uint64_t made = 0; made < out.size();) {
    std::uint32_t code = 0;
    if (!codes.next(width, code))
      return corrupt(
          fmt::format("the LZW codes end at byte {}, with {} of {} bytes made", in.size(), made, out.size()));
    if (code == kClear) {
      begun = true;
      count = 0;
      width = 9;
      continue;
    }
    if (!begun) return corrupt_at("LZW without a Clear code at the beginning", codes.byte());
    if (code == kEnd)
      return corrupt(
          fmt::format("the LZW end code stands at byte {}, with {} of {} bytes made", codes.byte(), made, out.size()));
    if (count <= kMaxEntries) place[count] = made;
    if (code < kClear) {
      out[made++] = static_cast<std::byte>(code);
    } else {
      const std::uint32_t entry = code - kFirst;
      if (entry >= count) return corrupt_at(fmt::format("LZW code {} is not in the table yet", code), codes.byte());
      const std::uint64_t from = place[entry], left = out.size() - made;
      const std::uint64_t bytes = std::min(place[entry + 1] - from + 1, left);
      copy_string(out.data() + from, out.data() + made, bytes, left);
      made += bytes;
    }
    if (count <= kMaxEntries) width = width_after<kVariant>(++count);
  }
  return {};
}

}  // namespace

bool is_old_style_lzw(ByteView first_bytes) {
  return first_bytes.size() >= 2 && first_bytes[0] == std::byte{0} && (first_bytes[1] & std::byte{1}) != std::byte{0};
}

Status decode_lzw(ByteView in, ByteSpan out, LzwVariant variant) {
  return variant == LzwVariant::standard ? decode<LzwVariant::standard>(in, out)
                                         : decode<LzwVariant::old_style>(in, out);
}

}  // namespace penstock::tiff
