// Source: RFC 1951.  Whether a literal or a match follows depends on the data, and each wrong guess of the processor
// costs as much as three looks into a table.  So an entry of the table of literals holds all that fits its bits: two
// literals, and the length of the match behind them.  Of differences of images, which are small numbers with short
// codes, that is what mostly comes.  Far from the ends of input and output nothing is checked but distances: bits are
// loaded eight bytes at a time, literals stored two, matches sixteen.
#include "codec/deflate/inflate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "codec/deflate/inflate_tables.hpp"

namespace penstock::deflate {
namespace {

constexpr std::uint32_t kMaxMatch = 258;
/// What one turn of the quick loop may read and write, and some more.
constexpr std::ptrdiff_t kInRoom = 32, kOutRoom = kMaxMatch + 64;

std::uint64_t load8(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, 8);
  return word;
}
void store8(std::uint8_t* to, std::uint64_t word) { std::memcpy(to, &word, 8); }

/// Bits of the input, the first one lowest.
struct BitReader {
  const std::uint8_t* at;  ///< of the next byte
  const std::uint8_t* end;
  std::uint64_t held = 0;  ///< those above `count` are right as well, or zero
  std::uint32_t count = 0;
  std::uint32_t beyond = 0;  ///< bytes of zeros that were taken for input behind its end

  /// At least 56 bits; eight bytes must be there.
  void fill_quick() {
    held |= load8(at) << count;
    at += (63 - count) >> 3;
    count |= 56;
  }
  void fill() {
    if (end - at >= 8) return fill_quick();
    for (held &= (std::uint64_t{1} << count) - 1; count < 56; count += 8) {
      if (at < end)
        held |= std::uint64_t{*at++} << count;
      else
        ++beyond;
    }
  }
  void drop(std::uint32_t n) {
    held >>= n;
    count -= n;
  }
  std::uint32_t take(std::uint32_t n) {
    const auto value = static_cast<std::uint32_t>(held & ((1U << n) - 1));
    drop(n);
    return value;
  }
  /// Goes back to the first byte of which nothing is used.  False: more was used than there is.
  bool to_byte() {
    const std::uint32_t unused = count / 8;
    if (beyond > unused) return false;
    at -= unused - beyond;
    held = count = beyond = 0;
    return true;
  }
};

struct Output {
  std::uint8_t* at;
  std::uint8_t* begin;
  std::uint8_t* end;
  [[nodiscard]] std::size_t room() const { return static_cast<std::size_t>(end - at); }
};

/// Lengths of codes, as the head of a block has them.
bool read_lengths(BitReader& bits, std::span<std::uint8_t> lengths, std::uint32_t codes) {
  static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
  std::array<std::uint8_t, 19> of_lengths{};
  for (std::uint32_t i = 0; i < codes; ++i) {
    bits.fill();
    of_lengths[kOrder[i]] = static_cast<std::uint8_t>(bits.take(3));
  }
  std::array<Entry, 1U << kLengthBits> table;
  if (!make_length_table(of_lengths, table)) return false;
  for (std::size_t i = 0; i < lengths.size();) {
    bits.fill();
    const Entry e = table[bits.held & ((1U << kLengthBits) - 1)];
    bits.drop(bits_of(e));
    const std::uint32_t symbol = value_of(e);
    std::size_t run = 1;
    std::uint8_t value = static_cast<std::uint8_t>(symbol);
    if (symbol == 16) {
      if (i == 0) return false;
      value = lengths[i - 1];
      run = 3 + bits.take(2);
    } else if (symbol > 16) {
      value = 0;
      run = symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    }
    if (run > lengths.size() - i) return false;
    std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), run, value);
    i += run;
  }
  return true;
}

/// The head of a block with codes of its own; `gain`: only if they promise it.
bool read_tables(BitReader& bits, InflateTables& tables, bool gain) {
  bits.fill();
  const std::uint32_t literals = bits.take(5) + 257, distances = bits.take(5) + 1, codes = bits.take(4) + 4;
  if (literals > 286 || distances > 30) return false;  // as zlib has it
  std::array<std::uint8_t, 286 + 30> lengths;
  const std::span<std::uint8_t> all(lengths.data(), literals + distances);
  return read_lengths(bits, all, codes) && (!gain || joins_much(all.first(literals))) &&
         make_literal_table(all.first(literals), tables) && make_distance_table(all.subspan(literals), tables);
}

