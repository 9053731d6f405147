// Small volumes of a formula, written and read whole.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "oct/file/volume.hpp"

namespace penstock::oct_test {

using Value = std::function<double(std::uint64_t, std::uint64_t, std::uint64_t)>;

inline void write_volume(const std::string& path, const Shape& shape, const Shape& chunks, const Value& value,
                         std::uint64_t sharding_factor = 1, const std::vector<double>& offset_mm = {}) {
  oct::VolumeSpec spec;
  spec.shape = shape;
  spec.chunks = chunks;
  spec.sharding_factor = sharding_factor;
  spec.spacing_mm = {0.01, 0.01, 0.01};
  spec.offset_mm = offset_mm;
  auto made = oct::NewVolume::create(path, spec, false);
  ASSERT_TRUE(made) << made.error().message();
  std::vector<float> values;
  for (std::uint64_t z = 0; z < shape[0]; ++z)
    for (std::uint64_t r = 0; r < shape[1]; ++r)
      for (std::uint64_t c = 0; c < shape[2]; ++c) values.push_back(static_cast<float>(value(z, r, c)));
  ASSERT_TRUE(oct::write_block(made->array(), whole(shape), values, {}));
  ASSERT_TRUE(made->finish({}, {}));
}

inline oct::Volume open_made(const std::string& path) { return oct::open_volume(path, 3).value(); }
inline std::vector<float> values_of(const std::string& path) {
  const oct::Volume volume = open_made(path);
  return oct::read_block(volume.array, whole(volume.shape), {}).value().values;
}

}  // namespace penstock::oct_test
