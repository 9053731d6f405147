// Entry 258 + k of the table is the string of code k after a Clear and the first byte of that of code k + 1, which lies
// behind it in the output: a place and a length.  So decoding a code is copying from where its string was made, and
// nearly all strings are so short that eight bytes do it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "codec/support.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint32_t kClear = 256, kEnd = 257, kFirst = 258, kTable = 4096;

/// Takes codes from bytes, several at a time.
template <LzwVariant kVariant>
class Codes {
 public:
  explicit Codes(ByteView in) : in_(in) {}
  /// The next code; false: the bytes end.
  bool next(std::uint32_t width, std::uint32_t& code) {
    if (held_ < width && !hold()) {
      while (held_ < width && at_ < in_.size()) add(static_cast<std::uint64_t>(in_[at_++]), 8);
      if (held_ < width) return false;
    }
    code = peek(width);
    drop(width);
    return true;
  }
  /// Whether 56 bits are there to `peek` and `drop`; not near the end.
  bool hold() {
    if (in_.size() - at_ < 8) return false;
    std::uint64_t word = 0;
    std::memcpy(&word, in_.data() + at_, 8);
    // Bits above those that count are right as well, and come again.
    if constexpr (kVariant == LzwVariant::standard)
      bits_ |= __builtin_bswap64(word) >> held_;
    else
      bits_ |= word << held_;
    at_ += (63 - held_) / 8;
    held_ |= 56;
    return true;
  }
  [[nodiscard]] std::uint32_t peek(std::uint32_t width) const {
    if constexpr (kVariant == LzwVariant::standard)
      return static_cast<std::uint32_t>(bits_ >> (64 - width));
    else
      return static_cast<std::uint32_t>(bits_ & ((1U << width) - 1));
  }
  void drop(std::uint32_t width) {
    if constexpr (kVariant == LzwVariant::standard)
      bits_ <<= width;
    else
      bits_ >>= width;
    held_ -= width;
  }
  /// Of the byte that the last code ended in.
  [[nodiscard]] std::uint64_t byte() const {
    const std::uint64_t used = at_ - held_ / 8;
    return used == 0 ? 0 : used - 1;
  }

 private:
  void add(std::uint64_t byte, std::uint32_t bits) {
    if constexpr (kVariant == LzwVariant::standard)
      bits_ |= byte << (56 - held_);
    else
      bits_ |= byte << held_;
    held_ += bits;
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

/// The strings of all codes: the place, counted from the output at the last Clear, above the length.  A literal is its
/// byte instead of a place; codes that are no strings have length 0.  Entries from the next code on are of the time
/// before the last Clear.
struct Strings {
  static constexpr std::uint32_t kLengthBits = 16;  // no string has more than 3,839 bytes
  std::array<std::uint64_t, kTable> of{};

  Strings() {
    for (std::uint32_t c = 0; c < kClear; ++c) set(c, c, 1);
  }
  void set(std::uint32_t code, std::uint64_t place, std::uint64_t length) { of[code] = place << kLengthBits | length; }
  static std::uint64_t place(std::uint64_t string) { return string >> kLengthBits; }
  static std::uint64_t length(std::uint64_t string) { return string & ((1U << kLengthBits) - 1); }
};

static_assert(std::endian::native == std::endian::little, "a literal is stored as a number of eight bytes");

template <LzwVariant kVariant>
class Decoder {
 public:
  Decoder(ByteView in, ByteSpan out) : codes_(in), in_(in), out_(out) {}

  Status run() {
    while (made_ < out_.size()) {
      switch (width_) {
        case 9: quickly<9>(); break;
        case 10: quickly<10>(); break;
        case 11: quickly<11>(); break;
        default: quickly<12>(); break;
      }
      if (made_ < out_.size()) PENSTOCK_TRY(step());
    }
    return {};
  }

 private:
  /// Codes of one width whose strings are finished, as long as there is room in the output to write more than them.
  template <std::uint32_t kWidth>
  void quickly() {
    constexpr std::uint32_t until = std::min(kTable, (1U << kWidth) + kLate);  // where codes become longer
    if (!begun_ || out_.size() - made_ < kRoom) return;
    // In registers: a byte that is written may be any member's, for all that the compiler knows.
    Codes<kVariant> codes = codes_;
    std::byte* to = out_.data() + made_;
    std::byte* const begin = out_.data() + cleared_;
    const std::byte* const end = out_.data() + out_.size();
    std::uint32_t next = next_;
    bool goes_on = true;
    while (goes_on && next + kAtOnce <= until && static_cast<std::uint64_t>(end - to) >= kRoom && codes.hold()) {
#pragma GCC unroll 4
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        const std::uint32_t code = codes.peek(kWidth);
        const std::uint64_t string = strings_.of[code], length = Strings::length(string);
        if (code + 1 >= next || length == 0) {  // not finished, or no string
          goes_on = false;
          break;
        }
        if (length > kChunk && !copy_long(to, begin + Strings::place(string), length, end)) {
          goes_on = false;
          break;
        }
        // Literals and strings come as they please: no branch between them.
        const std::uint64_t place = Strings::place(string);
        const auto is_string =
            static_cast<std::uint64_t>((std::int64_t{kClear - 1} - code) >> 63);  // all bits, or none
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, begin + (place & is_string), kChunk);
        bytes = (bytes & is_string) | (place & ~is_string);
        std::memcpy(to, &bytes, kChunk);
        strings_.set(next, static_cast<std::uint64_t>(to - begin), length + 1);
        to += length;
        codes.drop(kWidth);
        ++next;
      }
    }
    codes_ = codes;
    made_ = static_cast<std::uint64_t>(to - out_.data());
    next_ = next;
    if (next == until && kWidth < 12) ++width_;
  }
  /// All but the first bytes of a string, and perhaps more; false: there is no room for more.
  static bool copy_long(std::byte* to, const std::byte* from, std::uint64_t length, const std::byte* end) {
    if (static_cast<std::uint64_t>(end - to) < length + kRoom) return false;
    for (std::uint64_t i = kChunk; i < length; i += kChunk) std::memcpy(to + i, from + i, kChunk);
    return true;
  }

