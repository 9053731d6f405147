#include "codec/deflate/inflate_tables.hpp"

#include <algorithm>

namespace penstock::deflate {
namespace {

constexpr std::uint32_t kSymbols = 288, kEndOfBlock = 256, kFirstLength = 257;

constexpr Entry make_entry(Then then, std::uint32_t code_bits, std::uint32_t extra_bits = 0, std::uint32_t value = 0) {
  return (code_bits + extra_bits) | value << 8 | code_bits << 24 | static_cast<std::uint32_t>(then) << 28;
}
constexpr Entry kNothing = make_entry(Then::nothing, 0);
constexpr Entry kThenSymbol = make_entry(Then::symbol, 0);
constexpr Entry kOneLiteral = 1U << 6;

/// RFC 1951, section 3.2.5.
Entry literal_entry(std::uint32_t symbol, std::uint32_t length) {
  if (symbol < kEndOfBlock) return kThenSymbol | kOneLiteral | length | symbol << 8;
  if (symbol == kEndOfBlock) return make_entry(Then::end, length);
  const std::uint32_t n = symbol - kFirstLength;
  if (n < 8) return length | (kShortest + n) << 24;
  if (n == 28) return make_entry(Then::base, length, 0, 258);
  if (n > 28) return kNothing;
  const std::uint32_t extra = n / 4 - 1;
  return make_entry(Then::base, length, extra, 3 + ((4 + n % 4) << extra));
}
Entry distance_entry(std::uint32_t symbol, std::uint32_t length) {
  if (symbol < 4) return make_entry(Then::length, length, 0, 1 + symbol);
  if (symbol > 29) return kNothing;
  const std::uint32_t extra = symbol / 2 - 1;
  return make_entry(Then::length, length, extra, 1 + ((2 + symbol % 2) << extra));
}

/// Symbols by the length of their code, then by value: the order of their codes.
struct Sorted {
  std::array<std::uint16_t, kLongestCode + 2> begin{};  ///< where those of a length begin
  std::array<std::uint16_t, kSymbols> symbols;

