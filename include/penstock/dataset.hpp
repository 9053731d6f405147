// What a file says about an array or a group: pure data, no I/O, no JSON library in the interface.
#pragma once
#include <array>
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

/// Elements that lie one behind another in one object.
struct ContiguousChunks {
  /// The dimension along which neighbours lie beside each other.
  enum class Fastest : std::uint8_t { first, last };
  std::string key;                 ///< of the object, from the root of the store
  std::uint64_t offset_bytes = 0;  ///< of the first element
  Fastest fastest = Fastest::last;
  bool operator==(const ContiguousChunks&) const = default;
};

/// A map of space: output = the 3 x 3 matrix applied to the input, plus the last column.
struct Affine {
  std::array<double, 12> rows = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};  ///< 3 x 4, row by row
  bool operator==(const Affine&) const = default;
};

/// The format that a node stands in.
struct FormatInfo {
  std::string name = "zarr";  ///< "zarr", "nifti"
  int version = 3;
  /// What the file said that has no place elsewhere, kept for writing it back: JSON object as text, may be empty.
  std::string extra = {};
};
/// Version of zarr; nullopt for another format.
std::optional<int> zarr_format(const FormatInfo& format);

/// An array as its metadata describes it.
struct Dataset {
  FormatInfo format;
  Shape shape;
  DType dtype;
  Shape chunk_shape;  ///< same rank as shape, no zeros; the shard shape when the chunks are sharded
  KeyEncoding keys;   ///< of chunks that are an object each
  /// Set when the chunks lie in one object instead.
  std::optional<ContiguousChunks> contiguous;
  std::vector<CodecSpec> codecs;  ///< encoding order, v3 spelling: array->array..., array->bytes, bytes->bytes...
  /// One element: dtype.size_bytes bytes in native order, or the value's own bytes for variable length.
  /// Empty: v2 `null`, absent chunks read as zeros (not-a-time for datetime and timedelta), as in zarr-python.
  std::vector<std::byte> fill;
  std::vector<std::optional<std::string>> dimension_names;  ///< empty, or one per dimension
  std::string attributes = "{}";                            ///< JSON object as text
  /// Millimetres (or what the file says) in the world from voxel indices of the first three dimensions.
  std::optional<Affine> world_from_voxel;

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  /// Number of chunks (shards) along each dimension; 0 along an empty one.
  [[nodiscard]] Shape grid_shape() const;
  /// Shape of the innermost unit that can be read alone: the inner chunk of a sharded array, else chunk_shape.
  [[nodiscard]] Result<Shape> inner_chunk_shape() const;
};

/// A group as its metadata describes it.
struct GroupInfo {
  FormatInfo format;  ///< its `extra` holds consolidated metadata
  std::string attributes = "{}";
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
