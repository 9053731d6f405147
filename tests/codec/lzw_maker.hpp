// Streams of TIFF's LZW as choices say: any codes that a decoder must take, with Clears anywhere.
#pragma once
#include <algorithm>
#include <vector>

#include "codec/choices.hpp"
#include "codec/tiff_lzw/bits.hpp"

namespace penstock::test {

/// Appends `codes` codes, their bits and their content.
class LzwMaker {
 public:
  LzwMaker(Choices& choices, std::vector<std::uint8_t>& stream, std::vector<std::uint8_t>& content)
      : choices_(choices), stream_(stream), content_(content) {}

  void make(std::size_t codes) {
    put(tiff::kLzwClear);
    // As libtiff clears; seldom; by chance; never.
    const std::uint32_t kinds[] = {tiff::kLzwFullSegment, 5000, 1 + choices_.chance() % 3000, ~0U};
    const std::uint32_t clear_after = kinds[choices_.below(4)], recent = 1 + choices_.below(4);
    for (std::size_t i = 0; i < codes; ++i) {
      const auto n = static_cast<std::uint32_t>(begins_.size());
      if (n >= clear_after) {
        put(tiff::kLzwClear);
        if (choices_.one_in(8)) put(tiff::kLzwClear);
        continue;
      }
      const std::uint32_t entries = std::min(n, tiff::kLzwEntries), chance = choices_.chance();
      if (entries == 0 || chance % 3 == 0)
        add(chance >> 8 & 0xFF);
      else if (chance % 3 == 1)
        add(tiff::kLzwFirst + entries - 1 - chance / 3 % std::min(entries, recent));
      else
        add(tiff::kLzwFirst + chance / 3 % entries);
    }
    if (choices_.one_in(2)) put(tiff::kLzwEnd);
  }

 private:
  void add(std::uint32_t code) {
    put(code);
    const std::size_t begin = content_.size();
    if (code < tiff::kLzwClear) {
      content_.push_back(static_cast<std::uint8_t>(code));
    } else {
      const std::uint32_t k = code - tiff::kLzwFirst;
      const std::size_t from = begins_[k], end = k + 1 < begins_.size() ? begins_[k + 1] : begin;
      for (std::size_t i = from; i <= end; ++i) content_.push_back(content_[i]);
    }
    begins_.push_back(begin);
  }
  void put(std::uint32_t code) {
    const std::uint32_t width = tiff::lzw_width(static_cast<std::uint32_t>(begins_.size()), 0);
    for (std::uint32_t b = width; b-- > 0; ++bit_) {
      if (bit_ % 8 == 0) stream_.push_back(0);
      if ((code >> b & 1) != 0) stream_.back() |= static_cast<std::uint8_t>(0x80 >> bit_ % 8);
    }
    if (code == tiff::kLzwClear) begins_.clear();
  }
  Choices& choices_;
  std::vector<std::uint8_t>&stream_, &content_;
  std::vector<std::size_t> begins_;  // of the strings since the last Clear
  std::size_t bit_ = 0;
};

}  // namespace penstock::test
