// What a file says about an array or a group: pure data, no I/O, no JSON library in the interface.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/bytes.hpp"
#include "penstock/dtype.hpp"
#include "penstock/error.hpp"
#include "penstock/region.hpp"

namespace penstock {

/// A codec as the metadata names it, with the names of zarr v3 whatever the file's version ("zstd", "bytes",
/// "transpose", "sharding_indexed", "numcodecs.delta", ...).
struct CodecSpec {
  std::string name;
  std::string configuration = "{}";  ///< JSON object as text
  bool operator==(const CodecSpec&) const = default;
};

/// How chunk coordinates become keys.
struct KeyEncoding {
  /// Form of the keys.
  enum class Kind : std::uint8_t { standard, v2 };
  Kind kind = Kind::standard;  ///< standard: "c/0/1/2"; v2: "0.1.2"
  char separator = '/';
  /// Key of the chunk relative to the array.  Rank 0: "c" or "0".
  [[nodiscard]] std::string key(std::span<const std::uint64_t> chunk) const;
  bool operator==(const KeyEncoding&) const = default;
};

/// An array as its metadata describes it.
struct Dataset {
  int zarr_format = 3;
  Shape shape;
  DType dtype;
  Shape chunk_shape;  ///< same rank as shape, no zeros; the shard shape when the chunks are sharded
  KeyEncoding keys;
  std::vector<CodecSpec> codecs;  ///< encoding order, v3 spelling: array->array..., array->bytes, bytes->bytes...
  /// One element: dtype.size_bytes bytes in native order, or the value's own bytes for variable length.
  /// Empty: v2 `null`, absent chunks read as zeros (not-a-time for datetime and timedelta), as in zarr-python.
  std::vector<std::byte> fill;
  std::vector<std::optional<std::string>> dimension_names;  ///< empty, or one per dimension
  std::string attributes = "{}";                            ///< JSON object as text

  /// What the file said that has no place above, kept for writing it back: JSON object as text, may be empty.
  std::string extra;

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  /// Number of chunks (shards) along each dimension; 0 along an empty one.
  [[nodiscard]] Shape grid_shape() const;
  /// Shape of the innermost unit that can be read alone: the inner chunk of a sharded array, else chunk_shape.
  [[nodiscard]] Result<Shape> inner_chunk_shape() const;
};

/// A group as its metadata describes it.
struct GroupInfo {
  int zarr_format = 3;
  std::string attributes = "{}";
  std::string extra;  ///< as Dataset::extra; consolidated metadata is in here
};

/// One level of an OME-NGFF image.
struct ImageLevel {
  std::string path;
  std::vector<double> scale;        ///< per axis, in the axis' unit, all transforms applied
  std::vector<double> translation;  ///< per axis
};
/// An axis of an OME-NGFF image.
struct ImageAxis {
  std::string name;
  std::string type;  ///< "space", "time", "channel", or empty
  std::string unit;  ///< "micrometer", ..., or empty
};
/// An OME-NGFF multiscale image.
struct Multiscale {
  std::string version;  ///< "0.4", "0.5"
  std::string name;
  std::vector<ImageAxis> axes;
  std::vector<ImageLevel> levels;  ///< finest first
};

}  // namespace penstock
