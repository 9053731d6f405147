#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "codec/tiff_lzw/tiff_lzw.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"
#include "format/format.hpp"
#include "format/members.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

using metadata::invalid;
using metadata::unsupported;

constexpr std::uint64_t kMaxSamples = 65535, kMaxJpegTables = 65536;
/// A chunk may be larger than the image, but not by much: what it decodes to is bounded by what the image needs.
constexpr std::uint64_t kMinChunkBound = std::uint64_t{64} << 20;

/// Compression, as far as its name goes.
struct Compression {
  std::uint64_t code;
  std::string_view name;
  std::string_view codec;  ///< of the chain; "": none
  bool read, predicts;
};
constexpr std::uint64_t kLzw = 5, kJpeg = 7;
constexpr Compression kCompressions[] = {
    {1, "none", "", true, false},
    {5, "LZW", "tiff.lzw", true, true},
    {8, "deflate", "tiff.deflate", true, true},
    {32946, "deflate", "tiff.deflate", true, true},
    {32773, "PackBits", "tiff.packbits", true, false},
    {50000, "zstd", "tiff.zstd", true, true},
    {7, "JPEG", "", true, false},
    {2, "CCITT RLE", "", false, false},
    {3, "CCITT group 3", "", false, false},
    {4, "CCITT group 4", "", false, false},
    {6, "old-style JPEG", "", false, false},
    {34712, "JPEG 2000", "", false, false},
    {33003, "JPEG 2000", "", false, false},
    {33005, "JPEG 2000", "", false, false},
    {34887, "LERC", "", false, false},
    {34925, "LZMA", "", false, false},
    {50001, "WebP", "", false, false},
    {50002, "JPEG XL", "", false, false},
    {52546, "JPEG XL", "", false, false},
};

Result<Compression> compression_of(std::uint64_t code, const std::string& where) {
  const auto* const found = std::ranges::find(kCompressions, code, &Compression::code);
  if (found == std::end(kCompressions)) return unsupported(where, fmt::format("compression {}", code));
  if (!found->read) return unsupported(where, fmt::format("compression by {}", found->name));
  return *found;
}

/// The fields that say how an image lies in the file.
struct Image {
  std::uint64_t width = 0, height = 0, samples = 1, bits = 1, sample_format = 1, predictor = 1;
  bool planar = false, tiled = false, is_ycbcr = false, reversed_bits = false;
  std::uint64_t chunk_width = 0, chunk_height = 0;
  Compression compression{};
  const Field* offsets = nullptr;
  const Field* sizes = nullptr;
};

/// A value that all samples of a pixel have alike.
Result<std::uint64_t> common_value(ByteSource& file, const Directory& directory, Tag tag, std::uint64_t fallback) {
  const Field* const field = directory.find(tag);
  if (field == nullptr) return fallback;
  PENSTOCK_ASSIGN(const auto values, whole_numbers(file, directory, *field, kMaxSamples));
  if (values.empty()) return fallback;
  if (std::ranges::any_of(values, [&](std::uint64_t v) { return v != values.front(); }))
    return unsupported(where(directory, field->tag), "samples that differ");
  return values.front();
}

Result<DType> dtype_of(const Image& image, const Directory& directory, ImageUse use) {
  if (use == ImageUse::mask && image.bits == 1 && image.samples == 1) return DType::uint8();
  const std::uint64_t bytes = image.bits / 8;
  const bool whole = image.bits % 8 == 0 && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
  switch (image.sample_format) {
    case 1:
    case 4:
      if (whole) return DType::integer(static_cast<std::uint32_t>(bytes), Kind::unsigned_int);
      break;
    case 2:
      if (whole) return DType::integer(static_cast<std::uint32_t>(bytes), Kind::signed_int);
      break;
    case 3:
      if (image.bits == 16) return DType::float16();
      if (image.bits == 32) return DType::float32();
      if (image.bits == 64) return DType::float64();
      break;
    case 5: return unsupported(where(directory, 339), "complex whole numbers");
    case 6:
      if (image.bits == 64) return DType::complex64();
      if (image.bits == 128) return DType::complex128();
      break;
    default: break;
  }
  return unsupported(where(directory, 258),
                     fmt::format("samples of {} bits, of format {}", image.bits, image.sample_format));
}

