// Entry 258 + k of the table is the string of code k after a Clear and the first byte of that of code k + 1, which lies
// behind it in the output.  Most strings are short: their bytes are kept as a number, so that nearly every code is one
// look into the table and one store.  Longer ones are copied from where they were made.
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
    if (held_ < width && !fill(width)) return false;
    code = peek(width);
    drop(width);
    return true;
  }
  /// Whether so many bits, at most 57, are there to `peek` and `drop` without a look; not near the end.
  bool hold(std::uint32_t bits) { return held_ >= bits || (in_.size() - at_ >= 8 && fill(bits)); }
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

/// A string of the table: its first bytes at hand, the rest where it was made.
struct String {
  std::uint64_t head = 0;   ///< the first bytes, in memory's order; 0 behind the last
  std::uint32_t place = 0;  ///< in the output, counted from the last Clear, of strings made of others
  std::uint32_t size = 0;   ///< 0: no string has this code
};
constexpr std::uint32_t kAtHand = 8;

/// The string of `before`, which lies at `where`, and the byte `last`.
String longer(const String& before, std::uint64_t where, std::uint64_t last) {
  const std::uint64_t byte = before.size < kAtHand ? (last & 0xff) << (8 * before.size) : 0;
  return {before.head | byte, static_cast<std::uint32_t>(where), before.size + 1};
}

/// The strings of all codes.  Those from the next code on are of the time before the last Clear.
struct Strings {
  std::array<String, kTable> of;

  Strings() {
    for (std::uint32_t c = 0; c < kClear; ++c) of[c] = {c, 0, 1};
  }
};

static_assert(std::endian::native == std::endian::little, "the head of a string is stored as one number");

template <LzwVariant kVariant>
class Decoder {
 public:
  Decoder(ByteView in, ByteSpan out) : codes_(in), in_(in), out_(out) {}

  Status run() {
    while (made_ < out_.size()) {
      quickly();
      if (made_ < out_.size()) PENSTOCK_TRY(step());
    }
    return {};
  }

 private:
  /// Codes whose strings are finished, as long as there is room in the output to write more than them.
  void quickly() {
    if (before_ == kNone || next_ > kTable) return;
    // In registers: a byte that is written may be any member's, for all that the compiler knows.
    Codes<kVariant> codes = codes_;
    std::byte* to = out_.data() + made_;
    std::byte* const begin = out_.data() + cleared_;
    const std::byte* const end = out_.data() + out_.size();
    const std::byte* const last = end - std::min<std::uint64_t>(out_.size(), kAtOnce * kAtHand);
    std::uint32_t next = next_, width = width_, code = before_;
    std::uint32_t grows = (1U << width) + kLate;  // the next code with which codes become longer
    String before = strings_.of[before_];
    std::uint64_t where = strings_.of[next_ - 1].place;
    bool goes_on = true;
    while (goes_on && next < kTable - kAtOnce && to < last && codes.hold(kAtOnce * 12)) {
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        const std::uint32_t here = codes.peek(width);
        const String string = strings_.of[here];
        if (string.size == 0 || here + 1 >= next) {  // no string, or not finished
          goes_on = false;
          break;
        }
        if (string.size <= kAtHand) {
          std::memcpy(to, &string.head, sizeof string.head);
        } else if (static_cast<std::uint64_t>(end - to) >= string.size + kAtOnce * kAtHand) {
          std::memcpy(to, begin + string.place, string.size);
        } else {
          goes_on = false;
          break;
        }
        codes.drop(width);
        strings_.of[next - 1] = longer(before, where, string.head);
        where = static_cast<std::uint64_t>(to - begin);
        to += string.size;
        before = string;
        code = here;
        if (++next == grows) {
          ++width;
          grows = (1U << width) + kLate;
        }
      }
    }
    strings_.of[next - 1] = longer(before, where, before.head);
    codes_ = codes;
    made_ = static_cast<std::uint64_t>(to - out_.data());
    next_ = next;
    width_ = width;
    before_ = code;
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
      before_ = kNone;
      next_ = kFirst;
      width_ = 9;
      return {};
    }
    if (!begun_) return corrupt_at("LZW without a Clear code at the beginning", codes_.byte());
    if (code == kEnd)
      return corrupt(fmt::format("the LZW end code stands at byte {}, with {} of {} bytes made", codes_.byte(), made_,
                                 out_.size()));
    if (code >= next_) return corrupt_at(fmt::format("LZW code {} is not in the table yet", code), codes_.byte());
    if (before_ != kNone && next_ <= kTable) {  // the entry before the next one ends with this string's first byte
      String& begun = strings_.of[next_ - 1];
      begun = longer(strings_.of[before_], begun.place, strings_.of[code].head);
    }
    const std::uint64_t where = made_;
    write(code);
    before_ = code;
    if (next_ < kTable) strings_.of[next_] = longer(strings_.of[code], where - cleared_, strings_.of[code].head);
    if (next_ <= kTable) width_ = width_after<kVariant>(++next_ - kFirst);
    return {};
  }
  /// The string of a code, as far as there is room.
  void write(std::uint32_t code) {
    const String& string = strings_.of[code];
    const std::uint64_t bytes = std::min<std::uint64_t>(string.size, out_.size() - made_);
    std::byte* const to = out_.data() + made_;
    std::memcpy(to, &string.head, std::min<std::uint64_t>(bytes, kAtHand));
    if (bytes > kAtHand) {
      // Its last byte is perhaps the first of what was just written.
      const std::byte* const from = out_.data() + cleared_ + string.place;
      std::memcpy(to + kAtHand, from + kAtHand, bytes - 1 - kAtHand);
      to[bytes - 1] = from[bytes - 1];
    }
    made_ += bytes;
  }

  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::uint32_t kLate = kVariant == LzwVariant::standard ? 0 : 1;
  static constexpr std::uint32_t kAtOnce = 4;  // codes that fit into what Codes holds
  Codes<kVariant> codes_;
  ByteView in_;
  ByteSpan out_;
  Strings strings_;
  std::uint64_t made_ = 0;
  std::uint64_t cleared_ = 0;     // `made_` at the last Clear
  std::uint32_t next_ = kFirst;   // the entry that the next code begins; the one before it is not finished
  std::uint32_t before_ = kNone;  // the code before; none after a Clear
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
