// LZW streams that a maker makes, some of them damaged: every executor, by one team and by a team for each segment,
// says what the CPU's decoder says, and undamaged ones give their content.
#include <algorithm>
#include <memory>

#include "codec/tiff_lzw/segments.hpp"
#include "device/warps.hpp"
#include "inputs.hpp"

using namespace penstock;
using namespace penstock::tiff;
using fuzz::Data;
using fuzz::demand;

namespace {

struct Decoded {
  ChunkStatus status;
  Data out;
};

template <class Team>
Decoded by_one(const Team& team, const fuzz::Input& in) {
  Decoded result{{}, Data(in.wanted)};
  const auto shared = std::make_unique<LzwShared>();
  result.status = decode_lzw_chunk(team, fuzz::task_of(in.bytes, result.out), LzwVariant::standard, *shared);
  return result;
}

template <class Team>
Decoded by_segments(const Team& team, const fuzz::Input& in) {
  Decoded result{{}, Data(in.wanted)};
  const DecodeTask task = fuzz::task_of(in.bytes, result.out);
  const auto shared = std::make_unique<LzwShared>();
  std::vector<LzwSegment> segments(lzw_slots(in.wanted));
  const auto slots = static_cast<std::uint32_t>(segments.size());
  LzwTile tile;
  find_lzw_segments(team, task, slots, tile, segments.data());
  for (std::uint32_t slot = slots; slot-- > 0;) measure_lzw_segment(team, task, tile, segments.data(), slot, *shared);
  for (std::uint32_t slot = slots; slot-- > 0;)
    decode_lzw_segment(team, task, tile, segments.data(), slot, *shared, result.status);
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto in = fuzz::lzw_made_input(data, size);
  if (!in) return 0;
  Data out(in->wanted);
  const bool taken =
      decode_lzw(std::as_bytes(std::span(in->bytes)), std::as_writable_bytes(std::span(out)), LzwVariant::standard)
          .has_value();
  if (in->made) demand(taken && out == in->content);
  const Decoded one = by_one(HostWarp(), *in);
  demand((one.status.status == DecodeStatus::ok) == taken);
  if (taken) demand(one.out == out);
  for (const Decoded& other :
       {by_one(PermWarp(in->seed), *in), by_segments(HostWarp(), *in), by_segments(PermWarp(in->seed), *in)}) {
    demand(fuzz::same(other.status, one.status));
    demand(std::equal(other.out.begin(), other.out.begin() + static_cast<std::ptrdiff_t>(one.status.output_bytes),
                      one.out.begin()));
  }
  return 0;
}
