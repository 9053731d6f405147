// How the bytes of a fuzz input become an encoded chunk, for the targets and for tests/device/corpus_batch.cpp, which
// decodes a whole corpus at once.  nullopt: too few bytes.
#pragma once
#include <algorithm>
#include <optional>

#include "codec/blosc/decode.hpp"
#include "codec/deflate_maker.hpp"
#include "codec/little.hpp"
#include "codec/lz4_frame_maker.hpp"
#include "codec/lzw_maker.hpp"
#include "codec/zstd/frame_maker.hpp"
#include "fuzz.hpp"

namespace penstock::fuzz {

/// An encoded chunk.
struct Input {
  std::uint32_t format = 0;  ///< where a target has several
  Data bytes;                ///< exactly as long as they are, for AddressSanitizer
  std::uint32_t wanted = 0;  ///< decoded size to ask for
  std::uint32_t seed = 0;    ///< of the order of lanes
  bool made = false;         ///< by a maker, and not damaged: it decodes to `content`
  Data content;
};

/// Two bytes of decoded size, then the chunk; in front of it, with several formats, a byte that chooses.
inline std::optional<Input> plain_input(const std::uint8_t* data, std::size_t size, std::uint32_t formats = 1) {
  const std::size_t front = formats > 1 ? 3 : 2;
  if (size < front) return std::nullopt;
  return Input{formats > 1 ? data[0] % formats : 0,
               Data(data + front, data + size),
               wanted_size(data + front - 2),
               static_cast<std::uint32_t>(size),
               false,
               {}};
}

/// zstd: two bytes of decoded size, one that adds 64 KiB when it is 255, then the frames.
inline std::optional<Input> zstd_input(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return std::nullopt;
  const std::uint32_t wanted = wanted_size(data) + (data[2] == 255 ? 0x10000 : 0);
  return Input{0, Data(data + 3, data + size), wanted, static_cast<std::uint32_t>(size * 31 + wanted), false, {}};
}

/// A byte that chooses the format, one with the number of damages, the damages (fuzz.hpp), then choices:
/// make(format, choices, input) makes the stream and its content of them.
template <class Make>
std::optional<Input> made_input(const std::uint8_t* data, std::size_t size, std::uint32_t formats, Make make) {
  if (size < 2) return std::nullopt;
  const std::uint32_t damages = data[1] % 4;
  const std::size_t begin = 2 + std::size_t{damages} * 3;
  if (size < begin) return std::nullopt;
  Input input;
  input.format = data[0] % formats;
  test::Choices choices(data + begin, size - begin);
  make(input.format, choices, input);
  input.bytes.shrink_to_fit();
  input.wanted = static_cast<std::uint32_t>(input.content.size());
  input.made = !damage(input.bytes, data + 2, damages);
  input.seed = choices.chance();
  return input;
}

/// Mostly small: most mistakes show in the first bytes, and a target should see thousands of inputs a second.  Whether
/// a stream is large is left to chance: as the fuzzer's choice, half of its corpus came to be large.
inline std::size_t choose_size(test::Choices& choices, std::size_t most) {
  const std::uint32_t chance = choices.chance() % 128;
  const std::size_t large = chance == 0 ? most : chance < 8 ? std::min<std::size_t>(most, 6000) : 0;
  return choices.below(large != 0 ? large : choices.one_in(2) ? 60 : 900);
}

/// Formats: LZ4 block, LZ4 frames, blosclz, Snappy.
inline std::optional<Input> lz_made_input(const std::uint8_t* data, std::size_t size) {
  return made_input(data, size, 4, [](std::uint32_t format, test::Choices& choices, Input& in) {
    // Blosc has no empty streams.
    const std::size_t bytes = choose_size(choices, 65535) + (format >= 2 ? 1 : 0);
    if (format == 1) {
      for (std::uint32_t frames = choices.one_in(4) ? 2 : 1; frames > 0; --frames) {
        if (choices.one_in(6)) test::add_skippable_lz4_frame(choices, in.bytes);
        test::add_lz4_frame(choices, bytes, in.bytes, in.content);
      }
      return;
    }
    const test::LzLimits limits[] = {test::kLz4Limits, {}, test::kBlosclzLimits, test::kSnappyLimits};
    const auto steps = test::make_steps(choices, limits[format], bytes, 0, in.content);
    in.bytes = format == 0   ? test::lz4_block(steps, in.content, 0)
               : format == 2 ? test::blosclz_stream(steps, in.content, choices)
                             : test::snappy_stream(steps, in.content, choices);
  });
}

/// Formats: as deflate::Container; of gzip one member or several, with zeros behind them.
inline std::optional<Input> deflate_made_input(const std::uint8_t* data, std::size_t size) {
  return made_input(data, size, 3, [](std::uint32_t format, test::Choices& choices, Input& in) {
    const auto container = static_cast<deflate::Container>(format);
    const bool gzip = container == deflate::Container::gzip;
    test::DeflateMaker maker(choices);
    for (std::uint32_t members = gzip && choices.one_in(4) ? 3 : 1; members > 0; --members) {
      maker.add(container, choose_size(choices, 65536));
      for (std::uint32_t zeros = gzip && choices.one_in(4) ? choices.below(5) : 0; zeros > 0; --zeros)
        maker.stream.push_back(0);
    }
    in.bytes = std::move(maker.stream);
    in.content = std::move(maker.content);
  });
}

/// Frames of zstd; the first eight bytes of choices say how many and how long.
inline std::optional<Input> zstd_made_input(const std::uint8_t* data, std::size_t size) {
  return made_input(data, size, 1, [](std::uint32_t, test::Choices& choices, Input& in) {
    const std::uint8_t plan[] = {choices.byte(), choices.byte(), choices.byte(), choices.byte(),
                                 choices.byte(), choices.byte(), choices.byte(), choices.byte()};
    zstd::test::FrameMaker maker = zstd::test::make_frames(test::Choices(plan, sizeof plan), choices, 900);
    in.bytes = std::move(maker.frame);
    in.content = std::move(maker.content);
  });
}

/// A byte that chooses codec (0: LZW, 1: of the old style) and decoded size, then the strip.
inline std::optional<Input> tiff_codecs_input(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return std::nullopt;
  return Input{
      data[0] % 4U, Data(data + 1, data + size), 1U << data[0] / 4 % 16, static_cast<std::uint32_t>(size), false, {}};
}

/// LZW of TIFF files, perhaps of several segments.
inline std::optional<Input> lzw_made_input(const std::uint8_t* data, std::size_t size) {
  return made_input(data, size, 1, [](std::uint32_t, test::Choices& choices, Input& in) {
    const std::size_t codes = choices.one_in(3) ? choices.below(12000) : choose_size(choices, 900);
    test::LzwMaker(choices, in.bytes, in.content).make(codes + 1);
    if (choices.one_in(4)) in.content.resize(in.content.size() - choices.below(in.content.size()));  // ends before
  });
}

/// A stream of `size` bytes of content, in a Blosc chunk; stored when it is as long as its content, whatever it holds.
inline Data blosc_stream(blosc::Inner inner, test::Choices& choices, std::size_t size, Data& content) {
  const std::size_t at = content.size();
  Data part, stream;
  const auto steps = [&](const test::LzLimits& limits) { return test::make_steps(choices, limits, size, 0, part); };
  if (inner == blosc::Inner::blosclz) {
    const auto made = steps(test::kBlosclzLimits);
    stream = test::blosclz_stream(made, part, choices);
  } else if (inner == blosc::Inner::lz4) {
    const auto made = steps(test::kLz4Limits);
    stream = test::lz4_block(made, part, 0);
  } else if (inner == blosc::Inner::snappy) {
    const auto made = steps(test::kSnappyLimits);
    stream = test::snappy_stream(made, part, choices);
  } else if (inner == blosc::Inner::zlib) {
    test::DeflateMaker maker(choices);
    maker.add(deflate::Container::zlib, size);
    stream = std::move(maker.stream), part = std::move(maker.content);
  } else {
    zstd::test::FrameMaker maker(choices);
    maker.add_frame(size);
    choices = maker.choices();
    stream = std::move(maker.frame), part = std::move(maker.content);
  }
  if (stream.size() == size || choices.one_in(8)) stream = part;
  content.insert(content.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
  return stream;
}

/// Formats: as blosc::Inner; every shuffle, split and size of blocks.  `content` is not unshuffled: its size counts.
inline std::optional<Input> blosc_made_input(const std::uint8_t* data, std::size_t size) {
  return made_input(data, size, 5, [](std::uint32_t format, test::Choices& choices, Input& in) {
    static constexpr std::uint8_t kItems[] = {1, 2, 2, 4, 8, 16, 3, 7, 17};
    const auto bytes = static_cast<std::uint32_t>(1 + choose_size(choices, 20000));
    const std::uint32_t item = kItems[choices.below(std::size(kItems))];
    std::uint32_t block = choices.one_in(2) ? bytes : 1 + bytes / 40 + choices.below(bytes - bytes / 40);
    block = std::min(block, bytes);
    const std::uint32_t flags = format << 5 | (choices.below(8) & 5), not_split = choices.one_in(2) ? 16 : 0;
    if (block > item && (not_split == 0 || !choices.one_in(8))) block = block / item * item;
    in.bytes = {2, 1, static_cast<std::uint8_t>(flags | not_split), static_cast<std::uint8_t>(item)};
    const std::uint32_t blocks = (bytes - 1) / block + 1;
    for (const std::uint32_t word : {bytes, block, 0u}) test::put_little(in.bytes, word, 4);
    in.bytes.resize(in.bytes.size() + 4 * std::size_t{blocks});
    const auto put_size = [&](std::size_t at) {
      store_little32(reinterpret_cast<std::byte*>(in.bytes.data() + at), static_cast<std::uint32_t>(in.bytes.size()));
    };
    const bool split = not_split == 0 && item <= 16 && block / item >= 128;
    for (std::uint32_t b = 0; b < blocks; ++b) {
      const std::uint32_t all = std::min(block, bytes - b * block), streams = split && all == block ? item : 1;
      put_size(blosc::kHeaderBytes + 4 * std::size_t{b});
      for (std::uint32_t s = 0; s < streams; ++s) {
        const Data stream = blosc_stream(static_cast<blosc::Inner>(format), choices, all / streams, in.content);
        test::put_little(in.bytes, stream.size(), 4);
        in.bytes.insert(in.bytes.end(), stream.begin(), stream.end());
      }
    }
    put_size(12);
    in.content.resize(bytes);  // a block that is no whole number of elements has streams of fewer bytes
  });
}

}  // namespace penstock::fuzz
