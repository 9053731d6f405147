// Writes zstd frames that are right and that no encoder would make: every type of block and literals and every mode of
// table, in any order, with tables by chance.  (The idea is that of zstd's decodecorpus.)
#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "codec/choices.hpp"
#include "codec/zstd/data.hpp"
#include "codec/zstd/decode/codes.hpp"
#include "codec/zstd/decode/fse.hpp"

namespace penstock::zstd::test {

using penstock::test::Choices;

/// A stream that is read from its end: fields are added in the order in which they are read.
class BackwardWriter {
 public:
  void add(std::uint32_t value, std::uint32_t bits) { fields_.emplace_back(value, bits); }
  [[nodiscard]] Data bytes() const {
    Data out;
    std::uint64_t held = 0;
    std::uint32_t count = 0;
    const auto put = [&](std::uint64_t value, std::uint32_t bits) {
      held |= (value & ((std::uint64_t{1} << bits) - 1)) << count;
      for (count += bits; count >= 8; count -= 8, held >>= 8) out.push_back(static_cast<std::uint8_t>(held));
    };
    for (auto field = fields_.rbegin(); field != fields_.rend(); ++field) put(field->first, field->second);
    put(1, 1);
    if (count > 0) out.push_back(static_cast<std::uint8_t>(held));
    return out;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> fields_;
};

/// A table and how to encode with it.
struct FseCode {
  std::vector<std::int16_t> counts;
  std::uint32_t log = 0;
  std::vector<std::uint32_t> table;

  void build() {
    auto used_up = counts;
    table.resize(std::size_t{1} << log);
    build_fse_table(table.data(), used_up.data(), static_cast<std::uint32_t>(counts.size()), log,
                    [](std::uint32_t) { return 0u; });
  }
  [[nodiscard]] bool has(std::uint32_t symbol) const { return symbol < counts.size() && counts[symbol] != 0; }
  /// A state of `symbol`, by chance; `min_bits`: that its next state takes.  table.size(): there is none.
  [[nodiscard]] std::uint32_t any_state(std::uint32_t symbol, std::uint32_t min_bits, Choices& random) const {
    const auto size = static_cast<std::uint32_t>(table.size()), start = static_cast<std::uint32_t>(random() % size);
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t s = (start + i) % size;
      if (entry_symbol(table[s]) == symbol && entry_bits(table[s]) >= min_bits) return s;
    }
    return size;
  }
  /// The state of `symbol` from which `next` is reached.
  [[nodiscard]] std::uint32_t state_before(std::uint32_t symbol, std::uint32_t next) const {
    for (std::uint32_t s = 0; s < table.size(); ++s)
      if (entry_symbol(table[s]) == symbol && next >= entry_base(table[s]) &&
          next - entry_base(table[s]) < 1u << entry_bits(table[s]))
        return s;
    std::abort();
  }
  /// The description (RFC 8878, 4.1.1).
  [[nodiscard]] Data description() const {
    std::vector<bool> bits;
    const auto put = [&bits](std::uint32_t value, std::uint32_t n) {
      for (std::uint32_t k = 0; k < n; ++k) bits.push_back((value >> k & 1) != 0);
    };
    put(log - 5, 4);
    std::int32_t left = 1 << log;
    for (std::size_t s = 0; left > 0; ++s) {
      const auto room = static_cast<std::uint32_t>(left) + 1;
      const std::uint32_t n = high_bit(room) + 1, half = 1u << (n - 1), spare = 2 * half - 1 - room;
      const auto value = static_cast<std::uint32_t>(counts[s] + 1);
      if (value < spare)
        put(value, n - 1);
      else
        put(value < half ? value : value + spare, n);
      left -= counts[s] < 0 ? 1 : counts[s];
      if (counts[s] != 0) continue;
      std::uint32_t zeros = 0;
      while (counts[s + 1 + zeros] == 0) ++zeros;
      s += zeros;
      for (; zeros >= 3; zeros -= 3) put(3, 2);
      put(zeros, 2);
    }
    Data out((bits.size() + 7) / 8);
    for (std::size_t i = 0; i < bits.size(); ++i) out[i / 8] |= static_cast<std::uint8_t>(bits[i] << (i % 8));
    return out;
  }
};

/// A table with shares for all `used` symbols and for some others below `symbols`.
inline FseCode random_code(const std::vector<bool>& used, std::uint32_t symbols, std::uint32_t max_log,
                           Choices& random) {
  FseCode code;
  std::uint32_t shares = 0, last = 0;
  code.counts.assign(symbols, 0);
  for (std::uint32_t s = 0; s < symbols; ++s) {
    if ((s >= used.size() || !used[s]) && (random() % 40 != 0 || shares > 12)) continue;
    code.counts[s] = random() % 3 == 0 ? -1 : 1;
    ++shares;
    last = s;
  }
  code.log = 5;
  while (1u << code.log < shares) ++code.log;
  code.log += static_cast<std::uint32_t>(random() % (max_log - code.log + 1));
  for (std::uint32_t rest = (1u << code.log) - shares; rest > 0;) {
    std::uint32_t s = static_cast<std::uint32_t>(random() % (last + 1));
    while (code.counts[s] == 0) s = s == last ? 0 : s + 1;
    const std::uint32_t more = 1 + static_cast<std::uint32_t>(random() % rest);
    if (code.counts[s] < 0) code.counts[s] = 1;  // one share in any case
    code.counts[s] = static_cast<std::int16_t>(code.counts[s] + static_cast<std::int32_t>(more));
    rest -= more;
  }
  code.counts.resize(last + 1);
  code.build();
  return code;
}

/// A Huffman tree by chance.
struct HuffmanCode {
  std::array<std::uint32_t, 256> length{}, value{};
  std::uint32_t longest = 0, last = 0;

