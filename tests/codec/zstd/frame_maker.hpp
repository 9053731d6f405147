// Whole frames by chance, and what they decode to.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "codec/zstd/decode/checksum.hpp"
#include "codec/zstd/frame_writer.hpp"
#include "device/team.hpp"

namespace penstock::zstd::test {

/// What was met, so that a test can see that everything was.
struct Met {
  std::array<int, 3> blocks{};
  std::array<int, 4> literals{}, modes{};
  int one_stream = 0, checksums = 0, windows = 0, skippable = 0;
};

class FrameMaker {
 public:
  explicit FrameMaker(const Choices& choices) : random_(choices) {}

  [[nodiscard]] const Choices& choices() const { return random_; }  ///< those that are left

  Data frame;    ///< encoded
  Data content;  ///< decoded
  Met met;

  /// Appends a frame whose content has about `size` bytes.
  void add_frame(std::size_t size) {
    const std::size_t begin = content.size();
    frame_begin_ = begin;
    window_ = chance(2) ? 0 : 1024u << random_() % 8;
    max_ = window_ == 0 ? std::min<std::size_t>(size, kMaxBlockBytes) : std::min<std::size_t>(window_, kMaxBlockBytes);
    huffman_.reset();
    for (auto& code : codes_) code.reset();
    repeat_ = {1, 4, 8};
    Data blocks;
    std::size_t left = size;
    do {
      // Few enough blocks for the decoder's scratch.
      const std::size_t least = size / 4 + 1;
      const std::size_t n = chance(10) ? 0 : std::max(least, 1 + random_() % std::max<std::size_t>(left, 1));
      const std::size_t take = std::min({n, left, max_});
      left -= take;
      const bool last = left == 0 && !chance(5);
      add_block(blocks, take, last);
      if (last) break;
    } while (true);
    write_header(content.size() - begin);
    frame.insert(frame.end(), blocks.begin(), blocks.end());
    if (checksum_) add_checksum(begin);
  }
  void add_skippable(std::size_t n) {
    ++met.skippable;
    little(frame, kSkippableMagic + random_() % 16, 4);
    little(frame, static_cast<std::uint32_t>(n), 4);
    for (std::size_t i = 0; i < n; ++i) frame.push_back(static_cast<std::uint8_t>(random_.chance()));
  }

 private:
  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  static void little(Data& to, std::uint64_t value, int bytes) {
    for (int k = 0; k < bytes; ++k) to.push_back(static_cast<std::uint8_t>(value >> (8 * k)));
  }

  void write_header(std::size_t made) {
    checksum_ = chance(2);
    const bool single = window_ == 0;
    met.windows += single ? 0 : 1;
    int size_bytes = single ? (made < 256 ? 1 : made < 65536 + 256 ? 2 : 4) : (chance(2) ? 0 : 4);
    if (chance(6)) size_bytes = 8;
    const unsigned size_flag = size_bytes == 8 ? 3 : size_bytes == 4 ? 2 : size_bytes == 2 ? 1 : 0;
    little(frame, kFrameMagic, 4);
    frame.push_back(static_cast<std::uint8_t>(size_flag << 6 | (single ? 32 : 0) | (checksum_ ? 4 : 0)));
    if (!single) frame.push_back(static_cast<std::uint8_t>((high_bit(static_cast<std::uint32_t>(window_)) - 10) << 3));
    little(frame, size_bytes == 2 ? made - 256 : made, size_bytes);
  }
  void add_checksum(std::size_t begin) {
    ++met.checksums;
    ChecksumShared<32> shared;
    little(frame, frame_checksum(HostTeam<>(), content.data() + begin, content.size() - begin, shared), 4);
  }

