#include <algorithm>
#include <array>
#include <vector>

#include "codec/tiff_lzw/tiff_lzw.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint32_t kClear = 256, kEnd = 257, kFirst = 258;
constexpr std::uint32_t kLastEntry = 4093;  // a Clear follows when it is made, as libtiff does

/// Writes codes, the highest bits first.
class CodeWriter {
 public:
  explicit CodeWriter(std::byte* to) : to_(to) {}
  void put(std::uint32_t code, std::uint32_t width) {
    bits_ = bits_ << width | code;
    for (held_ += width; held_ >= 8; held_ -= 8) to_[made_++] = static_cast<std::byte>(bits_ >> (held_ - 8));
  }
  std::uint64_t finish() {
    if (held_ > 0) put(0, 8 - held_);
    return made_;
  }

 private:
  std::byte* to_;
  std::uint64_t bits_ = 0, made_ = 0;
  std::uint32_t held_ = 0;
};

/// The entries of the table: (string, byte) -> code, by open addressing.
class Table {
 public:
  void clear() { keys_.fill(kFree); }
  /// The code of the string and the byte; or the place where it is to be added.
  std::pair<bool, std::size_t> find(std::uint32_t string, std::uint32_t byte) const {
    const std::uint32_t key = string << 8 | byte;
    std::size_t at = (key * 2654435761U) >> 19;
    while (keys_[at] != kFree && keys_[at] != key) at = (at + 1) % kSlots;
    return {keys_[at] == key, at};
  }
  [[nodiscard]] std::uint32_t code(std::size_t at) const { return codes_[at]; }
  void add(std::size_t at, std::uint32_t string, std::uint32_t byte, std::uint32_t code) {
    keys_[at] = string << 8 | byte;
    codes_[at] = static_cast<std::uint16_t>(code);
  }

 private:
  static constexpr std::size_t kSlots = 8192;  // twice the entries
  static constexpr std::uint32_t kFree = ~0U;
  std::array<std::uint32_t, kSlots> keys_;
  std::array<std::uint16_t, kSlots> codes_;
};

std::uint32_t width_for(std::uint32_t next) { return next >= 2048 ? 12 : next >= 1024 ? 11 : next >= 512 ? 10 : 9; }

}  // namespace

Status encode_lzw(ByteView in, Bytes& out) {
  // Each byte a code of 12 bits at most, a Clear for every 3,836 of them, the first Clear and the end.
  PENSTOCK_TRY(out.resize_discard(in.size() + in.size() / 2 + in.size() / 2048 + 16));
  CodeWriter codes(out.data());
  Table table;
  table.clear();
  codes.put(kClear, 9);
  std::uint32_t next = kFirst;  // the entry that the decoder makes with the code after the one to be written
  std::size_t at = 0;
  while (at < in.size()) {
    auto string = static_cast<std::uint32_t>(in[at++]);
    for (; at < in.size(); ++at) {
      const auto byte = static_cast<std::uint32_t>(in[at]);
      const auto [there, slot] = table.find(string, byte);
      if (!there) {
        table.add(slot, string, byte, next);
        break;
      }
      string = table.code(slot);
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
