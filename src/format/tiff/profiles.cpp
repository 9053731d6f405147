// Profiles that lie in fields of their own, as GDAL calls them, and the fields that nothing here reads.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/utf8.hpp"
#include "format/tiff/tiff.hpp"
#include "format/zarr/base64.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kMaxProfile = 16 << 20;
constexpr std::size_t kMaxOthers = 64;  ///< more are counted, not named
constexpr std::uint16_t kByte = 1, kAscii = 2, kUndefined = 7;

/// Fields that are read, and those of which a copy lacks nothing (of old ways to store tiles, of parts of the file that
/// are free, and what was found among the elements).
constexpr std::uint16_t kKnown[] = {
    254, 255, 256, 257, 258, 259, 262,   263,   266,   269,   270,   273,   277,   278,   279,   280,  281, 282,
    283, 284, 288, 289, 296, 305, 306,   315,   316,   317,   320,   322,   323,   324,   325,   338,  339, 340,
    341, 347, 529, 530, 531, 532, 33432, 33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113, 50844};

constexpr NamedTag kOthers[] = {
    {274, "orientation"},
    {285, "page name"},
    {297, "page number"},
    {301, "transfer function"},
    {318, "white point"},
    {319, "primaries"},
    {330, "further images"},
    {700, "XMP"},
    {33723, "IPTC"},
    {34377, "Photoshop"},
    {34665, "EXIF"},
    {34675, "ICC profile"},
    {34853, "GPS"},
    {37724, "layers of Photoshop"},
    {40965, "interoperability"},
    {50838, "ImageJ"},
    {50839, "ImageJ"},
};

std::string name_of(std::uint16_t tag) {
  const auto* const found = std::ranges::find(kOthers, tag, &NamedTag::tag);
  return found == std::end(kOthers) ? fmt::format("field {}", tag) : fmt::format("{} (field {})", found->name, tag);
}

bool is_bytes(const Field& field) { return field.type == kByte || field.type == kUndefined; }

/// Whether it is of a type and size that is taken.
bool is_icc(const Field& field) {
  return field.tag == static_cast<std::uint16_t>(Tag::ICCProfile) && is_bytes(field) && field.count <= kMaxProfile;
}
bool is_xmp(const Field& field) {
  return field.tag == static_cast<std::uint16_t>(Tag::XMP) && (is_bytes(field) || field.type == kAscii) &&
         field.count <= kMaxProfile;
}

}  // namespace

Result<std::vector<std::string>> other_fields(ByteSource& file, const Directory& directory) {
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const Field& field : directory.fields) {
    if (std::ranges::find(kKnown, field.tag) != std::end(kKnown) || is_icc(field) || is_xmp(field)) continue;
    if (field.tag == static_cast<std::uint16_t>(Tag::Orientation)) {
      const auto value = number_or(file, directory, Tag::Orientation, 1);
      if (value && *value == 1) continue;  // rows from the top down, as everywhere
    }
    std::string name = name_of(field.tag);
    if (std::ranges::find(names, name) != names.end()) continue;
    if (names.size() < kMaxOthers)
      names.push_back(std::move(name));
    else
      ++more;
  }
  if (more > 0) names.push_back(fmt::format("{} more fields", more));
  return names;
}

Status read_profiles(ByteSource& file, const Directory& directory, RasterInfo& info) {
  if (const Field* const icc = directory.find(Tag::ICCProfile); icc != nullptr && is_icc(*icc) && icc->count > 0) {
    PENSTOCK_ASSIGN_IN(const ByteView bytes, file.get(icc->offset_bytes, icc->count), where(directory, icc->tag));
    info.domains.push_back({kIccDomain, {{kIccName, to_base64(bytes)}}});
  }
  const Field* const xmp = directory.find(Tag::XMP);
  if (xmp == nullptr || !is_xmp(*xmp)) return {};
  PENSTOCK_ASSIGN_IN(const ByteView bytes, file.get(xmp->offset_bytes, xmp->count), where(directory, xmp->tag));
  std::string packet(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  packet.erase(packet.find_last_not_of('\0') + 1);
  const bool is_text = packet.find('\0') == std::string::npos && !find_bad_utf8(std::as_bytes(std::span(packet)));
  if (is_text && !packet.empty()) info.domains.push_back({kXmpDomain, {{kXmpDomain, std::move(packet)}}});
  if (!is_text) info.other_fields.push_back(fmt::format("XMP that is no UTF-8 (field {})", xmp->tag));
  return {};
}

}  // namespace penstock::tiff
