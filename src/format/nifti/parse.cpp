#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/checked.hpp"
#include "core/json.hpp"
#include "format/members.hpp"
#include "format/nifti/nifti.hpp"
#include "format/slabs.hpp"

namespace penstock {
namespace {

using metadata::invalid;
using metadata::unsupported;

constexpr std::size_t kMaxNiftiRank = 7;
/// Slabs of at most this size are chunks: large enough for the disk, small enough for many workers.
constexpr std::uint64_t kSlabBytes = std::uint64_t{4} << 20;

/// The fields of a header that matter here, whatever its version and byte order.
struct Header {
  int version = 1;
  bool swapped = false;
  std::array<std::int64_t, 8> dim{};
  std::int16_t datatype = 0;
  std::int16_t bitpix = 0;
  std::array<double, 8> pixdim{};
  double vox_offset = 0;  // a float in version 1
  double scl_slope = 0, scl_inter = 0, toffset = 0;
  std::int32_t xyzt_units = 0, qform_code = 0, sform_code = 0;
  std::array<double, 3> quaternion{}, qoffset{};
  std::array<double, 12> srow{};
  std::string descrip, intent_name;
  std::string_view magic;
  /// Whether the data lie in a file of their own.
  [[nodiscard]] bool is_pair() const { return magic[1] == 'i'; }
};

/// Reads fields at their byte positions.
class Reader {
 public:
  Reader(ByteView bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}
  template <class T>
  [[nodiscard]] T get(std::size_t at) const {
    std::array<std::byte, sizeof(T)> raw{};
    std::memcpy(raw.data(), bytes_.data() + at, sizeof(T));
    if (swapped_) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
  }
  template <class T, class To, std::size_t N>
  void list(std::size_t at, std::array<To, N>& to) const {
    for (std::size_t i = 0; i < N; ++i) to[i] = static_cast<To>(get<T>(at + i * sizeof(T)));
  }
  /// Text up to its first zero byte; the encoding is not said, so that what is not ASCII becomes "?".
  [[nodiscard]] std::string text(std::size_t at, std::size_t bytes) const {
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()) + at, bytes);
    std::string text(all.substr(0, all.find('\0')));
    for (char& c : text)
      if (c < ' ' || c > '~') c = '?';
    return text;
  }
  [[nodiscard]] std::string_view magic(std::size_t at) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, 4};
  }

 private:
  ByteView bytes_;
  bool swapped_;
};

constexpr std::int32_t kHeader1Bytes = 348, kHeader2Bytes = 540;

Header read_header1(const Reader& r) {
  Header h;
  r.list<std::int16_t>(40, h.dim);
  h.datatype = r.get<std::int16_t>(70);
  h.bitpix = r.get<std::int16_t>(72);
  r.list<float>(76, h.pixdim);
  h.vox_offset = r.get<float>(108);
  h.scl_slope = r.get<float>(112);
  h.scl_inter = r.get<float>(116);
  h.xyzt_units = r.get<std::uint8_t>(123);
  h.toffset = r.get<float>(136);
  h.descrip = r.text(148, 80);
  h.qform_code = r.get<std::int16_t>(252);
  h.sform_code = r.get<std::int16_t>(254);
  r.list<float>(256, h.quaternion);
  r.list<float>(268, h.qoffset);
  r.list<float>(280, h.srow);
  h.intent_name = r.text(328, 16);
  h.magic = r.magic(344);
  return h;
}

Header read_header2(const Reader& r) {
  Header h;
  h.version = 2;
  h.magic = r.magic(4);
  h.datatype = r.get<std::int16_t>(12);
  h.bitpix = r.get<std::int16_t>(14);
  r.list<std::int64_t>(16, h.dim);
  r.list<double>(104, h.pixdim);
  h.vox_offset = static_cast<double>(r.get<std::int64_t>(168));
  h.scl_slope = r.get<double>(176);
  h.scl_inter = r.get<double>(184);
  h.toffset = r.get<double>(216);
  h.descrip = r.text(240, 80);
  h.qform_code = r.get<std::int32_t>(344);
  h.sform_code = r.get<std::int32_t>(348);
  r.list<double>(352, h.quaternion);
  r.list<double>(376, h.qoffset);
  r.list<double>(400, h.srow);
  h.xyzt_units = r.get<std::int32_t>(500);
  h.intent_name = r.text(508, 16);
  return h;
}

/// Size of the header as its first field says it, in the byte order in which it makes sense; 0: in none.
std::pair<std::int32_t, bool> header_bytes(ByteView head) {
  if (head.size() < kHeader1Bytes) return {0, false};
  for (const bool swapped : {false, true}) {
    const auto bytes = Reader(head, swapped).get<std::int32_t>(0);
    if (bytes == kHeader1Bytes || bytes == kHeader2Bytes) return {bytes, swapped};
  }
  return {0, false};
}

