// A buffer between two sentinels that lie directly at its ends.
#pragma once
#include <algorithm>
#include <vector>

#include "penstock/bytes.hpp"

namespace penstock::contract {

class Guarded {
 public:
  Guarded(std::size_t size, std::byte content) : size_(size), bytes_(size + 2 * kGuard, kSentinel) {
    std::fill_n(bytes_.begin() + kGuard, size, content);
  }
  explicit Guarded(ByteView content) : Guarded(content.size(), std::byte{0}) {
    std::copy(content.begin(), content.end(), bytes_.begin() + kGuard);
  }
  [[nodiscard]] ByteSpan span() { return {bytes_.data() + kGuard, size_}; }
  [[nodiscard]] ByteView view() const { return {bytes_.data() + kGuard, size_}; }
  [[nodiscard]] bool intact() const {
    const auto is_sentinel = [](std::byte b) { return b == kSentinel; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, is_sentinel) &&
           std::all_of(bytes_.end() - kGuard, bytes_.end(), is_sentinel);
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 1024;
  static constexpr std::byte kSentinel{0xc3};
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

}  // namespace penstock::contract