  void add_block(Data& to, std::size_t n, bool last) {
    const unsigned type = n == 0 ? 0 : static_cast<unsigned>(random_() % 8);
    if (type == 0) {
      ++met.blocks[0];
      little(to, n << 3 | (last ? 1 : 0), 3);
      for (std::size_t i = 0; i < n; ++i) to.push_back(add(static_cast<std::uint8_t>(random_.chance())));
      return;
    }
    if (type == 1) {
      ++met.blocks[1];
      little(to, n << 3 | 2 | (last ? 1 : 0), 3);
      to.push_back(static_cast<std::uint8_t>(random_()));
      for (std::size_t i = 0; i < n; ++i) add(to.back());
      return;
    }
    const auto before = std::make_tuple(huffman_, codes_, repeat_, met);
    Data block = compressed(n);
    const bool fits = block.size() <= max_ && block.size() < kMaxBlockBytes;
    if (!fits) {
      std::tie(huffman_, codes_, repeat_, met) = before;
      block.assign(content.end() - static_cast<std::ptrdiff_t>(n), content.end());
    }
    ++met.blocks[fits ? 2 : 0];
    little(to, block.size() << 3 | (fits ? 4 : 0) | (last ? 1 : 0), 3);
    to.insert(to.end(), block.begin(), block.end());
  }
  std::uint8_t add(std::uint8_t byte) {
    content.push_back(byte);
    return byte;
  }