  explicit Sorted(std::span<const std::uint8_t> lengths) {
    for (const std::uint8_t length : lengths) ++begin[length + 1U];
    begin[1] = 0;  // those without a code
    for (std::uint32_t length = 1; length <= kLongestCode; ++length)
      begin[length + 1] = static_cast<std::uint16_t>(begin[length + 1] + begin[length]);
    auto next = begin;
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
      if (lengths[symbol] != 0) symbols[next[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
  }
  [[nodiscard]] std::uint32_t count(std::uint32_t length) const { return begin[length + 1] - begin[length]; }
  [[nodiscard]] std::uint32_t all() const { return begin[kLongestCode + 1]; }

  /// Every row of bits begins with one of the codes; `one_code`: or there is a single code of one bit, or none.
  [[nodiscard]] bool makes_code(bool one_code) const {
    std::int32_t left = 1;
    for (std::uint32_t length = 1; length <= kLongestCode; ++length) {
      left = left * 2 - static_cast<std::int32_t>(count(length));
      if (left < 0) return false;
    }
    return left == 0 || (one_code && all() == count(1));
  }
};

/// The code behind `code`, both with the first bit lowest, of `length` bits.
std::uint32_t next_code(std::uint32_t code, std::uint32_t length) {
  std::uint32_t bit = 1U << (length - 1);
  while ((code & bit) != 0) bit >>= 1;
  return bit == 0 ? 0 : (code & (bit - 1)) | bit;
}

/// The table for 1 bit, then for 2, ... : that for one more is the one before, twice.
template <class EntryOf>
void fill_table(const Sorted& sorted, std::uint32_t bits, std::uint32_t rest_bits, std::span<Entry> entries,
                const EntryOf& entry_of) {
  std::uint32_t code = 0, at = 0;
  if (sorted.all() < 2) std::fill_n(entries.begin(), 2, kNothing);
  for (std::uint32_t length = 1; length <= bits; ++length) {
    if (length > 1) std::copy_n(entries.begin(), 1U << (length - 1), entries.begin() + (1 << (length - 1)));
    for (; at < sorted.begin[length + 1]; ++at, code = next_code(code, length))
      entries[code] = entry_of(sorted.symbols[at], length);
  }
  std::uint32_t behind = 1U << bits, first = behind;  // no table begins with the bits 1 << bits
  for (std::uint32_t length = bits + 1; length <= kLongestCode; ++length)
    for (; at < sorted.begin[length + 1]; ++at, code = next_code(code, length)) {
      if (const std::uint32_t begins = code & ((1U << bits) - 1); begins != first) {
        first = begins;
        entries[first] = make_entry(Then::longer, bits, 0, behind);
        behind += 1U << rest_bits;
      }
      const std::uint32_t rest = length - bits;
      const Entry made = entry_of(sorted.symbols[at], rest);  // the other bits are taken before
      for (std::uint32_t i = code >> bits; i < 1U << rest_bits; i += 1U << rest)
        entries[value_of(entries[first]) + i] = made;
    }
}

/// All that may follow where `room` bits are left: a length, or a literal, or one and then the other.
std::uint32_t find_followers(std::span<const Entry> entries, std::uint32_t room, std::span<Follower> found) {
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < 1U << room; ++i) {
    const Entry e = entries[i];
    if (is_special(e) || bits_of(e) > room) continue;
    if (!is_literals(e)) {
      found[n++] = {i, e - kThenSymbol};
      continue;
    }
    Entry adds = kOneLiteral + bits_of(e) + (value_of(e) << 16);
    const Entry more = entries[i >> bits_of(e)];
    if (then_of(more) == Then::length && bits_of(e) + bits_of(more) <= room) adds += more - kThenSymbol;
    found[n++] = {i, adds};
  }
  return n;
}

/// Puts a second literal, and a length behind one or two, into the entries of literals whose codes leave room for them.
void join_symbols(const Sorted& sorted, InflateTables& tables) {
  const std::span<Entry> entries(tables.literal.entries);
  std::array<std::span<const Follower>, kLiteralBits> behind;  // literals of a length; found before anything is joined
  std::span<Follower> rest(tables.followers);
  for (std::uint32_t length = 1; length < kLiteralBits; ++length) {
    if (sorted.count(length) == 0) continue;
    const std::uint32_t n = find_followers(entries, kLiteralBits - length, rest);
    behind[length] = rest.first(n);
    rest = rest.subspan(n);
  }
  std::uint32_t code = 0;
  for (std::uint32_t length = 1; length < kLiteralBits; ++length)
    for (std::uint32_t k = sorted.begin[length]; k < sorted.begin[length + 1]; ++k, code = next_code(code, length))
      if (sorted.symbols[k] < kEndOfBlock)
        for (const Follower& follower : behind[length]) entries[code | follower.bits << length] += follower.adds;
}

}  // namespace

/// The lengths of codes say how often each symbol comes.  Measured beside libdeflate 1.14 on tiles of images, text,
/// labels and floats, by libdeflate's and zlib's encoders: with half of the entries joined, 0 to 55 % quicker; with
/// fewer only where half of all symbols are lengths, as the differences of noisy images have them (3 to 20 % quicker;
/// floats as they are come out 3 to 8 % slower); all others up to 30 % slower.
bool joins_much(std::span<const std::uint8_t> lengths) {
  constexpr std::uint32_t kEntries = 1U << kLiteralBits, kShortLengths = kLongest - kShortest + 1;
  std::array<std::uint32_t, kLongestCode + 1> literals{}, followers{};  // symbols by the length of their code
  std::uint32_t matches = 0;                                            // entries that begin with a length
  for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
    const std::uint8_t length = lengths[symbol];
    if (symbol < kEndOfBlock) ++literals[length];
    if (symbol != kEndOfBlock && symbol < kFirstLength + kShortLengths) ++followers[length];
    if (symbol >= kFirstLength && length != 0 && length <= kLiteralBits) matches += kEntries >> length;
  }
  std::uint32_t joined = 0;
  for (std::uint32_t length = 1; length < kLiteralBits; ++length)
    for (std::uint32_t more = 1; more <= kLiteralBits - length; ++more)
      joined += literals[length] * followers[more] << (kLiteralBits - length - more);
  return joined >= kEntries / 2 || (joined >= kEntries * 3 / 16 && matches >= kEntries * 15 / 32);
}

bool make_literal_table(std::span<const std::uint8_t> lengths, InflateTables& tables) {
  const Sorted sorted(lengths);
  if (!sorted.makes_code(true)) return false;
  const auto& table = tables.literal;
  fill_table(sorted, table.bits, table.rest_bits, tables.literal.entries, literal_entry);
  join_symbols(sorted, tables);
  return true;
}

bool make_distance_table(std::span<const std::uint8_t> lengths, InflateTables& tables) {
  const Sorted sorted(lengths);
  if (!sorted.makes_code(true)) return false;
  const auto& table = tables.distance;
  fill_table(sorted, table.bits, table.rest_bits, tables.distance.entries, distance_entry);
  return true;
}

bool make_length_table(std::span<const std::uint8_t> lengths, std::array<Entry, 1U << kLengthBits>& table) {
  const Sorted sorted(lengths);
  if (!sorted.makes_code(false)) return false;
  fill_table(sorted, kLengthBits, 0, table,
             [](std::uint32_t symbol, std::uint32_t length) { return make_entry(Then::length, length, 0, symbol); });
  return true;
}

}  // namespace penstock::deflate
