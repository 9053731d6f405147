// Bytes as a TRK file.
#include "tractogram.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  auto source = tracto::ObjectSource::open(fuzz::store_of({{"x.trk", bytes}}), "x.trk");
  fuzz::demand(source.has_value());
  fuzz::read_all(tracto::read_trk(*std::move(source)), size);
  return 0;
}
