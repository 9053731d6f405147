// Bytes as a chunk to encode: the zstd encoder for devices, in order and scattered; libzstd reads what it makes.
// Input: data_to_encode, whose second byte says how much less room than the bound there is.
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/zstd/encode/encode.hpp"
#include "device/encoding.hpp"
#include "device/teams.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::demand;
using namespace penstock::test;

namespace {

template <class Team>
Made encode(const Team& team, const Data& data, std::uint64_t room, bool checksum) {
  const auto layout = zstd::EncodeLayout::make(1, data.size(), checksum, nullptr);
  return encode_one(data, room, layout.scratch_bytes(1), [&](const EncodeBatch& batch, std::byte* scratch) {
    zstd::encode_on_host(team, batch, checksum, scratch);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const Data data = fuzz::data_to_encode(bytes, size);
  const std::uint64_t bound = zstd::max_frame_bytes(data.size());
  const bool checksum = bytes[1] % 2 != 0;
  const Made ordered = encode(HostTeam<>(), data, bound, checksum);
  const Made scattered = encode(PermTeam<>(bytes[1]), data, bound, checksum);
  demand(ordered.bytes != kNotEncoded && ordered.bytes == scattered.bytes && ordered.data == scattered.data);
  demand(ZSTD_getFrameContentSize(ordered.data.data(), ordered.bytes) == data.size());
  Data back(data.size() + 1);
  const std::size_t made = ZSTD_decompress(back.data(), data.size(), ordered.data.data(), ordered.bytes);
  demand(made == data.size() && std::equal(data.begin(), data.end(), back.begin()));
  const std::uint64_t room = bound - bytes[1] * bound / 255;
  const Made tight = encode(HostTeam<>(), data, room, checksum);
  demand(room >= ordered.bytes ? tight.data == ordered.data : tight.bytes == kNotEncoded);
  return 0;
}
