// Tables of the decoder for one thread: what the next bits of a DEFLATE stream mean, as many symbols at a look as fit.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace penstock::deflate {

inline constexpr std::uint32_t kLiteralBits = 12, kDistanceBits = 8, kLengthBits = 7, kLongestCode = 15;

/// What the next bits mean: up to two literals, then perhaps a length, or one of what `Then` names.
///   bits 0 to 5    how many bits it takes, extra bits included
///   bits 6 and 7   how many literals
///   bits 8 to 23   the literals, the first one lowest; or `value`
///   bits 24 to 27  a length without extra bits (kShortest to kLongest), or how many bits the code alone has
///   bits 28 to 31  a Then
using Entry = std::uint32_t;
inline constexpr std::uint32_t kShortest = 3, kLongest = 10;
enum class Then : std::uint32_t {
  length = 0,   ///< or, of distances, a base
  base = 4,     ///< `value`: of a length, to which the extra bits are added
  longer = 5,   ///< the code is longer than the table's bits: `value` is where the table for the rest begins
  end = 6,      ///< of the block
  nothing = 7,  ///< no code begins so
  symbol = 8    ///< nothing yet: another symbol follows
};
constexpr std::uint32_t bits_of(Entry e) { return e & 63; }
constexpr std::uint32_t literals_of(Entry e) { return e >> 6 & 3; }
constexpr std::uint32_t value_of(Entry e) { return e >> 8 & 0xFFFF; }
constexpr std::uint32_t length_of(Entry e) { return e >> 24 & 15; }
constexpr std::uint32_t code_bits_of(Entry e) { return e >> 24 & 15; }
constexpr Then then_of(Entry e) { return static_cast<Then>(e >> 28); }
constexpr bool is_special(Entry e) { return (e >> 30 & 1) != 0; }                 ///< base to nothing
constexpr bool is_literals(Entry e) { return static_cast<std::int32_t>(e) < 0; }  ///< symbol

/// Two codes at least go on behind the same kBits bits, or the code would have been shorter: half as many tables as
/// symbols, each for the bits that are left.
template <std::uint32_t kSymbols, std::uint32_t kBits>
struct Table {
  static constexpr std::uint32_t bits = kBits, rest_bits = kLongestCode - kBits;
  std::array<Entry, (1U << kBits) + (kSymbols / 2 << rest_bits)> entries;
};
/// What may stand behind a literal that leaves some of the table's bits: its bits, and what it adds to the entry.
struct Follower {
  std::uint32_t bits;
  Entry adds;
};
struct InflateTables {
  Table<288, kLiteralBits> literal;
  Table<32, kDistanceBits> distance;
  std::array<Follower, 1U << kLiteralBits> followers;  ///< while the tables are made
};

/// Whether enough of what these codes of literals and lengths stand for can be joined.
[[nodiscard]] bool joins_much(std::span<const std::uint8_t> lengths);

/// Make the tables of codes with these lengths (0 to 15; 0: none).  False: they make no code, as zlib has it.
[[nodiscard]] bool make_literal_table(std::span<const std::uint8_t> lengths, InflateTables& tables);
[[nodiscard]] bool make_distance_table(std::span<const std::uint8_t> lengths, InflateTables& tables);
/// Of the codes of code lengths, at most 7 bits long: `value` is the symbol.
[[nodiscard]] bool make_length_table(std::span<const std::uint8_t> lengths,
                                     std::array<Entry, 1U << kLengthBits>& table);

}  // namespace penstock::deflate
