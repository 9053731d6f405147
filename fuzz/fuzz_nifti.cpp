// Bytes as a NIfTI file: what parses lies in the file, has finite places in the world and a chain for its chunks.
#include <cmath>

#include "codec/chain.hpp"
#include "format/nifti/nifti.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::demand;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const auto dataset = parse_nifti(bytes.first(std::min<std::size_t>(size, kNiftiHeaderBytes)), "x.nii", size);
  if (!dataset) {
    demand(!dataset.error().message().empty());
    return 0;
  }
  demand(dataset->rank() >= 1 && dataset->rank() <= 7 && dataset->chunk_shape.size() == dataset->rank());
  const auto* where = std::get_if<ContiguousChunks>(&dataset->placement);
  demand(where != nullptr && where->offset_bytes <= size);
  const auto elements = element_count(dataset->shape);
  demand(elements && *elements <= (size - where->offset_bytes) / dataset->dtype.size_bytes);
  demand(dataset->world_from_voxel.has_value());
  for (const double value : dataset->world_from_voxel->rows) demand(std::isfinite(value));
  demand(CodecChain::make(dataset->codecs, {dataset->chunk_shape, dataset->dtype, dataset->fill}).has_value());
  return 0;
}
