// Chunks to time codecs with: what a microscope makes, and segmentations.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/dtype.hpp"

namespace penstock::cli {

/// What a chunk holds; all are made from a seed.
enum class Sample : std::uint8_t { u16, shuffled_u16, labels, f4, f8, mask };
std::string_view sample_name(Sample sample);
DType sample_dtype(Sample sample);
/// The elements of a chunk; another seed gives another chunk of the same kind.
std::vector<std::byte> make_sample(Sample sample, std::uint64_t bytes, unsigned seed);

}  // namespace penstock::cli
