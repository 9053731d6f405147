// DEFLATE streams that are right and that no encoder makes: codes by chance, with a single code or none, runs of code
// lengths over every boundary, empty blocks, long forms; raw, or as zlib or gzip with all optional fields.
// Sources: RFC 1951, RFC 1950, RFC 1952.
#pragma once
#include <zlib.h>

#include <array>

#include "codec/deflate/decode.hpp"
#include "codec/lz_maker.hpp"

namespace penstock::test {

/// Bits, lowest first.
class BitWriter {
 public:
  explicit BitWriter(Data& out) : out_(&out) {}
  void put(std::uint32_t value, std::uint32_t bits) {
    held_ |= static_cast<std::uint64_t>(value) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, held_ >>= 8) out_->push_back(static_cast<std::uint8_t>(held_));
  }
  /// Fills the last byte up.
  void align(std::uint32_t filling) {
    if (count_ > 0) put(filling & ((1u << (8 - count_)) - 1), 8 - count_);
  }

 private:
  Data* out_;
  std::uint64_t held_ = 0;
  std::uint32_t count_ = 0;
};

/// A canonical code of DEFLATE.
struct DeflateCode {
  std::vector<std::uint8_t> length;  ///< of each symbol's code; 0: none
  std::vector<std::uint16_t> value;  ///< in the order in which its bits are written

  void number() {
    value.assign(length.size(), 0);
    std::array<std::uint32_t, 16> next{};  // of each length
    for (const std::uint8_t bits : length) ++next[bits];
    for (std::uint32_t bits = 1, first = 0; bits <= 15; ++bits) {
      const std::uint32_t behind = first + next[bits];
      next[bits] = first;
      first = behind << 1;
    }
    for (std::size_t s = 0; s < length.size(); ++s)
      if (const std::uint32_t bits = length[s]; bits != 0)
        value[s] = static_cast<std::uint16_t>(reverse_bits(next[bits]++) >> (32 - bits));
  }
  void put(BitWriter& to, std::uint32_t symbol) const { to.put(value[symbol], length[symbol]); }

  /// A code of at most `longest` bits with all `used` symbols and some others.  `one`: it may have a single code, of
  /// one bit, or none.
  static DeflateCode make(Choices& choices, const std::vector<bool>& used, std::uint32_t longest, bool one) {
    DeflateCode code;
    code.length.assign(used.size(), 0);
    std::vector<std::size_t> symbols;
    const std::uint32_t others = choices.one_in(2) ? 1000 : 1 + choices.below(30);
    for (std::size_t s = 0; s < used.size(); ++s)
      if (used[s] || choices.chance() % others == 1) symbols.push_back(s);
    if (symbols.empty() && (!one || choices.one_in(3))) symbols.push_back(choices.below(used.size()));
    if (symbols.size() == 1 && (!one || choices.one_in(3))) symbols.push_back((symbols[0] + 1) % used.size());
    std::vector<std::uint8_t> leaves(std::min<std::size_t>(symbols.size(), 2), 1);
    const std::uint32_t deep = choices.below(4);
    while (leaves.size() < symbols.size()) {  // splits a leaf: many of them the last one, so that codes get long
      std::size_t i = deep != 0 && choices.chance() % 4 < deep ? leaves.size() - 1 : choices.chance() % leaves.size();
      while (leaves[i] == longest) i = (i + 1) % leaves.size();
      leaves.push_back(++leaves[i]);
    }
    for (std::size_t i = leaves.size(); i > 1; --i) std::swap(leaves[i - 1], leaves[choices.chance() % i]);
    for (std::size_t i = 0; i < leaves.size(); ++i) code.length[symbols[i]] = leaves[i];
    code.number();
    return code;
  }
  static const DeflateCode& fixed_literals() {
    static const DeflateCode code = [] {
      DeflateCode made;
      for (int s = 0; s < 288; ++s)
        made.length.push_back(static_cast<std::uint8_t>(s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8));
      made.number();
      return made;
    }();
    return code;
  }
  static const DeflateCode& fixed_distances() {
    static const DeflateCode code = [] {
      DeflateCode made;
      made.length.assign(32, 5);
      made.number();
      return made;
    }();
    return code;
  }
};

