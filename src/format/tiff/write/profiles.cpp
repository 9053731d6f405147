// Profiles that lie in fields of their own, not among GDAL's metadata.
#include <fmt/format.h>

#include <algorithm>

#include "format/tiff/tiff.hpp"
#include "format/tiff/write/cog.hpp"
#include "format/zarr/base64.hpp"

namespace penstock::tiff {
namespace {

const std::string* text_in(const RasterInfo& info, std::string_view domain, std::string_view name) {
  const auto found = std::ranges::find(info.domains, domain, &TagDomains::value_type::first);
  if (found == info.domains.end()) return nullptr;
  const auto tag = std::ranges::find(found->second, name, &Tags::value_type::first);
  return tag == found->second.end() ? nullptr : &tag->second;
}

}  // namespace

bool has_own_field(std::string_view domain, std::string_view name) {
  return (domain == kIccDomain && name == kIccName) || (domain == kXmpDomain && name == kXmpDomain);
}

Result<std::vector<std::byte>> make_icc_profile(const RasterInfo& info) {
  const std::string* const text = text_in(info, kIccDomain, kIccName);
  if (text == nullptr) return std::vector<std::byte>();
  std::optional<std::vector<std::byte>> profile = from_base64(*text);
  if (profile) return *std::move(profile);
  return Error(ErrorCode::invalid_argument, fmt::format("tag {} of domain {} is no base64", kIccName, kIccDomain));
}

std::string make_xmp(const RasterInfo& info) {
  const std::string* const text = text_in(info, kXmpDomain, kXmpDomain);
  return text == nullptr ? std::string() : *text;
}

}  // namespace penstock::tiff
