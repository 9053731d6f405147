// The configuration of "sharding_indexed" in metadata: the one place where it is read and written.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "codec/sharding/sharding.hpp"
#include "core/json.hpp"

namespace penstock {

/// What it says.  Whether it fits a shard is seen when the codec is made.
struct ShardingSpec {
  using IndexLocation = ShardingCodec::IndexLocation;
  static constexpr std::string_view kName = "sharding_indexed";

  Shape chunk_shape;                ///< of the inner chunks
  std::vector<CodecSpec> codecs{};  ///< of them
  std::vector<CodecSpec> index_codecs = {{"bytes", R"({"endian":"little"})"}, {"crc32c", "{}"}};
  IndexLocation index_location = IndexLocation::end;

  /// `rank`: dimensions of the shard; `where`: what stands before the names of members in errors.
  /// Errors: invalid_metadata naming the member.
  static Result<ShardingSpec> parse(const Json& configuration, std::size_t rank, const std::string& where = "");
  /// The spec of a list that is nothing but one sharding codec; only then inner chunks can be read alone.
  /// Errors: those of parse.
  static Result<std::optional<ShardingSpec>> find(std::span<const CodecSpec> codecs, std::size_t rank,
                                                  const std::string& where = "");
  /// Errors: invalid_metadata (a configuration of an inner codec that is not JSON).
  [[nodiscard]] Result<Json> configuration() const;
  [[nodiscard]] Result<CodecSpec> print() const;
};

/// The lists of codecs in a configuration, whatever else is wrong with it, with their names in it; none when `codec` is
/// not the sharding codec or a list is not one.
std::vector<std::pair<const char*, Json*>> sharding_codec_lists(std::string_view codec, Json& configuration);

}  // namespace penstock
