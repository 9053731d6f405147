// Shared by the codec tests.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <vector>

#include "codec/chain.hpp"

namespace penstock::test {

/// Chain from {name, configuration} pairs; fails the test on error.
inline CodecChain make_chain(std::initializer_list<CodecSpec> specs, const ChunkSpec& chunk) {
  auto chain = CodecChain::make(std::vector<CodecSpec>(specs), chunk);
  if (!chain) ADD_FAILURE() << chain.error().message();
  return std::move(chain).value();
}

/// Smooth values with a little noise, as images have: compressible, not trivial.
inline std::vector<std::byte> image_bytes(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = i % 2 == 0 ? static_cast<std::byte>(i / 16 + random() % 7) : static_cast<std::byte>(i >> 12);
  return out;
}

}  // namespace penstock::test
