// Image file directories (IFDs): what a TIFF says, tag by tag.
#pragma once
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "format/tiff/source.hpp"

namespace penstock::tiff {

/// Tags by their names in the specifications.
enum class Tag : std::uint16_t {
  NewSubfileType = 254,
  ImageWidth = 256,
  ImageLength = 257,
  BitsPerSample = 258,
  Compression = 259,
  PhotometricInterpretation = 262,
  FillOrder = 266,
  ImageDescription = 270,
  StripOffsets = 273,
  Orientation = 274,
  SamplesPerPixel = 277,
  RowsPerStrip = 278,
  StripByteCounts = 279,
  PlanarConfiguration = 284,
  Predictor = 317,
  ColorMap = 320,
  TileWidth = 322,
  TileLength = 323,
  TileOffsets = 324,
  TileByteCounts = 325,
  ExtraSamples = 338,
  SampleFormat = 339,
  JPEGTables = 347,
  XMP = 700,
  ModelPixelScale = 33550,
  ModelTiepoint = 33922,
  ModelTransformation = 34264,
  ICCProfile = 34675,
  GeoKeyDirectory = 34735,
  GeoDoubleParams = 34736,
  GeoAsciiParams = 34737,
  GDAL_METADATA = 42112,
  GDAL_NODATA = 42113,
  RPCCoefficient = 50844,
};

/// One field: where its values lie.
struct Field {
  std::uint16_t tag = 0, type = 0;
  std::uint64_t count = 0;
  std::uint64_t offset_bytes = 0;  ///< of the first value in the file, also where it lies in the directory itself
};

/// One directory and what is common to all of the file.
struct Directory {
  std::endian byte_order = std::endian::little;
  bool big = false;                ///< BigTIFF
  std::uint64_t offset_bytes = 0;  ///< of the directory
  std::uint64_t next = 0;          ///< offset of the next one; 0: none
  std::vector<Field> fields;

  [[nodiscard]] const Field* find(Tag tag) const;
};

/// Whether these first bytes of a file are a TIFF header, classic or BigTIFF.
bool is_tiff_header(ByteView head);
/// The directories of the chain, at most `max_count`; of which more there are, only the first ones.
/// Errors: invalid_metadata (a header or field that cannot be; a chain that comes back to itself), corrupt_data.
Result<std::vector<Directory>> read_directories(ByteSource& file, std::size_t max_count);

/// Bytes of one value of a field type; 0: unknown.
std::uint32_t type_bytes(std::uint16_t type);
/// Unsigned whole numbers (BYTE, SHORT, LONG, LONG8).  Errors: invalid_metadata: another type, or more than
/// `max_count`; corrupt_data.
Result<std::vector<std::uint64_t>> whole_numbers(ByteSource& file, const Directory& directory, const Field& field,
                                                 std::uint64_t max_count);
/// DOUBLE and FLOAT.
Result<std::vector<double>> real_numbers(ByteSource& file, const Directory& directory, const Field& field,
                                         std::uint64_t max_count);
/// ASCII, up to its first zero byte, as it stands in the file.
Result<std::string> ascii(ByteSource& file, const Field& field, std::uint64_t max_bytes);
/// The same as UTF-8: what is none is taken as ISO 8859-1.
Result<std::string> text(ByteSource& file, const Field& field, std::uint64_t max_bytes);
/// The first whole number of a tag; `fallback` where there is none.
Result<std::uint64_t> number_or(ByteSource& file, const Directory& directory, Tag tag, std::uint64_t fallback);

/// "IFD at byte 8: tag 256"
std::string where(const Directory& directory, std::uint16_t tag);

}  // namespace penstock::tiff
