// fletcher32: the bytes and then their Fletcher checksum as HDF5 has it.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/checksum32.html
//                https://docs.hdfgroup.org/hdf5/develop/group___f_l_e_t_c_h_e_r32.html
// Format         two 16-bit sums modulo 65535 over big-endian 16-bit words, an odd last byte being the high half of a
//                word; (second sum << 16 | first sum), little-endian, at the end
// Names          v3 "numcodecs.fletcher32", alias "fletcher32"; v2 "fletcher32"
// Example        {"name": "numcodecs.fletcher32"}
// Limits         none
// Deviations     none.  A sum that is 0 modulo 65535 is kept as 65535 unless all words are 0, as HDF5 keeps it
#include <algorithm>

#include "codec/checksum.hpp"
#include "codec/fletcher32/fletcher32.hpp"
#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

std::uint32_t fold(std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); }

std::uint32_t fletcher32(ByteView bytes) {
  constexpr std::size_t kWords = 360;  // as many as the second sum has room for
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const std::byte* p = bytes.data();
  for (std::size_t words = bytes.size() / 2; words > 0;) {
    const std::size_t now = std::min(words, kWords);
    for (std::size_t i = 0; i < now; ++i, p += 2) {
      first += static_cast<std::uint32_t>(p[0]) << 8 | static_cast<std::uint32_t>(p[1]);
      second += first;
    }
    first = fold(first);
    second = fold(second);
    words -= now;
  }
  if (bytes.size() % 2 != 0) {
    first += static_cast<std::uint32_t>(*p) << 8;
    second += first;
    first = fold(first);
    second = fold(second);
  }
  return fold(second) << 16 | fold(first);
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {}));
  return AnyCodec(
      make_checksum({"numcodecs.fletcher32", "{}"}, ChecksumLocation::end, fletcher32, checksum::Sum::fletcher32));
}

constexpr std::string_view kAliases[] = {"fletcher32"};

}  // namespace

const CodecEntry kFletcher32Codec = {"numcodecs.fletcher32", kAliases, "fletcher32", make, nullptr, nullptr};

}  // namespace penstock