Result<DType> dtype_of(std::int16_t code) {
  switch (code) {
    case 2: return DType::uint8();
    case 4: return DType::int16();
    case 8: return DType::int32();
    case 16: return DType::float32();
    case 32: return DType::complex64();
    case 64: return DType::float64();
    case 256: return DType::int8();
    case 512: return DType::uint16();
    case 768: return DType::uint32();
    case 1024: return DType::int64();
    case 1280: return DType::uint64();
    case 1792: return DType::complex128();
    case 128: return DType{Kind::opaque, 3, {}, 1, {}};   // RGB24
    case 2304: return DType{Kind::opaque, 4, {}, 1, {}};  // RGBA32
    case 1: return unsupported("datatype", "1 bit a voxel");
    case 1536: return unsupported("datatype", "float128");
    case 2048: return unsupported("datatype", "complex256");
    default: return invalid("datatype", fmt::format("{} is no NIfTI data type", code));
  }
}

Result<Shape> shape_of(const Header& h) {
  if (h.dim[0] < 1 || h.dim[0] > static_cast<std::int64_t>(kMaxNiftiRank))
    return invalid("dim[0]", fmt::format("must be from 1 to 7, is {}", h.dim[0]));
  Shape shape;
  for (std::int64_t d = 1; d <= h.dim[0]; ++d) {
    const std::int64_t extent = h.dim[static_cast<std::size_t>(d)];
    if (extent < 1) return invalid(fmt::format("dim[{}]", d), fmt::format("must be 1 or more, is {}", extent));
    shape.push_back(static_cast<std::uint64_t>(extent));
  }
  return shape;
}

/// Method 3 of the standard, then method 2, then method 1 (voxel sizes alone).
Result<Affine> affine_of(const Header& h) {
  Affine a;
  if (h.sform_code > 0) {
    a.rows = h.srow;
  } else if (h.qform_code > 0) {
    const auto [b, c, d] = h.quaternion;
    const double rest = 1 - (b * b + c * c + d * d);
    if (!(rest > -1e-4)) return invalid("quatern_b, quatern_c, quatern_d", "no unit quaternion");
    const double w = std::sqrt(std::max(rest, 0.0)), q = h.pixdim[0] < 0 ? -1 : 1;
    const std::array<double, 9> r = {
        w * w + b * b - c * c - d * d, 2 * (b * c - w * d),           2 * (b * d + w * c),
        2 * (b * c + w * d),           w * w + c * c - b * b - d * d, 2 * (c * d - w * b),
        2 * (b * d - w * c),           2 * (c * d + w * b),           w * w + d * d - b * b - c * c};
    const std::array<double, 3> size = {h.pixdim[1], h.pixdim[2], q * h.pixdim[3]};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) a.rows[4 * i + k] = r[3 * i + k] * size[k];
      a.rows[4 * i + 3] = h.qoffset[i];
    }
  } else {
    for (std::size_t i = 0; i < 3; ++i) a.rows[5 * i] = h.pixdim[i + 1];
  }
  for (const double value : a.rows)
    if (!std::isfinite(value))
      return invalid("sform, qform or pixdim", "the transformation to the world is not finite");
  return a;
}

std::string_view space_unit(std::int32_t code) {
  switch (code & 7) {
    case 1: return "meter";
    case 2: return "millimeter";
    case 3: return "micrometer";
    default: return "";
  }
}

std::string_view time_unit(std::int32_t code) {
  switch (code & 0x38) {
    case 8: return "second";
    case 16: return "millisecond";
    case 24: return "microsecond";
    case 32: return "hertz";
    default: return "";  // parts per million and radians per second are of no time
  }
}

/// Where the axes of space point is said by the transformation to the world; here only how far apart elements lie.
std::vector<Dimension> dims_of(const Header& h, std::size_t rank) {
  constexpr std::array<const char*, 4> kNames = {"x", "y", "z", "t"};
  std::vector<Dimension> dims(rank);
  for (std::size_t d = 0; d < std::min(rank, kNames.size()); ++d) {
    dims[d].name = kNames[d];
    dims[d].unit = d < 3 ? space_unit(h.xyzt_units) : time_unit(h.xyzt_units);
    if (const double size = h.pixdim[d + 1]; std::isfinite(size) && size > 0) dims[d].scale = size;
  }
  if (rank > 3 && std::isfinite(h.toffset)) dims[3].offset = h.toffset;
  return dims;
}

