#include "cli/measure/samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace penstock::cli {
namespace {

/// A u16 volume as a microscope makes it: smooth blobs over a background, with shot noise.
std::vector<std::byte> microscopy(std::uint64_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
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
std::vector<std::byte> labels(std::uint64_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
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

/// Values of a u16 volume as another type.
template <class T>
std::vector<std::byte> converted(std::uint64_t bytes, unsigned seed) {
  const std::vector<std::byte> from = microscopy(bytes / sizeof(T) * 2, seed);
  std::vector<std::byte> to(bytes);
  for (std::uint64_t i = 0; i < bytes / sizeof(T); ++i) {
    std::uint16_t value = 0;
    std::memcpy(&value, from.data() + 2 * i, 2);
    const auto number = static_cast<T>(value);
    std::memcpy(to.data() + sizeof(T) * i, &number, sizeof(T));
  }
  return to;
}

std::vector<std::byte> shuffled(const std::vector<std::byte>& raw) {
  std::vector<std::byte> planes(raw.size());
  const std::size_t count = raw.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    planes[i] = raw[2 * i];
    planes[count + i] = raw[2 * i + 1];
  }
  return planes;
}

}  // namespace

std::string_view sample_name(Sample sample) {
  constexpr std::string_view kNames[] = {"u16", "shuffled u16", "labels", "f4", "f8", "mask"};
  return kNames[static_cast<std::size_t>(sample)];
}

DType sample_dtype(Sample sample) {
  switch (sample) {
    case Sample::u16:
    case Sample::shuffled_u16: return DType::uint16();
    case Sample::labels: return DType::uint32();
    case Sample::f4: return DType::float32();
    case Sample::f8: return DType::float64();
    case Sample::mask: break;
  }
  return DType::boolean();
}

std::vector<std::byte> make_sample(Sample sample, std::uint64_t bytes, unsigned seed) {
  switch (sample) {
    case Sample::u16: return microscopy(bytes, seed);
    case Sample::shuffled_u16: return shuffled(microscopy(bytes, seed));
    case Sample::labels: return labels(bytes, seed);
    case Sample::f4: return converted<float>(bytes, seed);
    case Sample::f8: return converted<double>(bytes, seed);
    case Sample::mask: break;
  }
  std::vector<std::byte> mask = labels(bytes * 4, seed), out(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(mask[4 * i] != std::byte{0});
  return out;
}

}  // namespace penstock::cli