/// A symbol and what its extra bits hold.
struct DeflateSymbol {
  std::uint32_t symbol, extra, extra_bits;
};
inline DeflateSymbol length_symbol(std::uint32_t length, bool long_form) {
  if (length == 258 && !long_form) return {285, 0, 0};
  const std::uint32_t n = length - 3;
  if (n < 8) return {257 + n, 0, 0};
  const std::uint32_t bits = high_bit(n) - 2;
  return {257 + 4 * bits + (n >> bits), n & ((1u << bits) - 1), bits};
}
inline DeflateSymbol distance_symbol(std::uint32_t distance) {
  const std::uint32_t n = distance - 1;
  if (n < 4) return {n, 0, 0};
  const std::uint32_t bits = high_bit(n) - 1;
  return {2 * bits + (n >> bits), n & ((1u << bits) - 1), bits};
}

/// Makes one stream after the other.
class DeflateMaker {
 public:
  explicit DeflateMaker(Choices& choices) : choices_(choices) {}
  Data stream, content;

  /// A raw stream, a zlib stream, or a member of gzip, of `size` bytes of content.
  void add(deflate::Container container, std::size_t size) {
    const std::size_t begin = content.size();
    if (container == deflate::Container::zlib) zlib_header();
    if (container == deflate::Container::gzip) gzip_header();
    blocks(size);
    const auto n = static_cast<uInt>(size);
    if (container == deflate::Container::zlib) {
      const auto sum = static_cast<std::uint32_t>(adler32(1, content.data() + begin, n));
      for (int k = 24; k >= 0; k -= 8) stream.push_back(static_cast<std::uint8_t>(sum >> k));
    } else if (container == deflate::Container::gzip) {
      put_little(stream, crc32(0, content.data() + begin, n), 4);
      put_little(stream, size, 4);
    }
  }

 private:
  void zlib_header() {
    const std::uint32_t first = choices_.below(8) << 4 | 8, level = choices_.below(4) << 6;
    const std::uint32_t rest = (first * 256 + level) % 31;
    stream.push_back(static_cast<std::uint8_t>(first));
    stream.push_back(static_cast<std::uint8_t>(level | (rest == 0 ? 0 : 31 - rest)));
  }
  void gzip_header() {
    const std::size_t begin = stream.size();
    const std::uint32_t flags = choices_.below(32);
    for (const std::uint32_t byte : {0x1fu, 0x8bu, 8u, flags}) stream.push_back(static_cast<std::uint8_t>(byte));
    for (int i = 0; i < 6; ++i) stream.push_back(static_cast<std::uint8_t>(choices_.chance()));
    if ((flags & 4) != 0) {  // extra field
      const std::uint32_t n = choices_.below(30);
      put_little(stream, n, 2);
      for (std::uint32_t i = 0; i < n; ++i) stream.push_back(static_cast<std::uint8_t>(choices_.chance()));
    }
    for (const std::uint32_t flag : {8u, 16u}) {  // name, comment
      if ((flags & flag) == 0) continue;
      for (std::uint32_t n = choices_.below(20); n > 0; --n)
        stream.push_back(static_cast<std::uint8_t>(1 + choices_.chance() % 255));
      stream.push_back(0);
    }
    if ((flags & 2) != 0)  // checksum of the header
      put_little(stream, crc32(0, stream.data() + begin, static_cast<uInt>(stream.size() - begin)) & 0xFFFF, 2);
  }

