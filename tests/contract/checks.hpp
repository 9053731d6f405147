// What every codec must keep.
#pragma once
#include <string>
#include <vector>

#include "contract/cases.hpp"

namespace penstock::contract {

enum class Outcome { passed, failed, not_supported };
struct Check {
  Outcome outcome = Outcome::passed;
  std::string text;  ///< what failed, or why it is not supported
};

/// Encodes, decodes, decodes with the layout left over; sizes; sentinels; the codecs' own specs make the same chain.
Check check_round_trip(const Case& c, const ChunkSpec& chunk);
/// Every proper prefix of an encoded chunk is an error, as is one byte more; no sentinel is touched.  A padded chunk
/// may miss its padding: then the values are the same.
Check check_truncation(const Case& c, const ChunkSpec& chunk);
/// Every single flipped bit gives an error or a whole result, the same whatever was in the output before; with a
/// checksum an error or the original.
Check check_bit_flips(const Case& c, const ChunkSpec& chunk);

}  // namespace penstock::contract