std::string attributes_of(const Header& h) {
  Json out = Json::object();
  out["nifti_version"] = h.version;
  if (h.scl_slope != 0 && std::isfinite(h.scl_slope) && std::isfinite(h.scl_inter)) {
    out["scl_slope"] = h.scl_slope;
    out["scl_inter"] = h.scl_inter;
  }
  Json sizes = Json::array();
  for (std::int64_t d = 1; d <= h.dim[0]; ++d) {
    const double size = h.pixdim[static_cast<std::size_t>(d)];
    sizes.push_back(std::isfinite(size) ? Json(size) : Json(nullptr));
  }
  out["pixdim"] = std::move(sizes);
  if (const std::string_view unit = space_unit(h.xyzt_units); !unit.empty()) out["space_unit"] = unit;
  out["sform_code"] = h.sform_code;
  out["qform_code"] = h.qform_code;
  if (!h.descrip.empty()) out["descrip"] = h.descrip;
  if (!h.intent_name.empty()) out["intent_name"] = h.intent_name;
  return dump_json(out);
}

/// Where the data begin.  Errors: invalid_metadata, corrupt_data.
Result<std::uint64_t> data_offset(const Header& h, std::uint64_t data_bytes, std::uint64_t file_bytes) {
  const double least = h.is_pair() ? 0 : h.version == 1 ? kHeader1Bytes : kHeader2Bytes;
  if (!(h.vox_offset >= least) || h.vox_offset > 0x1p53 || h.vox_offset != std::floor(h.vox_offset))
    return invalid("vox_offset", fmt::format("must be a whole number of {} or more, is {}", least, h.vox_offset));
  const auto offset = static_cast<std::uint64_t>(h.vox_offset);
  if (offset > file_bytes || data_bytes > file_bytes - offset)
    return Error(ErrorCode::corrupt_data, fmt::format("the file has {} bytes; its data are {} bytes from byte {} on",
                                                      file_bytes, data_bytes, offset));
  return offset;
}

/// Elements lie with the first dimension fastest, in the byte order of the header.
std::vector<CodecSpec> codecs_of(std::size_t rank, const DType& dtype, bool swapped) {
  std::vector<CodecSpec> codecs;
  if (rank > 1) {
    Json order = Json::array();
    for (std::size_t d = rank; d > 0; --d) order.push_back(d - 1);
    codecs.push_back({"transpose", dump_json({{"order", order}})});
  }
  const bool little = (std::endian::native == std::endian::little) != swapped;
  codecs.push_back({"bytes", dtype.swap_unit() > 1 ? dump_json({{"endian", little ? "little" : "big"}}) : "{}"});
  return codecs;
}

}  // namespace

bool is_nifti_header(ByteView head) {
  const auto [bytes, swapped] = header_bytes(head);
  if (bytes == 0 || head.size() < static_cast<std::size_t>(bytes)) return false;
  const std::string_view magic = Reader(head, swapped).magic(bytes == kHeader1Bytes ? 344 : 4);
  return magic.starts_with(bytes == kHeader1Bytes ? "n+1" : "n+2") ||
         magic.starts_with(bytes == kHeader1Bytes ? "ni1" : "ni2");
}

bool is_nifti_pair(ByteView head) {
  if (!is_nifti_header(head)) return false;
  const auto [bytes, swapped] = header_bytes(head);
  return Reader(head, swapped).magic(bytes == kHeader1Bytes ? 344 : 4)[1] == 'i';
}

Result<Dataset> parse_nifti(ByteView head, std::string_view key, std::uint64_t file_bytes) {
  if (!is_nifti_header(head)) return invalid("sizeof_hdr, magic", "no NIfTI header");
  const auto [bytes, swapped] = header_bytes(head);
  const Reader reader(head, swapped);
  Header h = bytes == kHeader1Bytes ? read_header1(reader) : read_header2(reader);
  h.swapped = swapped;
  Dataset dataset;
  PENSTOCK_ASSIGN(dataset.shape, shape_of(h));
  PENSTOCK_ASSIGN(dataset.dtype, dtype_of(h.datatype));
  const std::uint64_t item_bytes = dataset.dtype.size_bytes;
  if (h.bitpix != 0 && static_cast<std::uint64_t>(h.bitpix) != 8 * item_bytes)
    return invalid("bitpix", fmt::format("is {}, datatype {} has {}", h.bitpix, h.datatype, 8 * item_bytes));
  PENSTOCK_ASSIGN_IN(const std::uint64_t elements, element_count(dataset.shape), "dim");
  PENSTOCK_ASSIGN_IN(const std::uint64_t data_bytes, checked_mul(elements, item_bytes), "dim");
  PENSTOCK_ASSIGN(const std::uint64_t offset, data_offset(h, data_bytes, file_bytes));
  PENSTOCK_ASSIGN(dataset.world_from_voxel, affine_of(h));
  const ContiguousChunks volume{std::string(key), offset, ContiguousChunks::Fastest::first};
  dataset.chunk_shape = slab_shape(dataset.shape, item_bytes, volume.fastest, kSlabBytes);
  dataset.codecs = codecs_of(dataset.rank(), dataset.dtype, swapped);
  dataset.placement = volume;
  dataset.attributes = attributes_of(h);
  dataset.dims = dims_of(h, dataset.rank());
  dataset.format = {"nifti", h.version};
  return dataset;
}

}  // namespace penstock