  void blocks(std::size_t size) {
    reach_ = content.size();
    BitWriter bits(stream);
    for (std::size_t left = size;;) {
      const std::size_t part = choices_.one_in(2) ? left : 1 + choices_.below(left + 1);
      const std::size_t n = choices_.one_in(6) ? 0 : std::min<std::size_t>({left, 65535, part});
      left -= n;
      const bool last = left == 0 && !choices_.one_in(6);
      bits.put(last ? 1 : 0, 1);
      switch (choices_.below(5)) {
        case 0: stored(bits, n); break;
        case 1:
          bits.put(1, 2);
          symbols(bits, make_steps(choices_, kDeflateLimits, n, reach_, content), DeflateCode::fixed_literals(),
                  DeflateCode::fixed_distances(), n);
          break;
        default: dynamic(bits, n);
      }
      if (last) break;
    }
    bits.align(choices_.chance());
  }
  void stored(BitWriter& bits, std::size_t n) {
    bits.put(0, 2);
    bits.align(choices_.chance());
    const auto bytes = static_cast<std::uint32_t>(n);
    bits.put(bytes, 16);
    bits.put(bytes ^ 0xFFFF, 16);
    for (std::uint32_t i = 0; i < bytes; ++i) {
      content.push_back(static_cast<std::uint8_t>(choices_.chance()));
      bits.put(content.back(), 8);
    }
  }
  void dynamic(BitWriter& bits, std::size_t n) {
    bits.put(2, 2);
    const auto steps = make_steps(choices_, kDeflateLimits, n, reach_, content);
    std::vector<bool> literals(286, false), distances(30, false);
    literals[256] = true;
    std::size_t at = content.size() - n;
    for (const LzStep& s : steps) {
      for (std::uint32_t i = 0; i < s.literals; ++i) literals[content[at++]] = true;
      at += s.length;
      if (s.length == 0) continue;
      for (const bool long_form : {false, true}) literals[length_symbol(s.length, long_form).symbol] = true;
      distances[distance_symbol(s.offset).symbol] = true;
    }
    const DeflateCode literal = DeflateCode::make(choices_, literals, 15, true),
                      distance = DeflateCode::make(choices_, distances, 15, true);
    describe(bits, literal, distance);
    symbols(bits, steps, literal, distance, n);
  }
  /// The lengths of both codes as one row, with runs where they can be, by chance.
  void describe(BitWriter& bits, const DeflateCode& literal, const DeflateCode& distance) {
    const auto count = [&](const DeflateCode& code, std::size_t least) {
      std::size_t n = code.length.size();
      const bool all = choices_.one_in(6);
      while (!all && n > least && code.length[n - 1] == 0) --n;
      return n;
    };
    const std::size_t literals = count(literal, 257), distances = count(distance, 1);
    std::vector<std::uint8_t> row(literal.length.begin(),
                                  literal.length.begin() + static_cast<std::ptrdiff_t>(literals));
    row.insert(row.end(), distance.length.begin(), distance.length.begin() + static_cast<std::ptrdiff_t>(distances));
    std::vector<DeflateSymbol> items;
    std::vector<bool> used(19, false);
    const std::uint32_t runs = choices_.below(4);
    for (std::size_t i = 0; i < row.size();) {
      std::size_t same = 0;  // how far what comes repeats what was before, or zero
      while (i + same < row.size() && same < 138 && row[i + same] == row[i]) ++same;
      const bool repeats = i > 0 && row[i] == row[i - 1];
      std::size_t run = choices_.chance() % 4 < runs ? same : same - choices_.chance() % same;
      DeflateSymbol item{row[i], 0, 0};
      if (repeats && run >= 3 && (row[i] != 0 || choices_.chance() % 2 == 0)) {
        run = std::min<std::size_t>(run, 6);
        item = {16, static_cast<std::uint32_t>(run - 3), 2};
      } else if (row[i] == 0 && run >= 11) {
        item = {18, static_cast<std::uint32_t>(run - 11), 7};
      } else if (row[i] == 0 && run >= 3) {
        run = std::min<std::size_t>(run, 10);
        item = {17, static_cast<std::uint32_t>(run - 3), 3};
      } else {
        run = 1;
      }
      used[item.symbol] = true;
      items.push_back(item);
      i += run;
    }
    const DeflateCode code = DeflateCode::make(choices_, used, 7, false);
    static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                            11, 4,  12, 3, 13, 2, 14, 1, 15};
    std::size_t codes = 19;
    while (codes > 4 && code.length[kOrder[codes - 1]] == 0) --codes;
    bits.put(static_cast<std::uint32_t>(literals - 257), 5);
    bits.put(static_cast<std::uint32_t>(distances - 1), 5);
    bits.put(static_cast<std::uint32_t>(codes - 4), 4);
    for (std::size_t i = 0; i < codes; ++i) bits.put(code.length[kOrder[i]], 3);
    for (const DeflateSymbol& item : items) {
      code.put(bits, item.symbol);
      bits.put(item.extra, item.extra_bits);
    }
  }
  void symbols(BitWriter& bits, const std::vector<LzStep>& steps, const DeflateCode& literal,
               const DeflateCode& distance, std::size_t n) {
    std::size_t at = content.size() - n;
    for (const LzStep& s : steps) {
      for (std::uint32_t i = 0; i < s.literals; ++i) literal.put(bits, content[at++]);
      at += s.length;
      if (s.length == 0) break;
      const DeflateSymbol length = length_symbol(s.length, choices_.one_in(4)), far = distance_symbol(s.offset);
      literal.put(bits, length.symbol);
      bits.put(length.extra, length.extra_bits);
      distance.put(bits, far.symbol);
      bits.put(far.extra, far.extra_bits);
    }
    literal.put(bits, 256);
  }

  Choices& choices_;
  std::size_t reach_ = 0;
};

}  // namespace penstock::test