  [[nodiscard]] bool has(std::uint8_t symbol) const { return length[symbol] != 0; }
  [[nodiscard]] std::uint32_t weight(std::uint32_t symbol) const {
    return length[symbol] == 0 ? 0 : longest + 1 - length[symbol];
  }

  static HuffmanCode make(Choices& random) {
    HuffmanCode code;
    std::vector<std::uint32_t> leaves = {1, 1};
    for (std::size_t wanted = 2 + random() % (random() % 2 != 0 ? 20 : 255); leaves.size() < wanted;) {
      const std::size_t i = random() % 3 == 0 ? leaves.size() - 1 : random() % leaves.size();
      if (leaves[i] == 11) {
        if (random() % 20 == 0) break;
        continue;
      }
      leaves.push_back(++leaves[i]);
    }
    for (const std::uint32_t bits : leaves) {
      std::size_t s = random() % 256;
      while (code.length[s] != 0) s = (s + 1) % 256;
      code.length[s] = bits;
      code.longest = std::max(code.longest, bits);
      code.last = std::max(code.last, static_cast<std::uint32_t>(s));
    }
    // Codes count up from the longest, in the order of the symbols (RFC 8878, 4.2.1.3).
    std::array<std::uint32_t, 13> next{};  // of each length
    for (const std::uint32_t bits : leaves) ++next[bits];
    for (std::uint32_t bits = code.longest, first = 0; bits > 0; --bits) {
      const std::uint32_t behind = first + next[bits];
      next[bits] = first;
      first = behind >> 1;
    }
    for (std::size_t s = 0; s < 256; ++s)
      if (code.length[s] != 0) code.value[s] = next[code.length[s]]++;
    return code;
  }

  [[nodiscard]] Data stream(const std::uint8_t* from, std::size_t n) const {
    BackwardWriter bits;
    for (std::size_t i = 0; i < n; ++i) bits.add(value[from[i]], length[from[i]]);
    return bits.bytes();
  }
  /// Four bits a weight; empty when there are too many.
  [[nodiscard]] Data plain_description() const {
    if (last > 128) return {};
    Data out = {static_cast<std::uint8_t>(127 + last)};
    for (std::uint32_t s = 0; s < last; s += 2)
      out.push_back(static_cast<std::uint8_t>(weight(s) << 4 | (s + 1 < last ? weight(s + 1) : 0)));
    return out;
  }
  /// The weights in an FSE stream of two states; empty when that cannot be.
  [[nodiscard]] Data coded_description(Choices& random) const {
    if (last < 2) return {};
    std::vector<bool> used(12, false);
    for (std::uint32_t s = 0; s < last; ++s) used[weight(s)] = true;
    const bool more = random() % 4 == 0;  // shares for weights that there are not; with the small table only
    const FseCode code = random_code(used, more ? 40 : 12, more ? 5 : 6, random);
    std::vector<std::uint32_t> state(last);
    for (std::uint32_t s = last; s-- > 0;) {
      state[s] = s + 2 >= last ? code.any_state(weight(s), s + 2 == last ? 1 : 0, random)
                               : code.state_before(weight(s), state[s + 2]);
      if (state[s] == code.table.size()) return {};
    }
    BackwardWriter bits;
    bits.add(state[0], code.log);
    bits.add(state[1], code.log);
    for (std::uint32_t s = 0; s + 2 < last; ++s) {
      const std::uint32_t entry = code.table[state[s]];
      bits.add(state[s + 2] - entry_base(entry), entry_bits(entry));
    }
    Data out = code.description(), stream = bits.bytes();
    out.insert(out.end(), stream.begin(), stream.end());
    if (out.size() > 127) return {};
    out.insert(out.begin(), static_cast<std::uint8_t>(out.size()));
    return out;
  }
};

/// One sequence, as the format codes it.
struct WrittenSequence {
  std::uint32_t literals = 0, match = 3, offset_value = 1;
  [[nodiscard]] std::uint32_t number(int code) const {
    return code == kLiteralLength ? literals : code == kOffset ? offset_value : match;
  }
};

/// The symbol of a value and what its extra bits hold.
inline std::pair<std::uint32_t, std::uint32_t> symbol_of(int code, std::uint32_t value) {
  if (code == kOffset) return {high_bit(value), value - (1u << high_bit(value))};
  const auto base = [code](std::uint32_t s) { return code == kLiteralLength ? literal_base(s) : match_base(s); };
  std::uint32_t s = 0;
  while (s + 1 < code_symbols(code) && base(s + 1) <= value) ++s;
  return {s, value - base(s)};
}

}  // namespace penstock::zstd::test
