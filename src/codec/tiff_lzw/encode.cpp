#include <array>
#include <bit>
#include <cstring>

#include "codec/tiff_lzw/tiff_lzw.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint32_t kClear = 256, kEnd = 257, kFirst = 258;
constexpr std::uint32_t kLastEntry = 4093;  // a Clear follows when it is made, as libtiff does

/// Writes codes, the highest bits first, four bytes at a time: there must be room for as many behind the last.
class CodeWriter {
 public:
  explicit CodeWriter(std::byte* to) : begin_(to), to_(to) {}
  void put(std::uint32_t code, std::uint32_t width) {
    bits_ = bits_ << width | code;
    held_ += width;
    if (held_ < 32) return;
    held_ -= 32;
    write(static_cast<std::uint32_t>(bits_ >> held_));
  }
  std::uint64_t finish() {
    const std::uint32_t bytes = (held_ + 7) / 8;
    if (held_ > 0) write(static_cast<std::uint32_t>(bits_ << (32 - held_)));
    return static_cast<std::uint64_t>(to_ - begin_) - (held_ > 0 ? 4 - bytes : 0);
  }

 private:
  void write(std::uint32_t word) {
    word = __builtin_bswap32(word);
    std::memcpy(to_, &word, sizeof word);
    to_ += sizeof word;
  }
  std::byte *begin_, *to_;
  std::uint64_t bits_ = 0;
  std::uint32_t held_ = 0;
};
static_assert(std::endian::native == std::endian::little);

/// The entries of the table: (string, byte) -> code, by open addressing.  A slot has both, 20 and 12 bits.
class Table {
 public:
  Table() { clear(); }
  void clear() { slots_.fill(kFree); }
  /// The code of the string and the byte; else they become the entry `next`, and kNone.
  std::uint32_t find_or_add(std::uint32_t string, std::uint32_t byte, std::uint32_t next) {
    const std::uint32_t key = string << 8 | byte;
    for (std::size_t at = (key * 2654435761U) >> 19;; at = (at + 1) % kSlots) {
      const std::uint32_t slot = slots_[at];
      if (slot >> 12 == key) return slot & 0xfff;
      if (slot != kFree) continue;
      slots_[at] = key << 12 | next;
      return kNone;
    }
  }
  static constexpr std::uint32_t kNone = ~0U;

 private:
  static constexpr std::size_t kSlots = 8192;    // twice the entries
  static constexpr std::uint32_t kFree = kNone;  // of a string that has no code: the last one is kLastEntry
  std::array<std::uint32_t, kSlots> slots_;
};

std::uint32_t width_for(std::uint32_t next) { return next >= 2048 ? 12 : next >= 1024 ? 11 : next >= 512 ? 10 : 9; }

}  // namespace

Status encode_lzw(ByteView in, Bytes& out) {
  // Each byte a code of 12 bits at most, a Clear for every 3,836 of them, the first Clear and the end.
  PENSTOCK_TRY(out.resize_discard(in.size() + in.size() / 2 + in.size() / 2048 + 32));
  CodeWriter codes(out.data());
  Table table;
  codes.put(kClear, 9);
  std::uint32_t next = kFirst;  // the entry that the decoder makes with the code after the one to be written
  std::size_t at = 0;
  while (at < in.size()) {
    auto string = static_cast<std::uint32_t>(in[at++]);
    for (; at < in.size(); ++at) {
      const auto byte = static_cast<std::uint32_t>(in[at]);
      const std::uint32_t longer = table.find_or_add(string, byte, next);
      if (longer == Table::kNone) break;
      string = longer;
    }
    codes.put(string, width_for(next));
    if (next++ < kLastEntry) continue;
    codes.put(kClear, width_for(next));
    table.clear();
    next = kFirst;
  }
  codes.put(kEnd, width_for(next));
  return out.resize(codes.finish());
}

}  // namespace penstock::tiff
