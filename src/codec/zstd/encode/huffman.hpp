// Huffman codes for the literals of a block: their lengths, their description, the streams (RFC 8878, 4.2).
// Lengths: A. Moffat and J. Katajainen, "In-Place Calculation of Minimum-Redundancy Codes", 1995; then they are limited
// as Kraft's inequality allows.
#pragma once
#include <cstdint>

#include "codec/zstd/decode/huffman.hpp"
#include "codec/zstd/encode/fse.hpp"

namespace penstock::zstd {

/// Shared memory of a warp that makes a code and writes with it.
struct HuffmanCoder {
  static constexpr std::uint32_t kStage = 48;  ///< words
  std::uint32_t count[256];
  std::uint32_t work[256];   ///< by rank: count, then length
  std::uint8_t sorted[256];  ///< symbols by count, rarest first
  std::uint8_t length[256];  ///< of each symbol's code; 0: none
  std::uint16_t code[256];
  std::uint32_t symbols;  ///< how many have a code
  std::uint32_t last;     ///< the highest of them
  std::uint32_t log;      ///< the longest code
  FseCoder<kHuffmanLog + 1, kWeightTableLog> weights;
  std::uint32_t stage[kStage];
};

/// Lengths of an optimal code for n >= 2 counts in ascending order, in their place.
PENSTOCK_HD void optimal_lengths(std::uint32_t* a, std::uint32_t n) {
  // Parents instead of counts: `leaf` is the next count, `root` the next inner node that has no parent yet.
  a[0] += a[1];
  std::uint32_t root = 0, leaf = 2;
  for (std::uint32_t next = 1; next < n - 1; ++next) {
    const auto take = [&] {
      if (leaf >= n || (root < next && a[root] < a[leaf])) {
        const std::uint32_t value = a[root];
        a[root++] = next;
        return value;
      }
      return a[leaf++];
    };
    const std::uint32_t x = take();
    a[next] = x + take();
  }
  // Depths of the inner nodes, then of the leaves.
  a[n - 2] = 0;
  for (std::uint32_t k = n - 2; k-- > 0;) a[k] = a[a[k]] + 1;
  std::uint32_t open = 1, depth = 0, inner = n - 1, next = n;
  while (open > 0) {
    std::uint32_t used = 0;
    while (inner > 0 && a[inner - 1] == depth) {
      ++used;
      --inner;
    }
    for (; open > used; --open) a[--next] = depth;
    open = 2 * used;
    ++depth;
  }
}

/// Lengths of at most kHuffmanLog that still make a whole code; by rank, longest first.
PENSTOCK_HD void limit_lengths(std::uint32_t* a, std::uint32_t n) {
  std::uint32_t number[kHuffmanLog + 1] = {};
  for (std::uint32_t k = 0; k < n; ++k) ++number[a[k] < kHuffmanLog ? a[k] : kHuffmanLog];
  std::uint32_t total = 0;
  for (std::uint32_t bits = 1; bits <= kHuffmanLog; ++bits) total += number[bits] << (kHuffmanLog - bits);
  for (; total > 1u << kHuffmanLog; --total) {  // at most 256 turns: one for each code that was too long
    --number[kHuffmanLog];
    std::uint32_t bits = kHuffmanLog - 1;
    while (number[bits] == 0) --bits;
    --number[bits];
    number[bits + 1] += 2;
  }
  std::uint32_t k = 0;
  for (std::uint32_t bits = kHuffmanLog; bits > 0; --bits)
    for (std::uint32_t i = 0; i < number[bits]; ++i) a[k++] = bits;
}

/// The code of `n` literals whose counts are there.
template <class Warp>
PENSTOCK_HD void make_code(const Warp& warp, HuffmanCoder& coder) {
  // A symbol's rank is the number of symbols before it.
  warp.for_each(256, [&](std::uint32_t s) {
    coder.length[s] = 0;
    const std::uint32_t mine = coder.count[s];
    if (mine == 0) return;
    std::uint32_t rank = 0;
    for (std::uint32_t o = 0; o < 256; ++o) {
      const std::uint32_t other = coder.count[o];
      rank += other != 0 && (other < mine || (other == mine && o < s)) ? 1 : 0;
    }
    coder.sorted[rank] = static_cast<std::uint8_t>(s);
    coder.work[rank] = mine;
  });
  warp.each_lane([&](std::uint32_t lane) {
    if (lane != 0) return;
    coder.symbols = coder.last = coder.log = 0;
    for (std::uint32_t s = 0; s < 256; ++s)
      if (coder.count[s] != 0) {
        ++coder.symbols;
        coder.last = s;
      }
    if (coder.symbols < 2) return;
    optimal_lengths(coder.work, coder.symbols);
    limit_lengths(coder.work, coder.symbols);
    coder.log = coder.work[0];
    // As decoders build their table: longest codes first, among equal ones by symbol.
    std::uint32_t next[kHuffmanLog + 1] = {}, at = 0;
    for (std::uint32_t k = 0; k < coder.symbols; ++k)
      coder.length[coder.sorted[k]] = static_cast<std::uint8_t>(coder.work[k]);
    for (std::uint32_t k = 0; k < coder.symbols; ++k) ++next[coder.work[k]];
    for (std::uint32_t bits = coder.log; bits > 0; --bits) {
      const std::uint32_t begin = at;
      at += next[bits] << (coder.log - bits);
      next[bits] = begin;
    }
    for (std::uint32_t s = 0; s <= coder.last; ++s) {
      const std::uint32_t bits = coder.length[s];
      if (bits == 0) continue;
      coder.code[s] = static_cast<std::uint16_t>(next[bits] >> (coder.log - bits));
      next[bits] += 1u << (coder.log - bits);
    }
  });
}

PENSTOCK_HD std::uint32_t weight_of(const HuffmanCoder& coder, std::uint32_t symbol) {
  return coder.length[symbol] == 0 ? 0 : coder.log + 1 - coder.length[symbol];
}

/// Shares of the weights in a table of 1 << kWeightTableLog; false when one weight is all there is.
PENSTOCK_HD bool weight_shares(const HuffmanCoder& coder, std::int16_t* counts, std::uint32_t& symbols) {
  constexpr std::uint32_t kSize = 1u << kWeightTableLog;
  std::uint32_t number[kHuffmanLog + 1] = {}, most = 0;
  for (std::uint32_t s = 0; s < coder.last; ++s) ++number[weight_of(coder, s)];
  std::int32_t left = kSize;
  for (std::uint32_t w = 0; w <= kHuffmanLog; ++w) {
    if (number[w] == coder.last) return false;
    std::uint32_t share = number[w] * kSize / coder.last;
    if (number[w] != 0 && share == 0) share = 1;
    counts[w] = static_cast<std::int16_t>(share);
    left -= static_cast<std::int32_t>(share);
    if (number[w] != 0) symbols = w + 1;
    if (number[w] > number[most]) most = w;
  }
  counts[most] = static_cast<std::int16_t>(counts[most] + left);
  return counts[most] > 0;
}

/// Writes the description of the code (4.2.1); false when it has none that is short enough.  By one lane.
PENSTOCK_HD bool put_weights(BitWriter& out, HuffmanCoder& coder) {
  const std::uint32_t header = out.at;
  if (coder.last <= 128) {  // four bits each
    out.byte(static_cast<std::uint8_t>(127 + coder.last));
    for (std::uint32_t s = 0; s < coder.last; s += 2)
      out.byte(
          static_cast<std::uint8_t>(weight_of(coder, s) << 4 | (s + 1 < coder.last ? weight_of(coder, s + 1) : 0)));
    return out.fits;
  }
  std::int16_t counts[kHuffmanLog + 1];
  std::uint32_t symbols = 0;
  if (!weight_shares(coder, counts, symbols)) return false;
  out.byte(0);
  put_distribution(out, counts, symbols, kWeightTableLog);
  coder.weights.build(counts, symbols, kWeightTableLog);
  // Two states take turns; the last weight of each begins its stream.
  std::uint32_t state[2] = {};
  for (std::uint32_t s = coder.last; s-- > 0;) {
    std::uint32_t& mine = state[s % 2];
    const std::uint32_t weight = weight_of(coder, s);
    mine = s + 2 >= coder.last ? coder.weights.begin(weight) : coder.weights.put(out, weight, mine);
  }
  out.put(state[1], kWeightTableLog);
  out.put(state[0], kWeightTableLog);
  out.close();
  const std::uint32_t bytes = out.at - header - 1;
  if (!out.fits || bytes >= 128) return false;
  out.out[header] = static_cast<std::uint8_t>(bytes);
  return true;
}

/// Writes the codes of literals [begin, end) at `out`, from the last one on; the bytes it takes, which must be there.
template <class Warp>
PENSTOCK_HD std::uint32_t put_stream(const Warp& warp, HuffmanCoder& coder, const std::uint8_t* literals,
                                     std::uint32_t begin, std::uint32_t end, std::uint8_t* out) {
  constexpr std::uint32_t kEach = 4;  // 44 bits at most
  static_assert(31 + Warp::lanes * kEach * kHuffmanLog + 1 <= 32 * HuffmanCoder::kStage);
  warp.for_each(HuffmanCoder::kStage, [&](std::uint32_t i) { coder.stage[i] = 0; });
  std::uint32_t held = 0, written = 0;  // bits in the stage, bytes that left it
  for (std::uint32_t left = end - begin; left > 0;) {
    const std::uint32_t taken = left < Warp::lanes * kEach ? left : Warp::lanes * kEach;
    auto lengths = warp.map([&](std::uint32_t lane) {
      std::uint32_t bits = 0;
      for (std::uint32_t k = kEach * lane; k < kEach * lane + kEach && k < taken; ++k)
        bits += coder.length[literals[begin + left - 1 - k]];
      return bits;
    });
    auto ends = warp.inclusive_sum(lengths);
    warp.each_lane([&](std::uint32_t lane) {
      std::uint64_t bits = 0;
      std::uint32_t count = 0;
      for (std::uint32_t k = kEach * lane; k < kEach * lane + kEach && k < taken; ++k) {
        const std::uint8_t symbol = literals[begin + left - 1 - k];
        bits |= static_cast<std::uint64_t>(coder.code[symbol]) << count;
        count += coder.length[symbol];
      }
      if (count == 0) return;
      const std::uint32_t at = held + Warp::at(ends, lane) - count, shift = at % 32;
      atomic_or(&coder.stage[at / 32], static_cast<std::uint32_t>(bits << shift));
      atomic_or(&coder.stage[at / 32 + 1], static_cast<std::uint32_t>(bits >> (32 - shift)));
      if (shift + count > 64) atomic_or(&coder.stage[at / 32 + 2], static_cast<std::uint32_t>(bits >> (64 - shift)));
    });
    held += warp.broadcast(ends, Warp::lanes - 1);
    left -= taken;
    if (left == 0) {  // the 1 above the last bit
      warp.each_lane([&](std::uint32_t lane) {
        if (lane == 0) coder.stage[held / 32] |= 1u << (held % 32);
      });
      ++held;
    }
    const std::uint32_t bytes = left == 0 ? (held + 7) / 8 : held / 32 * 4;
    warp.for_each(bytes, [&](std::uint32_t i) {
      out[written + i] = static_cast<std::uint8_t>(coder.stage[i / 4] >> (8 * (i % 4)));
    });
    written += bytes;
    const std::uint32_t rest = held / 32;  // words that are done
    auto carried = warp.map([&](std::uint32_t) { return coder.stage[rest]; });
    warp.for_each(HuffmanCoder::kStage, [&](std::uint32_t i) { coder.stage[i] = 0; });
    warp.each_lane([&](std::uint32_t lane) {
      if (lane == 0) coder.stage[0] = Warp::at(carried, lane);
    });
    held %= 32;
  }
  return written;
}

}  // namespace penstock::zstd
