// Bytes as a chunk to encode: the LZ4 encoder for devices, in order and scattered; liblz4 reads what it makes.
// Input: data_to_encode, whose second byte says how much less room than the bound there is.
#include <lz4.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/lz4/encode.hpp"
#include "device/encoding.hpp"
#include "device/teams.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::demand;
using namespace penstock::test;

namespace {

template <class Team>
Made encode(const Team& team, const Data& data, std::uint64_t room) {
  const auto layout = lz4::EncodeLayout::make(1, data.size(), nullptr);
  return encode_one(data, room, layout.scratch_bytes(1), [&](const EncodeBatch& batch, std::byte* scratch) {
    lz4::encode_on_host(team, batch, lz4::Framing::block, scratch);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const Data data = fuzz::data_to_encode(bytes, size);
  const std::uint64_t bound = lz4::bound(data.size());
  const Made ordered = encode(HostTeam<>(), data, bound), scattered = encode(PermTeam<>(bytes[1]), data, bound);
  demand(ordered.bytes != kNotEncoded && ordered.bytes == scattered.bytes && ordered.data == scattered.data);
  Data back(data.size() + 1);
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(ordered.data.data()), reinterpret_cast<char*>(back.data()),
                          static_cast<int>(ordered.bytes), static_cast<int>(data.size()));
  demand(made == static_cast<int>(data.size()) && std::equal(data.begin(), data.end(), back.begin()));
  const std::uint64_t room = bound - bytes[1] * bound / 255;
  const Made tight = encode(HostTeam<>(), data, room);
  demand(room >= ordered.bytes ? tight.data == ordered.data : tight.bytes == kNotEncoded);
  return 0;
}