bool fixed_tables(InflateTables& tables) {
  std::array<std::uint8_t, 288> literals;
  for (std::uint32_t s = 0; s < 288; ++s)
    literals[s] = static_cast<std::uint8_t>(s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8);
  std::array<std::uint8_t, 32> distances;
  distances.fill(5);
  return make_literal_table(literals, tables) && make_distance_table(distances, tables);
}

/// A base with its extra bits, which are taken.
inline std::uint32_t take_value(BitReader& bits, Entry e) {
  const std::uint64_t extra = bits.held & ((std::uint64_t{1} << bits_of(e)) - 1);
  const std::uint32_t value = value_of(e) + static_cast<std::uint32_t>(extra >> code_bits_of(e));
  bits.drop(bits_of(e));
  return value;
}
template <class Table>
inline Entry look(const BitReader& bits, const Table& table) {
  return table.entries[bits.held & ((1U << Table::bits) - 1)];
}
template <class Table>
inline Entry look_longer(BitReader& bits, const Table& table, Entry e) {
  bits.drop(bits_of(e));
  return table.entries[value_of(e) + (bits.held & ((1U << Table::rest_bits) - 1))];
}

/// 0: no code begins so.
inline std::uint32_t take_distance(BitReader& bits, const InflateTables& tables) {
  Entry d = look(bits, tables.distance);
  if (is_special(d)) [[unlikely]] {
    if (then_of(d) == Then::longer) d = look_longer(bits, tables.distance, d);
    if (is_special(d)) return 0;
  }
  return take_value(bits, d);
}

/// With room for what is written too much.
inline void copy_quick(std::uint8_t* to, std::uint32_t distance, std::uint32_t length) {
  const std::uint8_t* from = to - distance;
  const std::uint8_t* const end = to + length;
  if (distance >= 16) {
    do {
      std::memcpy(to, from, 16);
      to += 16, from += 16;
    } while (to < end);
  } else if (distance >= 8) {
    do {
      store8(to, load8(from));
      to += 8, from += 8;
    } while (to < end);
  } else if (distance == 1) {
    const std::uint64_t word = std::uint64_t{0x0101010101010101} * *from;
    do {
      store8(to, word);
      to += 8;
    } while (to < end);
  } else {  // as many bytes of each word are right as repeat
    do {
      store8(to, load8(from));
      to += distance, from += distance;
    } while (to < end);
  }
}

enum class Symbols : std::uint8_t { end_of_block, near_end, bad };

/// Symbols while there is room on both sides for whatever one turn may do.
inline Symbols decode_quick(BitReader& held, Output& output, const InflateTables& tables) {
  BitReader bits = held;  // copies that need not be kept in memory
  std::uint8_t* out = output.at;
  std::uint8_t* const begin = output.begin;
  if (bits.end - bits.at < kInRoom || output.end - out < kOutRoom) return Symbols::near_end;
  const std::uint8_t* const last_in = bits.end - kInRoom;
  const std::uint8_t* const last_out = output.end - kOutRoom;
  Symbols result = Symbols::near_end;
  bits.fill();
  Entry e = look(bits, tables.literal);
  const auto put = [&] {
    const auto literals = static_cast<std::uint16_t>(e >> 8);
    std::memcpy(out, &literals, 2);
    out += literals_of(e);
  };
  const auto next = [&] {
    bits.drop(bits_of(e));
    e = look(bits, tables.literal);
  };
  while (bits.at <= last_in && out <= last_out) {
    bits.fill_quick();  // `e` was looked up before: the wait for it is the longest
    put();
    if (is_literals(e)) {
      next();
      continue;
    }
    std::uint32_t length = e >> 24;
    if (is_special(e)) [[unlikely]] {
      if (then_of(e) == Then::longer) {
        e = look_longer(bits, tables.literal, e);
        put();
        if (is_literals(e)) {
          next();
          continue;
        }
        length = e >> 24;
      }
      if (then_of(e) == Then::base) {
        length = take_value(bits, e);
      } else {
        bits.drop(bits_of(e));
        if (is_special(e)) {
          result = then_of(e) == Then::end ? Symbols::end_of_block : Symbols::bad;
          break;
        }
      }
      bits.fill_quick();
    } else {
      bits.drop(bits_of(e));
    }
    const std::uint32_t distance = take_distance(bits, tables);
    if (std::size_t{distance} - 1 >= static_cast<std::size_t>(out - begin)) [[unlikely]] {  // 0, too
      result = Symbols::bad;
      break;
    }
    e = look(bits, tables.literal);  // of 56 bits 12 at most were taken for literals and length, 28 for the distance
    copy_quick(out, distance, length);
    out += length;
  }
  held = bits;
  output.at = out;
  return result;
}