Status read_layout(ByteSource& file, const Directory& directory, Image& image) {
  image.tiled = directory.find(Tag::TileWidth) != nullptr;
  if (image.tiled) {
    PENSTOCK_ASSIGN(image.chunk_width, number_or(file, directory, Tag::TileWidth, 0));
    PENSTOCK_ASSIGN(image.chunk_height, number_or(file, directory, Tag::TileLength, 0));
    image.offsets = directory.find(Tag::TileOffsets);
    image.sizes = directory.find(Tag::TileByteCounts);
  } else {
    image.chunk_width = image.width;
    PENSTOCK_ASSIGN(image.chunk_height, number_or(file, directory, Tag::RowsPerStrip, image.height));
    image.chunk_height = std::min(image.chunk_height, image.height);
  }
  // Some writers put tiles into the tags of strips.
  if (image.offsets == nullptr) image.offsets = directory.find(Tag::StripOffsets);
  if (image.sizes == nullptr) image.sizes = directory.find(Tag::StripByteCounts);
  if (image.chunk_width == 0 || image.chunk_height == 0)
    return invalid(where(directory, image.tiled ? 322 : 278), "tiles or strips of no elements");
  if (image.offsets == nullptr) return invalid(where(directory, image.tiled ? 324 : 273), "missing");
  return {};
}

Result<Image> read_image(ByteSource& file, const Directory& directory) {
  Image image;
  PENSTOCK_ASSIGN(image.width, number_or(file, directory, Tag::ImageWidth, 0));
  PENSTOCK_ASSIGN(image.height, number_or(file, directory, Tag::ImageLength, 0));
  if (image.width == 0 || image.height == 0)
    return invalid(where(directory, image.width == 0 ? 256 : 257), "an image of no elements");
  PENSTOCK_ASSIGN(image.samples, number_or(file, directory, Tag::SamplesPerPixel, 1));
  if (image.samples == 0 || image.samples > kMaxSamples)
    return invalid(where(directory, 277), fmt::format("{} samples a pixel", image.samples));
  PENSTOCK_ASSIGN(image.bits, common_value(file, directory, Tag::BitsPerSample, 1));
  PENSTOCK_ASSIGN(image.sample_format, common_value(file, directory, Tag::SampleFormat, 1));
  PENSTOCK_ASSIGN(const std::uint64_t planes, number_or(file, directory, Tag::PlanarConfiguration, 1));
  if (planes != 1 && planes != 2) return invalid(where(directory, 284), fmt::format("is {}", planes));
  image.planar = planes == 2 && image.samples > 1;
  PENSTOCK_ASSIGN(const std::uint64_t code, number_or(file, directory, Tag::Compression, 1));
  PENSTOCK_ASSIGN(image.compression, compression_of(code, where(directory, 259)));
  PENSTOCK_ASSIGN(const std::uint64_t fill_order, number_or(file, directory, Tag::FillOrder, 1));
  if (fill_order != 1 && fill_order != 2) return invalid(where(directory, 266), fmt::format("is {}", fill_order));
  image.reversed_bits = fill_order == 2 && image.compression.code != kJpeg;
  PENSTOCK_ASSIGN(const std::uint64_t photometric, number_or(file, directory, Tag::PhotometricInterpretation, 1));
  image.is_ycbcr = photometric == 6;
  if (image.is_ycbcr && (image.compression.code != kJpeg || image.planar || image.samples != 3))
    return unsupported(where(directory, 262), "YCbCr other than three samples a pixel in JPEG");
  if (image.compression.predicts) {
    PENSTOCK_ASSIGN(image.predictor, number_or(file, directory, Tag::Predictor, 1));
    if (image.predictor < 1 || image.predictor > 3)
      return unsupported(where(directory, 317), fmt::format("predictor {}", image.predictor));
  }
  PENSTOCK_TRY(read_layout(file, directory, image));
  return image;
}

/// Decided once a file: a single strip that begins so may be broken.
Result<bool> has_old_style_lzw(ByteSource& file, const Directory& directory, const Image& image) {
  Field first = *image.offsets;
  first.count = std::min<std::uint64_t>(first.count, 16);
  PENSTOCK_ASSIGN(const auto offsets, whole_numbers(file, directory, first, first.count));
  for (const std::uint64_t offset : offsets) {
    if (offset == 0) continue;
    if (offset > file.size() || file.size() - offset < 2) return false;  // said when the strip is read
    PENSTOCK_ASSIGN(const ByteView bytes, file.get(offset, 2));
    return !image.reversed_bits && is_old_style_lzw(bytes);
  }
  return false;
}

