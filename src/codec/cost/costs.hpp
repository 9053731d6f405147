// The table of costs in use: the user's, where it says something, else the one that is built in.
#pragma once
#include <memory>

#include "codec/cost/table.hpp"

#include "penstock/api.hpp"

namespace penstock {

/// The table that is built in: src/codec/cost/built_in.json.
PENSTOCK_API const CostTable& built_in_costs();

/// What a choice rests on.
struct PENSTOCK_API CodecCosts {
  std::string path;                       ///< of the user's file; empty: there is none
  std::shared_ptr<const CostTable> user;  ///< nullptr: there is none

  /// As CostTable::seconds, by the user's rows of this codec and decoder, else by those that are built in.
  /// Errors: unsupported, naming what no table has.
  [[nodiscard]] Result<double> seconds(std::string_view codec, DecodedBy by, std::uint64_t chunk_bytes,
                                       std::uint64_t chunks) const;
  /// "costs built in", or "costs of /home/ada/.config/penstock/codec_costs.json".
  [[nodiscard]] std::string text() const;
};

/// The setting codec_costs (core/settings.hpp) says where the user's file is.  Nothing is read before the first call; a
/// process reads a file once.
/// Errors naming the file: not_found (the setting names none), invalid_argument (no such table), io_error; those of
/// the settings.
PENSTOCK_API Result<CodecCosts> codec_costs();

}  // namespace penstock