  /// A compressed block of `n` bytes.  Its literals are cut to what its encoding may take.
  Data compressed(std::size_t n) {
    std::vector<WrittenSequence> sequences;
    std::vector<std::uint32_t> offsets;
    Data literals;
    std::size_t made = 0;
    choose_alphabet();
    static constexpr unsigned kEnds[] = {5, 30, 1000, 1000000};
    const unsigned ends = kEnds[random_() % 4];
    const auto add_literals = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) literals.push_back(add(alphabet_[random_.chance() % alphabet_.size()]));
      made += count;
    };
    while (!chance(ends) && n - made >= 3) {
      WrittenSequence s;
      const std::size_t most = n - made - 3;
      s.literals = static_cast<std::uint32_t>(
          chance(3) ? 0 : random_() % (std::min<std::size_t>(most, chance(20) ? 3000 : 6) + 1));
      s.match = static_cast<std::uint32_t>(
          3 + random_() % (std::min<std::size_t>(most - s.literals, chance(20) ? 70000 : 20) + 1));
      add_literals(s.literals);
      const std::size_t written = content.size() - frame_begin_;
      if (written == 0) {  // nothing to repeat yet
        add_literals(1);
        s.literals += 1;
        if (n - made < s.match) break;
      }
      const std::uint32_t offset = choose_offset(s, content.size() - frame_begin_);
      for (std::uint32_t i = 0; i < s.match; ++i) add(content[content.size() - offset]);
      made += s.match;
      sequences.push_back(s);
    }
    add_literals(n - made);
    Data out = literals_section(literals);
    const Data rest = sequences_section(sequences);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }
  void choose_alphabet() {
    next_huffman_ = huffman_ && chance(2) ? *huffman_ : HuffmanCode::make(random_);
    alphabet_.clear();
    const bool one = chance(10);
    for (unsigned s = 0; s < 256; ++s)
      if (next_huffman_.has(static_cast<std::uint8_t>(s)) && (!one || alphabet_.empty()))
        alphabet_.push_back(static_cast<std::uint8_t>(s));
  }
  /// Sets the sequence's offset value and the repeated offsets (RFC 8878, 3.1.1.5); the offset.
  std::uint32_t choose_offset(WrittenSequence& s, std::size_t written) {
    const std::uint32_t value = 1 + static_cast<std::uint32_t>(random_() % 3);
    if (chance(2)) {
      const std::uint32_t which = value - 1 + (s.literals == 0 ? 1 : 0);
      const std::uint32_t offset = which < 3 ? repeat_[which] : repeat_[0] - 1;
      if (offset >= 1 && offset <= written) {
        s.offset_value = value;
        if (which >= 2) repeat_[2] = repeat_[1];
        if (which >= 1) repeat_[1] = repeat_[0];
        repeat_[0] = offset;
        return offset;
      }
    }
    const std::size_t most = chance(3) ? written : std::min<std::size_t>(written, 12);
    const auto offset = static_cast<std::uint32_t>(1 + random_() % most);
    s.offset_value = offset + 3;
    repeat_ = {offset, repeat_[0], repeat_[1]};
    return offset;
  }

  Data literals_section(const Data& literals) {
    const bool all_same =
        std::all_of(literals.begin(), literals.end(), [&](std::uint8_t x) { return x == literals[0]; });
    Data tree, streams;
    const bool treeless = huffman_ && next_huffman_.length == huffman_->length && !chance(4);
    if (!treeless) tree = chance(2) ? next_huffman_.plain_description() : next_huffman_.coded_description(random_);
    const bool four = literals.size() >= 6 && 3 * ((literals.size() + 3) / 4) <= literals.size() &&
                      (literals.size() > 1000 || chance(2));
    if (literals.size() > 0 && (treeless || !tree.empty()) && !chance(4)) streams = huffman_streams(literals, four);
    const std::size_t packed = tree.size() + streams.size();
    if (streams.empty() || packed >= 1u << 18 || packed > kMaxBlockBytes - 5000)
      return literals.size() > 0 && all_same && chance(2) ? simple_section(literals, LiteralType::rle)
                                                          : simple_section(literals, LiteralType::raw);
    ++met.literals[treeless ? 3 : 2];
    met.one_stream += four ? 0 : 1;
    Data out;
    const std::size_t most = std::max(packed, literals.size());
    const unsigned format = !four          ? 0
                            : most < 1024  ? 1 + (chance(3) ? 1 : 0)
                            : most < 16384 ? 2 + (chance(3) ? 1 : 0)
                                           : 3;
    const int bits = format < 2 ? 10 : format == 2 ? 14 : 18;
    little(out,
           (treeless ? 3 : 2) | format << 2 | static_cast<std::uint64_t>(literals.size()) << 4 |
               static_cast<std::uint64_t>(packed) << (4 + bits),
           (4 + 2 * bits) / 8);
    out.insert(out.end(), tree.begin(), tree.end());
    out.insert(out.end(), streams.begin(), streams.end());
    huffman_ = next_huffman_;
    return out;
  }
  Data huffman_streams(const Data& literals, bool four) {
    if (!four) {
      const Data one = next_huffman_.stream(literals.data(), literals.size());
      return literals.size() < 1024 && one.size() < 800 ? one : Data{};
    }
    const std::size_t quarter = (literals.size() + 3) / 4;
    Data sizes, all;
    for (std::size_t k = 0; k < 4; ++k) {
      const Data one =
          next_huffman_.stream(literals.data() + k * quarter, std::min(quarter, literals.size() - k * quarter));
      if (one.size() > 65535) return {};
      if (k < 3) little(sizes, one.size(), 2);
      all.insert(all.end(), one.begin(), one.end());
    }
    sizes.insert(sizes.end(), all.begin(), all.end());
    return sizes;
  }
  Data simple_section(const Data& literals, LiteralType type) {
    ++met.literals[type == LiteralType::raw ? 0 : 1];
    Data out;
    const std::size_t n = literals.size();
    const unsigned format = n < 32 && !chance(3) ? 0 : n < 4096 && !chance(3) ? 1 : 3;
    const std::uint64_t header = static_cast<std::uint64_t>(type) | format << 2 | n << (format == 0 ? 3 : 4);
    little(out, header, format == 0 ? 1 : format == 1 ? 2 : 3);
    out.insert(out.end(), literals.begin(), type == LiteralType::raw ? literals.end() : literals.begin() + 1);
    return out;
  }

  Data sequences_section(const std::vector<WrittenSequence>& sequences) {
    Data out;
    const std::size_t n = sequences.size();
    if (n < 128)
      little(out, n, 1);
    else if (n < 0x7F00)
      little(out, ((n >> 8) + 128) | (n & 255) << 8, 2);
    else
      little(out, 255 | (n - 0x7F00) << 8, 3);
    if (n == 0) return out;
    const std::size_t modes_at = out.size();
    out.push_back(0);
    for (int c = 0; c < kCodes; ++c) {
      const Data description = choose_code(c, sequences, out[modes_at]);
      out.insert(out.end(), description.begin(), description.end());
    }
    const Data stream = sequence_stream(sequences);
    out.insert(out.end(), stream.begin(), stream.end());
    return out;
  }
  /// Chooses the table of a code that has all the symbols; its description, and its mode into `modes`.
  Data choose_code(int c, const std::vector<WrittenSequence>& sequences, std::uint8_t& modes) {
    std::vector<bool> used(code_symbols(c), false);
    for (const auto& s : sequences) used[symbol_of(c, s.number(c)).first] = true;
    const auto set = [&](TableMode mode) {
      modes |= static_cast<std::uint8_t>(static_cast<unsigned>(mode) << (6 - 2 * c));
      ++met.modes[static_cast<std::size_t>(mode)];
    };
    const auto fits = [&](const FseCode& code) {
      for (std::uint32_t s = 0; s < used.size(); ++s)
        if (used[s] && !code.has(s)) return false;
      return true;
    };
    auto& now = codes_[static_cast<std::size_t>(c)];
    if (now && fits(*now) && !chance(3)) {
      set(TableMode::repeated);
      return {};
    }
    FseCode predefined;
    predefined.log = default_log(c);
    for (std::uint32_t s = 0; s < default_symbols(c); ++s)
      predefined.counts.push_back(static_cast<std::int16_t>(default_count(c, s)));
    predefined.build();
    if (fits(predefined) && chance(3)) {
      set(TableMode::predefined);
      now = predefined;
      return {};
    }
    if (std::count(used.begin(), used.end(), true) == 1 && !chance(4)) {
      const auto symbol = static_cast<std::uint32_t>(std::find(used.begin(), used.end(), true) - used.begin());
      set(TableMode::one_symbol);
      now = FseCode{};
      now->counts.assign(symbol + 1, 0);
      now->counts[symbol] = 1;
      now->table = {fse_entry(0, 0, symbol, 0)};
      return {static_cast<std::uint8_t>(symbol)};
    }
    set(TableMode::described);
    now = random_code(used, code_symbols(c), code_max_log(c), random_);
    return now->description();
  }
  Data sequence_stream(const std::vector<WrittenSequence>& sequences) {
    std::array<std::vector<std::uint32_t>, kCodes> states;
    for (int c = 0; c < kCodes; ++c) {
      const FseCode& code = *codes_[static_cast<std::size_t>(c)];
      auto& of = states[static_cast<std::size_t>(c)];
      of.resize(sequences.size());
      for (std::size_t i = sequences.size(); i-- > 0;) {
        const std::uint32_t symbol = symbol_of(c, sequences[i].number(c)).first;
        of[i] = i + 1 == sequences.size() ? code.any_state(symbol, 0, random_) : code.state_before(symbol, of[i + 1]);
      }
    }
    BackwardWriter bits;
    for (const int c : {kLiteralLength, kOffset, kMatchLength})
      bits.add(states[static_cast<std::size_t>(c)][0], codes_[static_cast<std::size_t>(c)]->log);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      for (const int c : {kOffset, kMatchLength, kLiteralLength}) {
        const auto [symbol, extra] = symbol_of(c, sequences[i].number(c));
        bits.add(extra, extra_bits(c, symbol));
      }
      if (i + 1 == sequences.size()) break;
      for (const int c : {kLiteralLength, kMatchLength, kOffset}) {
        const auto& of = states[static_cast<std::size_t>(c)];
        const std::uint32_t entry = codes_[static_cast<std::size_t>(c)]->table[of[i]];
        bits.add(of[i + 1] - entry_base(entry), entry_bits(entry));
      }
    }
    return bits.bytes();
  }

  Choices random_;
  std::size_t frame_begin_ = 0, window_ = 0, max_ = 0;
  bool checksum_ = false;
  std::optional<HuffmanCode> huffman_;
  HuffmanCode next_huffman_;
  std::vector<std::uint8_t> alphabet_;
  std::array<std::optional<FseCode>, kCodes> codes_;
  std::array<std::uint32_t, 3> repeat_{};
};

/// Frames and skippable frames, of at most `most` bytes each; `plan` chooses how many and how long, `inside` the rest.
inline FrameMaker make_frames(Choices plan, const Choices& inside, std::size_t most) {
  FrameMaker maker(inside);
  const std::size_t frames = plan() % 5 == 0 ? 1 + plan() % 3 : 1;
  for (std::size_t i = 0; i < frames; ++i) {
    if (plan() % 8 == 0) maker.add_skippable(plan() % 20);
    const std::size_t size = plan() % 10 == 0 ? 300000 : plan() % 2 != 0 ? 100 : 9000;
    maker.add_frame(plan() % std::min(size, most));
  }
  return maker;
}
/// The same by chance.
inline FrameMaker make_frames(std::uint32_t seed, std::size_t most = 300000) {
  return make_frames(Choices(seed ^ 0x5EED), Choices(seed), most);
}

}  // namespace penstock::zstd::test
