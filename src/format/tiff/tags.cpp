// Texts about a raster: baseline tags, and GDAL's metadata, which are XML.
#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <memory>

#include "format/members.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kMaxText = 1 << 20, kMaxXml = 32 << 20;
constexpr std::size_t kMaxDepth = 32;

/// An element of GDAL's metadata, with the attributes that say whose text it is.
struct Item {
  std::string name, domain, role, text;
  std::optional<std::uint64_t> band;
};

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// GDAL escapes texts once more than XML asks for.
std::string unescaped(std::string_view text) {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string out;
  while (!text.empty()) {
    const auto* const found =
        std::ranges::find_if(kEntities, [&](const auto& entity) { return text.starts_with(entity.first); });
    const bool is_one = found != std::end(kEntities);
    out += is_one ? found->second : text.front();
    text.remove_prefix(is_one ? found->first.size() : 1);
  }
  return out;
}

/// Takes the items one after another.  Documents with entities of their own are refused: none of GDAL's has any.
class ItemReader {
 public:
  explicit ItemReader(RasterInfo& info) : info_(info) {}
  Status read(std::string_view xml) {
    const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate("UTF-8"), XML_ParserFree);
    if (parser == nullptr) return Error(ErrorCode::out_of_memory, "no memory for a parser of XML");
    parser_ = parser.get();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(parser_, on_begin, on_end);
    XML_SetCharacterDataHandler(parser_, on_text);
    XML_SetStartDoctypeDeclHandler(parser_, on_doctype);
    if (XML_Parse(parser_, xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK) return {};
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("GDAL's metadata: {} at byte {}",
                             refused_.empty() ? XML_ErrorString(XML_GetErrorCode(parser_)) : refused_,
                             XML_GetCurrentByteIndex(parser_)));
  }

 private:
  void refuse(const char* why) {
    refused_ = why;
    XML_StopParser(parser_, XML_FALSE);
  }
  static void on_begin(void* self, const char* name, const char** attributes) {
    ItemReader& reader = *static_cast<ItemReader*>(self);
    if (++reader.depth_ > kMaxDepth) return reader.refuse("elements too deep in each other");
    reader.item_ = {};
    reader.in_item_ = reader.depth_ == 2 && std::string_view(name) == "Item";
    if (!reader.in_item_) return;
    for (; *attributes != nullptr; attributes += 2) {
      const std::string_view key = attributes[0], value = attributes[1];
      if (key == "name") reader.item_.name = value;
      if (key == "domain") reader.item_.domain = value;
      if (key == "role") reader.item_.role = value;
      if (key == "sample") reader.item_.band = number<std::uint64_t>(value);
    }
  }
  static void on_text(void* self, const char* text, int size) {
    ItemReader& reader = *static_cast<ItemReader*>(self);
    if (reader.in_item_) reader.item_.text.append(text, static_cast<std::size_t>(size));
  }
  static void on_end(void* self, const char*) {
    ItemReader& reader = *static_cast<ItemReader*>(self);
    if (reader.in_item_ && reader.depth_ == 2) {
      reader.item_.text = unescaped(reader.item_.text);
      reader.take(std::move(reader.item_));
      reader.in_item_ = false;
    }
    --reader.depth_;
  }
  static void on_doctype(void* self, const char*, const char*, const char*, int) {
    static_cast<ItemReader*>(self)->refuse("a document type");
  }
  void take(Item item) {
    if (!item.domain.empty()) return;
    if (!item.band) return void(info_.tags.emplace_back(std::move(item.name), std::move(item.text)));
    if (*item.band >= info_.bands.size()) return;
    BandInfo& band = info_.bands[*item.band];
    if (item.role == "scale")
      band.scale = number<double>(item.text).value_or(1);
    else if (item.role == "offset")
      band.offset = number<double>(item.text).value_or(0);
    else if (item.role == "unittype")
      band.unit = std::move(item.text);
    else if (item.role == "description")
      band.description = std::move(item.text);
    else if (item.role.empty())
      band.tags.emplace_back(std::move(item.name), std::move(item.text));
  }

  RasterInfo& info_;
  XML_Parser parser_ = nullptr;
  std::string refused_;
  Item item_;
  bool in_item_ = false;
  std::size_t depth_ = 0;
};