/// JPEG, with the tables that all tiles share.
Result<CodecSpec> jpeg_of(ByteSource& file, const Directory& directory, const Image& image) {
  std::string tables;
  if (const Field* const field = directory.find(Tag::JPEGTables); field != nullptr) {
    if (field->count > kMaxJpegTables)
      return invalid(where(directory, field->tag), fmt::format("{} bytes of tables", field->count));
    PENSTOCK_ASSIGN(const ByteView bytes, file.get(field->offset_bytes, field->count * type_bytes(field->type)));
    for (const std::byte b : bytes) tables += fmt::format("{:02x}", static_cast<unsigned>(b));
  }
  return CodecSpec{"tiff.jpeg", fmt::format(R"({{"samples":{},"color":"{}","max_rows":{},"tables":"{}"}})",
                                            image.planar ? 1 : image.samples, image.is_ycbcr ? "ycbcr" : "none",
                                            std::min<std::uint64_t>(image.chunk_height, 65535), tables)};
}

Result<std::vector<CodecSpec>> codecs_of(ByteSource& file, const Directory& directory, const Image& image,
                                         const DType& dtype) {
  std::vector<CodecSpec> codecs;
  const bool interleaved = image.samples > 1 && !image.planar;
  if (interleaved) codecs.push_back({"transpose", R"({"order":[1,2,0]})"});
  const std::string_view endian = directory.byte_order == std::endian::little ? "little" : "big";
  if (image.compression.code == kJpeg) {
    PENSTOCK_ASSIGN(CodecSpec jpeg, jpeg_of(file, directory, image));
    codecs.push_back(std::move(jpeg));
    return codecs;
  }
  if (image.bits == 1)
    codecs.push_back({"tiff.bits", "{}"});
  else if (image.predictor > 1)
    codecs.push_back({"tiff.predictor", fmt::format(R"({{"predictor":{},"samples":{},"endian":"{}"}})", image.predictor,
                                                    interleaved ? image.samples : 1, endian)});
  else
    codecs.push_back({"bytes", dtype.swap_unit() > 1 ? fmt::format(R"({{"endian":"{}"}})", endian) : "{}"});
  if (!image.compression.codec.empty()) {
    CodecSpec compressor{std::string(image.compression.codec), "{}"};
    if (image.compression.code == kLzw) {
      PENSTOCK_ASSIGN(const bool old_style, has_old_style_lzw(file, directory, image));
      if (old_style) compressor.configuration = R"({"variant":"old_style"})";
    }
    codecs.push_back(std::move(compressor));
  }
  if (image.reversed_bits) codecs.push_back({"tiff.fill_order", "{}"});
  return codecs;
}

Result<TableColumn> column_of(const Directory& directory, const Field& field, std::uint64_t chunks) {
  if (field.type != 3 && field.type != 4 && field.type != 16)
    return invalid(where(directory, field.tag), fmt::format("is of type {}, no whole numbers", field.type));
  if (field.count < chunks)
    return invalid(where(directory, field.tag), fmt::format("{} values for {} tiles or strips", field.count, chunks));
  return TableColumn{field.offset_bytes, type_bytes(field.type), {}};
}

Result<ChunkTable> table_of(const Directory& directory, const Image& image, const Dataset& dataset,
                            std::string_view key) {
  ChunkTable table;
  table.key = key;
  table.byte_order = directory.byte_order;
  table.cropped_at_edges = {false, !image.tiled, false};
  PENSTOCK_ASSIGN_IN(const std::uint64_t elements, element_count(dataset.shape), "image");
  PENSTOCK_ASSIGN_IN(const std::uint64_t bytes, checked_mul(elements, dataset.dtype.size_bytes), "image");
  table.max_chunk_bytes = std::max(saturating_mul(2, bytes), kMinChunkBound);
  PENSTOCK_ASSIGN(const std::uint64_t chunks, element_count(dataset.grid_shape()));
  PENSTOCK_ASSIGN(table.offsets, column_of(directory, *image.offsets, chunks));
  if (image.sizes == nullptr) return invalid(where(directory, image.tiled ? 325 : 279), "missing");
  PENSTOCK_ASSIGN(table.sizes, column_of(directory, *image.sizes, chunks));
  return table;
}

/// Numbers as programs write them; those of Windows have words of their own for what is none.
std::optional<double> nodata_number(std::string_view text) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::pair<std::string_view, double> kWords[] = {{"1.#QNAN", kNan},     {"-1.#QNAN", kNan},
                                                            {"1.#IND", kNan},      {"-1.#IND", kNan},
                                                            {"1.#INF", kInfinity}, {"-1.#INF", -kInfinity}};
  for (const auto& [word, value] : kWords)
    if (text.starts_with(word)) return value;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The value that was not measured, as an element; nullopt: none, or none of this type.
