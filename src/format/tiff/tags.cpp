// Texts about a raster: baseline tags, and GDAL's metadata, which are XML.
#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <memory>

#include "format/members.hpp"
#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kMaxText = 32 << 20, kMaxXml = 32 << 20;
constexpr std::size_t kMaxDepth = 32;

/// An element of GDAL's metadata, with the attributes that say whose text it is.
struct Item {
  std::string name, domain, role, text;
  std::optional<std::uint64_t> band;
};

/// The tags of a domain; that of no name are those before it.
Tags& of_domain(const std::string& domain, Tags& tags, TagDomains& domains) {
  if (domain.empty()) return tags;
  const auto found = std::ranges::find(domains, domain, &TagDomains::value_type::first);
  return found != domains.end() ? found->second : domains.emplace_back(domain, Tags()).second;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Characters that XML does not know, which others write all the same, become the mark of what is not known.
std::string without_control_characters(std::string_view xml) {
  std::string out;
  out.reserve(xml.size());
  for (const char c : xml) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 && c != '\t' && c != '\n' && c != '\r')
      out += "\uFFFD";
    else
      out += c;
  }
  return out;
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
                             refused_.empty() ? XML_ErrorString(XML_GetErrorCode(parser_)) : refused_.c_str(),
                             XML_GetCurrentByteIndex(parser_)));
  }

 private:
  void refuse(std::string why) {
    refused_ = std::move(why);
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
      if (key == "role") reader.item_.role = lower_case(value);
      if (key != "sample") continue;
      reader.item_.band = number<std::uint64_t>(trimmed(value));
      if (!reader.item_.band) return reader.refuse(fmt::format("a band '{}'", value));
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
    if (!item.band) {
      of_domain(item.domain, info_.tags, info_.domains).emplace_back(std::move(item.name), std::move(item.text));
      return;
    }
    if (*item.band >= info_.bands.size()) return;
    BandInfo& band = info_.bands[*item.band];
    if (!item.domain.empty())
      of_domain(item.domain, band.tags, band.domains).emplace_back(std::move(item.name), std::move(item.text));
    else if (item.role == "scale")
      take_number(item, band.scale);
    else if (item.role == "offset")
      take_number(item, band.offset);
    else if (item.role == "unittype")
      band.unit = std::move(item.text);
    else if (item.role == "description")
      band.description = std::move(item.text);
    else if (item.role == "colorinterp")
      band.color = lower_case(trimmed(item.text));
    else if (item.role.empty())
      band.tags.emplace_back(std::move(item.name), std::move(item.text));
  }
  void take_number(const Item& item, double& to) {
    std::string_view text = trimmed(item.text);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto value = number<double>(text);
    if (!value) return refuse(fmt::format("{} '{}' of band {}", item.role, item.text, *item.band));
    to = *value;
  }

  RasterInfo& info_;
  XML_Parser parser_ = nullptr;
  std::string refused_;  // why, where it is not expat that does
  Item item_;
  bool in_item_ = false;
  std::size_t depth_ = 0;
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
  for (const NamedTag& side : kResolutionTags) {
    const Field* const field = directory.find(static_cast<Tag>(side.tag));
    if (field == nullptr || field->type != kRational || field->count != 1) continue;
    PENSTOCK_ASSIGN(const double value, fraction(file, directory, *field));
    info.tags.emplace_back(side.name, fmt::format("{:.8g}", value));
  }
  const auto unit_tag = static_cast<Tag>(kResolutionUnitTag.tag);
  const Field* const field = directory.find(unit_tag);
  if (field == nullptr) return {};
  PENSTOCK_ASSIGN(const std::uint64_t unit, number_or(file, directory, unit_tag, 0));
  if (unit >= 1 && unit <= 3) info.tags.emplace_back(kResolutionUnitTag.name, kResolutionUnits[unit - 1]);
  return {};
}

}  // namespace

Status read_tags(ByteSource& file, const Directory& directory, RasterInfo& info) {
  constexpr std::uint16_t kAscii = 2;
  for (const NamedTag& known : kTextTags) {
    const Field* const field = directory.find(static_cast<Tag>(known.tag));
    if (field == nullptr || field->type != kAscii) continue;
    if (field->count > kMaxText) {
      info.other_fields.push_back(fmt::format("{} of {} bytes (field {})", known.name, field->count, known.tag));
      continue;
    }
    PENSTOCK_ASSIGN(std::string value, text(file, *field, kMaxText));
    info.tags.emplace_back(known.name, std::move(value));
  }
  PENSTOCK_TRY(read_resolution(file, directory, info));
  if (const Field* const rpc = directory.find(Tag::RPCCoefficient); rpc != nullptr) {
    PENSTOCK_ASSIGN(info.rpc, real_numbers(file, directory, *rpc, kRpcNumbers));
    if (info.rpc.size() != kRpcNumbers || !std::ranges::all_of(info.rpc, [](double v) { return std::isfinite(v); }))
      return metadata::invalid(where(directory, rpc->tag), "is not 92 finite numbers");
  }
  const Field* const field = directory.find(Tag::GDAL_METADATA);
  if (field == nullptr) return {};
  if (field->count > kMaxXml)
    return metadata::invalid(where(directory, field->tag), fmt::format("{} bytes of metadata", field->count));
  PENSTOCK_ASSIGN(const std::string xml, text(file, *field, kMaxXml));
  if (trimmed(xml).empty()) return {};
  PENSTOCK_TRY_IN(ItemReader(info).read(without_control_characters(xml)), where(directory, field->tag));
  return {};
}

}  // namespace penstock::tiff