struct NamedTag {
  std::uint16_t tag;
  const char* name;  ///< as GDAL calls it
};
constexpr NamedTag kTexts[] = {
    {269, "TIFFTAG_DOCUMENTNAME"}, {270, "TIFFTAG_IMAGEDESCRIPTION"}, {305, "TIFFTAG_SOFTWARE"},
    {306, "TIFFTAG_DATETIME"},     {315, "TIFFTAG_ARTIST"},           {316, "TIFFTAG_HOSTCOMPUTER"},
    {33432, "TIFFTAG_COPYRIGHT"},
};

/// A fraction of two whole numbers of 4 bytes.
Result<double> fraction(ByteSource& file, const Directory& directory, const Field& field) {
  PENSTOCK_ASSIGN_IN(const ByteView bytes, file.get(field.offset_bytes, 8), where(directory, field.tag));
  std::uint32_t parts[2] = {};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t shift = 8 * (directory.byte_order == std::endian::little ? i % 4 : 3 - i % 4);
    parts[i / 4] |= static_cast<std::uint32_t>(bytes[i]) << shift;
  }
  return static_cast<double>(parts[0]) / static_cast<double>(parts[1]);
}

/// Pixels of a print, with GDAL's words.
Status read_resolution(ByteSource& file, const Directory& directory, RasterInfo& info) {
  constexpr std::uint16_t kRational = 5;
  constexpr NamedTag kSides[] = {{282, "TIFFTAG_XRESOLUTION"}, {283, "TIFFTAG_YRESOLUTION"}};
  for (const NamedTag& side : kSides) {
    const Field* const field = directory.find(static_cast<Tag>(side.tag));
    if (field == nullptr || field->type != kRational || field->count != 1) continue;
    PENSTOCK_ASSIGN(const double value, fraction(file, directory, *field));
    info.tags.emplace_back(side.name, fmt::format("{:.8g}", value));
  }
  constexpr std::uint16_t kUnit = 296;
  constexpr const char* kUnits[] = {"1 (unitless)", "2 (pixels/inch)", "3 (pixels/cm)"};
  const Field* const field = directory.find(static_cast<Tag>(kUnit));
  if (field == nullptr) return {};
  PENSTOCK_ASSIGN(const std::uint64_t unit, number_or(file, directory, static_cast<Tag>(kUnit), 0));
  if (unit >= 1 && unit <= 3) info.tags.emplace_back("TIFFTAG_RESOLUTIONUNIT", kUnits[unit - 1]);
  return {};
}

}  // namespace

Status read_tags(ByteSource& file, const Directory& directory, RasterInfo& info) {
  constexpr std::uint16_t kAscii = 2;
  for (const NamedTag& known : kTexts) {
    const Field* const field = directory.find(static_cast<Tag>(known.tag));
    if (field == nullptr || field->type != kAscii) continue;
    PENSTOCK_ASSIGN(std::string value, text(file, *field, kMaxText));
    info.tags.emplace_back(known.name, std::move(value));
  }
  PENSTOCK_TRY(read_resolution(file, directory, info));
  const Field* const field = directory.find(Tag::GDAL_METADATA);
  if (field == nullptr) return {};
  if (field->count > kMaxXml)
    return metadata::invalid(where(directory, field->tag), fmt::format("{} bytes of metadata", field->count));
  PENSTOCK_ASSIGN(const std::string xml, text(file, *field, kMaxXml));
  PENSTOCK_TRY_IN(ItemReader(info).read(xml), where(directory, field->tag));
  return {};
}

}  // namespace penstock::tiff
