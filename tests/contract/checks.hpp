// What every codec must keep.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "contract/cases.hpp"
#include "penstock/device.hpp"

namespace penstock::contract {

enum class Outcome { passed, failed, not_supported };
struct Check {
  Outcome outcome = Outcome::passed;
  std::string text;  ///< what failed, or why it is not supported
};

/// A chain with its sample encoded.
struct Prepared {
  CodecChain chain;
  std::vector<std::byte> data;
  Bytes encoded;
};
/// The chain and an encoded sample, or why there is none.
std::optional<Prepared> prepare(const Case& c, const ChunkSpec& chunk, Check& check);

/// Encodes, decodes, decodes with the layout left over; sizes; sentinels; the codecs' own specs make the same chain.
Check check_round_trip(const Case& c, const ChunkSpec& chunk);
/// Every proper prefix of an encoded chunk is an error, as is one byte more; no sentinel is touched.  A padded chunk
/// may miss its padding: then the values are the same.
Check check_truncation(const Case& c, const ChunkSpec& chunk);
/// Every single flipped bit gives an error or a whole result, the same whatever was in the output before; with a
/// checksum an error or the original.
Check check_bit_flips(const Case& c, const ChunkSpec& chunk);

/// The chain's device decoders, run on `device` over one batch of the chunk, all its truncations and (`flips`) all its
/// single flipped bits: each gives what CodecChain::decode_to_layout gives, bytes or a refusal.
Check check_device(const Case& c, const ChunkSpec& chunk, bool flips, Device device);

}  // namespace penstock::contract
