// What a file says about an array or a group: pure data, no I/O, no JSON library in the interface.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/api.hpp"
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

/// Each chunk is an object; how its coordinates become the key.
struct PENSTOCK_API KeyEncoding {
  /// Form of the keys.
  enum class Kind : std::uint8_t { standard, v2 };
  Kind kind = Kind::standard;  ///< standard: "c/0/1/2"; v2: "0.1.2"
  char separator = '/';
  /// Key of the chunk relative to the array.  Rank 0: "c" or "0".
  [[nodiscard]] std::string key(std::span<const std::uint64_t> chunk) const;
  /// The chunk that has this key, of an array of so many dimensions; nullopt: none has it.
  [[nodiscard]] std::optional<Shape> chunk(std::string_view key, std::size_t rank) const;
  bool operator==(const KeyEncoding&) const = default;
};

/// Elements that lie one behind another in one object.  The chunks are slabs of them, which end where the array does.
struct ContiguousChunks {
  /// The dimension along which neighbours lie beside each other.
  enum class Fastest : std::uint8_t { first, last };
  std::string key;                 ///< of the object, from the root of the store
  std::uint64_t offset_bytes = 0;  ///< of the first element
  Fastest fastest = Fastest::last;
  bool operator==(const ContiguousChunks&) const = default;
};

/// Numbers, one for each chunk.
struct TableColumn {
  std::uint64_t offset_bytes = 0;          ///< of the first in the object
  std::uint32_t item_bytes = 8;            ///< 2, 4 or 8, unsigned
  std::vector<std::uint64_t> values = {};  ///< the numbers, where the metadata hold them; the object is not asked then
  bool operator==(const TableColumn&) const = default;
};

/// Chunks that lie in one object, in any order, and may share bytes; where each lies stands in a table in it: the tiles
/// and strips of a TIFF.  The table is read by pages as chunks are wanted.
struct ChunkTable {
  std::string key;      ///< of the object, from the root of the store
  TableColumn offsets;  ///< of the first byte of each chunk in the object
  TableColumn sizes;  ///< of the encoded chunks, in bytes.  Offset 0 and size 0: absent, all its elements are the fill
  std::endian byte_order = std::endian::little;  ///< of the numbers in the object
  /// The dimensions of the grid, from that along which the table goes slowest to the fastest; empty: C order.
  std::vector<std::size_t> order = {};
  /// By dimension: the last chunks end where the array does, instead of being padded to the chunk shape.  Empty: none.
  std::vector<bool> cropped_at_edges = {};
  /// A chunk whose elements take more bytes is refused; 0: no bound but the budget.
  std::uint64_t max_chunk_bytes = 0;
  bool operator==(const ChunkTable&) const = default;
};

/// Where the bytes of chunks lie.
using Placement = std::variant<KeyEncoding, ContiguousChunks, ChunkTable>;

/// A dimension of an array.  Element i of it lies at offset + i * scale, in `unit`.
struct Dimension {
  std::optional<std::string> name = {};
  std::string unit = {};              ///< "micrometer", "second", ...; empty: not said
  std::optional<double> scale = {};   ///< nullopt: not said
  std::optional<double> offset = {};  ///< nullopt: not said
  bool operator==(const Dimension&) const = default;
};
/// Dimensions of which only the names are known.
PENSTOCK_API std::vector<Dimension> named_dimensions(std::span<const std::optional<std::string>> names);

/// A map of space: output = the 3 x 3 matrix applied to the input, plus the last column.
struct Affine {
  std::array<double, 12> rows = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};  ///< 3 x 4, row by row
  bool operator==(const Affine&) const = default;
};

/// The format that a node stands in.
struct FormatInfo {
  std::string name = "zarr";  ///< "zarr", "nifti", "tiff"
  int version = 3;
  /// What the file said that has no place elsewhere, kept for writing it back: JSON object as text, may be empty.
  std::string extra = {};
};
/// "Zarr v3", "NIfTI-1", "BigTIFF".
PENSTOCK_API std::string format_title(const FormatInfo& format);
/// Version of zarr; nullopt for another format.
PENSTOCK_API std::optional<int> zarr_format(const FormatInfo& format);

/// An array as its metadata describes it.
struct PENSTOCK_API Dataset {
  FormatInfo format;
  Shape shape;
  DType dtype;
  Shape chunk_shape;  ///< same rank as shape, no zeros; the shard shape when the chunks are sharded
  Placement placement;
  std::vector<CodecSpec> codecs;  ///< encoding order, v3 spelling: array->array..., array->bytes, bytes->bytes...
  /// One element: dtype.size_bytes bytes in native order, or the value's own bytes for variable length.
  /// Empty: v2 `null`, absent chunks read as zeros (not-a-time for datetime and timedelta), as in zarr-python.
  std::vector<std::byte> fill;
  /// The value of elements that were not measured, in the form of `fill`; nullopt: there is none.
  std::optional<std::vector<std::byte>> nodata;
  std::vector<Dimension> dims;    ///< empty, or one per dimension
  std::string attributes = "{}";  ///< JSON object as text
  /// Millimetres (or what the file says) in the world from voxel indices of the first three dimensions.
  std::optional<Affine> world_from_voxel;

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  /// How the keys of chunks are made; nullptr: they lie in one object instead.
  [[nodiscard]] const KeyEncoding* keys() const { return std::get_if<KeyEncoding>(&placement); }
  /// Names of the dimensions; empty, or one per dimension.
  [[nodiscard]] std::vector<std::optional<std::string>> dimension_names() const;
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
