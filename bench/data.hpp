// Data for benchmarks of codecs: what a microscope makes, and segmentations; and the batches they come in.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "codec/shuffle/shuffle.hpp"
#include "penstock/device.hpp"

namespace penstock::bench {

using Raw = std::vector<std::byte>;

enum class Data { u16, shuffled_u16, labels };

inline constexpr Device kGpu{Device::Type::cuda, 0};
inline constexpr std::uint64_t kVariety = 8;  // different chunks in a batch

struct BatchShape {
  std::uint64_t chunk_bytes;
  std::uint32_t count;
};

/// A u16 volume as a microscope makes it: smooth blobs over a background, with shot noise.
inline Raw microscopy(std::uint64_t bytes, unsigned seed) {
  Raw out(bytes);
  std::mt19937 random(seed);
  std::normal_distribution<float> noise;
  const auto side = static_cast<std::uint64_t>(std::llround(std::cbrt(static_cast<double>(bytes) / 2)));
  const float cx = 0.3F + 0.05F * static_cast<float>(seed), cy = 0.6F, cz = 0.5F;
  for (std::uint64_t i = 0; i < bytes / 2; ++i) {
    const float x = static_cast<float>(i % side) / static_cast<float>(side);
    const float y = static_cast<float>(i / side % side) / static_cast<float>(side);
    const float z = static_cast<float>(i / side / side) / static_cast<float>(side);
    const float far = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - cz) * (z - cz);
    const float mean = 40 + 420 * std::exp(-far / 0.12F);
    const auto value = static_cast<std::uint16_t>(std::max(0.0F, mean + noise(random) * std::sqrt(mean) + 0.5F));
    std::memcpy(out.data() + 2 * i, &value, 2);
  }
  return out;
}

/// A u32 segmentation: runs of one label.
inline Raw labels(std::uint64_t bytes, unsigned seed) {
  Raw out(bytes);
  std::mt19937 random(seed);
  std::uint32_t label = 0, left = 0;
  for (std::uint64_t i = 0; i < bytes / 4; ++i, --left) {
    if (left == 0) {
      left = static_cast<std::uint32_t>(20 + random() % 200);
      label = static_cast<std::uint32_t>(random() % 3 == 0 ? 0 : 1 + 7 * (random() % 50));
    }
    std::memcpy(out.data() + 4 * i, &label, 4);
  }
  return out;
}

inline Raw make(Data data, std::uint64_t bytes, unsigned seed) {
  if (data == Data::labels) return labels(bytes, seed);
  Raw raw = microscopy(bytes, seed);
  if (data == Data::u16) return raw;
  Raw planes(bytes);
  shuffle_bytes(raw.data(), planes.data(), bytes / 2, 2);
  return planes;
}

}  // namespace penstock::bench
