// LZW streams that a maker makes, some of them damaged: every executor
// says what the CPU's decoder says, and undamaged ones give their content.
#include <algorithm>
#include <memory>

#include "codec/tiff_lzw/block.hpp"
#include "device/teams.hpp"
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
Decoded decoded(const Team& team, const fuzz::Input& in) {
  Decoded result{{}, Data(in.wanted)};
  const auto shared = std::make_unique<LzwShared<Team::lanes>>();
  result.status = decode_lzw_chunk(team, fuzz::task_of(in.bytes, result.out), LzwVariant::standard, *shared);
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
  const Decoded one = decoded(HostTeam<128>(), *in);
  demand((one.status.status == DecodeStatus::ok) == taken);
  if (taken) demand(one.out == out);
  for (const Decoded& other : {decoded(PermTeam<128>(in->seed), *in), decoded(PermTeam<256>(in->seed), *in)}) {
    demand(fuzz::same(other.status, one.status));
    demand(std::equal(other.out.begin(), other.out.begin() + static_cast<std::ptrdiff_t>(one.status.output_bytes),
                      one.out.begin()));
  }
  return 0;
}