  /// One code, whatever it is.
  Status step() {
    std::uint32_t code = 0;
    if (!codes_.next(width_, code))
      return corrupt(
          fmt::format("the LZW codes end at byte {}, with {} of {} bytes made", in_.size(), made_, out_.size()));
    if (code == kClear) {
      begun_ = true;
      cleared_ = made_;
      next_ = kFirst;
      width_ = 9;
      return {};
    }
    if (!begun_) return corrupt_at("LZW without a Clear code at the beginning", codes_.byte());
    if (code == kEnd)
      return corrupt(fmt::format("the LZW end code stands at byte {}, with {} of {} bytes made", codes_.byte(), made_,
                                 out_.size()));
    if (code >= next_) return corrupt_at(fmt::format("LZW code {} is not in the table yet", code), codes_.byte());
    const std::uint64_t where = made_;
    write(code);
    if (next_ < kTable) {
      strings_.set(next_, where - cleared_, Strings::length(strings_.of[code]) + 1);
      width_ = width_after<kVariant>(++next_ - kFirst);
    }
    return {};
  }
  /// The string of a code, as far as there is room.
  void write(std::uint32_t code) {
    const std::uint64_t string = strings_.of[code];
    std::byte* const to = out_.data() + made_;
    if (code < kClear) {
      *to = static_cast<std::byte>(code);
      ++made_;
      return;
    }
    // Its last byte is perhaps the first of what is written here.
    const std::uint64_t bytes = std::min<std::uint64_t>(Strings::length(string), out_.size() - made_);
    const std::byte* const from = out_.data() + cleared_ + Strings::place(string);
    std::memcpy(to, from, bytes - 1);
    to[bytes - 1] = from[bytes - 1];
    made_ += bytes;
  }

  static constexpr std::uint32_t kLate = kVariant == LzwVariant::standard ? 0 : 1;
  static constexpr std::uint32_t kAtOnce = 4;  // codes that fit into what Codes holds
  static constexpr std::uint64_t kChunk = 8;   // bytes that are copied at once
  static constexpr std::uint64_t kRoom = (kAtOnce + 1) * kChunk;
  Codes<kVariant> codes_;
  ByteView in_;
  ByteSpan out_;
  Strings strings_;
  std::uint64_t made_ = 0;
  std::uint64_t cleared_ = 0;    // `made_` at the last Clear
  std::uint32_t next_ = kFirst;  // the entry that the next code begins and the one behind it finishes
  std::uint32_t width_ = 9;
  bool begun_ = false;
};

template <LzwVariant kVariant>
Status decode(ByteView in, ByteSpan out) {
  return Decoder<kVariant>(in, out).run();
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
