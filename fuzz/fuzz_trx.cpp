// header.json, a zero byte, offsets, their number of bytes in the byte before: the parts of a TRX beside points that
// are there.  What a zip makes of hostile members, fuzz_zip tries.
#include <algorithm>

#include "tractogram.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const auto cut = static_cast<std::size_t>(std::find(bytes.begin(), bytes.end(), std::byte{0}) - bytes.begin());
  const ByteView head = bytes.first(cut), rest = bytes.subspan(std::min(cut + 1, size));
  const std::size_t n =
      rest.empty() ? 0 : std::min<std::size_t>(std::to_integer<std::size_t>(rest[0]), rest.size() - 1);
  const ByteView offsets = rest.empty() ? rest : rest.subspan(1, n), points = rest.empty() ? rest : rest.subspan(1 + n);
  for (const char* type : {"offsets.uint32", "offsets.uint64"})
    for (const char* name : {"positions.3.float16", "positions.3.float32", "positions.3.float64"})
      fuzz::read_all(tracto::read_trx(fuzz::store_of(
                         {{"header.json", head}, {type, offsets}, {name, points}, {"dps/reason.2.uint8", offsets}})),
                     size);
  return 0;
}
