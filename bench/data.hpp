// What benchmarks of codecs share: their chunks, the batches they come in, and the GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/measure/samples.hpp"
#include "penstock/device.hpp"

namespace penstock::bench {

using cli::make_sample, cli::Sample, cli::sample_dtype;
using Raw = std::vector<std::byte>;

inline constexpr Device kGpu{Device::Type::cuda, 0};
inline constexpr std::uint64_t kVariety = 8;  // different chunks in a batch

struct BatchShape {
  std::uint64_t chunk_bytes;
  std::uint32_t count;
};

}  // namespace penstock::bench
