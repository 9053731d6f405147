// Where the makers of streams take their decisions from: chance, or the bytes of a fuzzer.
#pragma once
#include <cstddef>
#include <cstdint>

namespace penstock::test {

/// Numbers by chance, or, as long as there are some, by a fuzzer's bytes, of which a decision takes two: so the fuzzer
/// sees what each of its bytes does.
class Choices {
 public:
  explicit Choices(std::uint32_t seed) : random_(seed) {}
  Choices(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes), left_(size), random_(hash(bytes, size)) {}

  /// 32 bits by chance, 16 by the fuzzer's bytes.
  std::uint32_t operator()() {
    if (left_ < 2) return chance();
    const std::uint32_t value = bytes_[0] | static_cast<std::uint32_t>(bytes_[1]) << 8;
    bytes_ += 2;
    left_ -= 2;
    return value;
  }
  /// One byte, of one byte.
  std::uint8_t byte() {
    if (left_ == 0) return static_cast<std::uint8_t>(chance());
    --left_;
    return *bytes_++;
  }
  /// Always by chance: for the content, of which there is much and which decides nothing.
  std::uint32_t chance() {
    // A linear congruential generator, of which the upper half is good: quick to begin with and to copy.  The numbers
    // are Knuth's (The Art of Computer Programming, volume 2, 3.3.4).
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::uint32_t>(random_ >> 32);
  }
  /// Below `n`, which is not 0.
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>((*this)() % n); }
  bool one_in(std::uint32_t n) { return (*this)() % n == 0; }

 private:
  static std::uint32_t hash(const std::uint8_t* bytes, std::size_t size) {
    std::uint32_t h = 2166136261;  // FNV-1a
    for (std::size_t i = 0; i < size; ++i) h = (h ^ bytes[i]) * 16777619;
    return h;
  }
  const std::uint8_t* bytes_ = nullptr;
  std::size_t left_ = 0;
  std::uint64_t random_;
};

}  // namespace penstock::test