/// One entry after the other, to the last byte.
Symbols decode_near_end(BitReader& bits, Output& out, const InflateTables& tables) {
  for (;;) {
    bits.fill();
    if (bits.beyond > 8) return Symbols::bad;
    Entry e = look(bits, tables.literal);
    if (then_of(e) == Then::longer) e = look_longer(bits, tables.literal, e);
    const std::uint32_t literals = literals_of(e);
    if (literals > out.room()) return Symbols::bad;
    for (std::uint32_t i = 0; i < literals; ++i) *out.at++ = static_cast<std::uint8_t>(e >> (8 + 8 * i));
    std::uint32_t length = length_of(e);
    if (then_of(e) == Then::base) {
      length = take_value(bits, e);
    } else {
      bits.drop(bits_of(e));
      if (is_literals(e)) continue;
      if (is_special(e)) return then_of(e) == Then::end ? Symbols::end_of_block : Symbols::bad;
    }
    const std::uint32_t distance = take_distance(bits, tables);
    if (length > out.room() || std::size_t{distance} - 1 >= static_cast<std::size_t>(out.at - out.begin))
      return Symbols::bad;
    for (std::uint32_t i = 0; i < length; ++i, ++out.at) *out.at = *(out.at - distance);
  }
}

#if defined(__x86_64__)
/// With shifts by any register, which one long chain of shifts has much of.
__attribute__((target("bmi,bmi2"), flatten)) Symbols decode_quick_bmi2(BitReader& bits, Output& out,
                                                                       const InflateTables& tables) {
  return decode_quick(bits, out, tables);
}
#endif

Symbols decode_symbols(BitReader& bits, Output& out, const InflateTables& tables) {
#if defined(__x86_64__)
  static const bool has_bmi2 = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi");
  const Symbols quick = has_bmi2 ? decode_quick_bmi2(bits, out, tables) : decode_quick(bits, out, tables);
#else
  const Symbols quick = decode_quick(bits, out, tables);
#endif
  return quick == Symbols::near_end ? decode_near_end(bits, out, tables) : quick;
}

/// A block whose bytes are stored as they are.
bool copy_stored(BitReader& bits, Output& out) {
  if (!bits.to_byte() || bits.end - bits.at < 4) return false;
  const std::uint32_t bytes = bits.at[0] | std::uint32_t{bits.at[1]} << 8;
  const std::uint32_t inverted = bits.at[2] | std::uint32_t{bits.at[3]} << 8;
  bits.at += 4;
  if ((bytes ^ inverted) != 0xFFFF || static_cast<std::size_t>(bits.end - bits.at) < bytes || out.room() < bytes)
    return false;
  if (bytes > 0) std::memcpy(out.at, bits.at, bytes);
  bits.at += bytes;
  out.at += bytes;
  return true;
}

}  // namespace

std::optional<std::uint64_t> inflate_whole(ByteView in, ByteSpan to, Streams which) {
  thread_local std::unique_ptr<InflateTables> tables;
  if (!tables) tables.reset(new (std::nothrow) InflateTables);
  if (!tables) return std::nullopt;
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(in.data());
  BitReader bits{begin, begin + in.size()};
  auto* const first = reinterpret_cast<std::uint8_t*>(to.data());
  Output out{first, first, first + to.size()};
  bool gain = which == Streams::that_gain;  // to be shown by the first codes
  for (bool last = false; !last;) {
    bits.fill();
    last = bits.take(1) != 0;
    const std::uint32_t type = bits.take(2);
    if (bits.beyond > 8 || type == 3) return std::nullopt;
    if (type == 0) {
      if (!copy_stored(bits, out)) return std::nullopt;
      continue;
    }
    if (type == 1 && gain) return std::nullopt;
    if (!(type == 1 ? fixed_tables(*tables) : read_tables(bits, *tables, gain))) return std::nullopt;
    gain = false;
    if (decode_symbols(bits, out, *tables) != Symbols::end_of_block) return std::nullopt;
  }
  if (!bits.to_byte() || out.room() != 0) return std::nullopt;
  return static_cast<std::uint64_t>(bits.at - begin);
}

}  // namespace penstock::deflate