std::optional<std::vector<std::byte>> nodata_of(const std::string& text, const DType& dtype) {
  std::string_view number = text;
  while (number.starts_with(' ')) number.remove_prefix(1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  const std::optional<double> parsed = nodata_number(number);
  if (!parsed) return std::nullopt;
  const double value = *parsed;
  const std::string real = std::isnan(value)   ? "\"NaN\""
                           : std::isinf(value) ? (value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
                                               : fmt::format("{}", value);
  std::string json(number);
  if (dtype.kind == Kind::floating)
    json = real;
  else if (dtype.kind == Kind::complex)
    json = fmt::format("[{}, 0]", real);
  else if (dtype.kind != Kind::signed_int && dtype.kind != Kind::unsigned_int)
    return std::nullopt;
  else if (value == std::floor(value) && std::abs(value) < 0x1p53)
    json = fmt::format("{:.0f}", value);
  auto element = fill_from_json(dtype, json);
  if (!element) return std::nullopt;
  return *std::move(element);
}

Json about(const Image& image) {
  Json out = Json::object();
  out["compression"] = image.compression.name;
  if (image.predictor > 1) out["predictor"] = image.predictor;
  out["layout"] = image.tiled ? "tiles" : "strips";
  out["interleave"] = image.planar ? "band" : "pixel";
  return out;
}

/// The images of the file besides the first one.
void tell_others(const Images& images, Json& out) {
  Json overviews = Json::array();
  std::uint64_t masks = images.levels.front().mask != nullptr ? 1 : 0;
  for (std::size_t i = 1; i < images.levels.size(); ++i) {
    overviews.push_back({images.levels[i].height, images.levels[i].width});
    if (images.levels[i].mask != nullptr) ++masks;
  }
  if (!overviews.empty()) out["overviews"] = std::move(overviews);
  if (masks > 0) out["masks"] = masks;
  if (!images.others.empty()) out["other_images"] = images.others.size();
}

}  // namespace

Result<Dataset> parse_image(ByteSource& file, const Directory& directory, std::string_view key, ImageUse use) {
  PENSTOCK_ASSIGN(const Image image, read_image(file, directory));
  Dataset dataset;
  dataset.format = {"tiff", directory.big ? 43 : 42,
                    dump_json({{"part", fmt::format("IFD at byte {}", directory.offset_bytes)}})};
  PENSTOCK_ASSIGN(dataset.dtype, dtype_of(image, directory, use));
  dataset.shape = {image.samples, image.height, image.width};
  dataset.chunk_shape = {image.planar ? 1 : image.samples, image.chunk_height, image.chunk_width};
  PENSTOCK_ASSIGN(dataset.codecs, codecs_of(file, directory, image, dataset.dtype));
  PENSTOCK_ASSIGN(dataset.placement, table_of(directory, image, dataset, key));
  dataset.fill.assign(dataset.dtype.size_bytes, std::byte{0});
  if (const Field* const field = directory.find(Tag::GDAL_NODATA); field != nullptr && use == ImageUse::image) {
    PENSTOCK_ASSIGN(const std::string nodata, text(file, *field, 64));
    dataset.nodata = nodata_of(nodata, dataset.dtype);
    if (dataset.nodata) dataset.fill = *dataset.nodata;
  }
  dataset.attributes = dump_json(Json{{"tiff", about(image)}});
  dataset.dims = named_dimensions(std::array<std::optional<std::string>, 3>{"band", "y", "x"});
  return dataset;
}

Result<Dataset> parse(ByteSource& file, std::string_view key) {
  PENSTOCK_ASSIGN(const std::vector<Directory> directories, read_directories(file, kMaxImages));
  PENSTOCK_ASSIGN(Dataset dataset, parse_image(file, directories.front(), key, ImageUse::image));
  PENSTOCK_ASSIGN(const Place place, read_place(file, directories.front()));
  PENSTOCK_ASSIGN(const Images images, find_images(file, directories));
  PENSTOCK_ASSIGN(Json attributes, parse_json(dataset.attributes));
  tell_others(images, attributes["tiff"]);
  PENSTOCK_ASSIGN(const std::vector<std::string> fields, other_fields(file, directories.front()));
  if (!fields.empty()) attributes["tiff"]["other_fields"] = fields;
  tell_place(place, attributes, dataset.dims);
  dataset.attributes = dump_json(attributes);
  return dataset;
}

}  // namespace penstock::tiff
