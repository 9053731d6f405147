// Datasets in words and in JSON.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "penstock/array.hpp"

namespace penstock::cli {

/// "z 2048  y 16384  x 16384", "2048 x 16384" without names, "scalar" for rank 0.
std::string shape_text(const Dataset& dataset);
/// "128^3" when all extents are equal, else "1 x 128 x 128".
std::string extent_text(const Shape& shape);
/// "zstd(3) + crc32c": what is done to the chunks, less little-endian bytes and the shard itself; "raw" when nothing.
std::string codecs_text(const Dataset& dataset);
/// "chunks 128^3 in shards 1024^3".
Result<std::string> chunks_text(const Dataset& dataset);
/// Values x size.  Errors: out_of_range.
Result<std::uint64_t> decoded_bytes(const Dataset& dataset);

/// Objects of an array in its store.
struct Stored {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};
/// How much counting is worth.
struct CountLimit {
  std::uint64_t entries = 0;  ///< files and folders
  std::chrono::steady_clock::duration time{};
};
/// Counts the objects that an array's chunks lie in; nullopt when a limit is met before all are counted.
Result<std::optional<Stored>> count_stored(const Array& array, CountLimit limit);
/// "1,311 shards, 500 GiB stored, ratio 2.1".
std::string stored_text(const Stored& stored, const Dataset& dataset);

/// All that the metadata says.
Result<Json> dataset_json(const Dataset& dataset);
/// "z 3 micrometer, y 0.5 micrometer from 10": scales, units and offsets of the dimensions that have any.
std::string spacing_text(const std::vector<Dimension>& dims);
/// A list of objects with name, unit, scale and offset, null where they are not said.
Json dimensions_json(const std::vector<Dimension>& dims);

/// `a`/`b`, either may be empty.
std::string joined(std::string_view a, std::string_view b);

}  // namespace penstock::cli
