#include "store/list.hpp"

#include <algorithm>
#include <cctype>

#include "core/settings.hpp"
#include "store/file/file_store.hpp"
#include "store/memory/memory_store.hpp"
#include "store/zip/zip_store.hpp"

namespace penstock {
namespace {

constexpr StoreKind kStores[] = {
    {"memory", "bytes of this process", nullptr,
     [](const std::string& name, StoreMode mode, HowToOpen) { return open_memory_store(name, mode); }},
    {"zip", "a ZIP archive", is_zip_path,
     [](const std::string& path, StoreMode mode, HowToOpen how) { return open_zip_store(path, mode, how.durable); }},
    {"file", "a directory", [](const std::string&) { return true; },
     [](const std::string& path, StoreMode mode, HowToOpen how) {
       return open_file_store(path, mode, how.durable, how.links);
     }},
};

bool is_scheme(std::string_view text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

Error unknown_scheme(std::string_view scheme) {
  std::string known;
  for (const StoreKind& kind : kStores) known.append(known.empty() ? "" : ", ").append(kind.scheme);
  return {ErrorCode::unsupported, "no store for '" + std::string(scheme) + "://'; known: " + known};
}

/// "%20" -> " " in a URL's path.
Result<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::string hex(text.substr(i + 1, 2));
    if (hex.size() != 2 || std::isxdigit(static_cast<unsigned char>(hex[0])) == 0 ||
        std::isxdigit(static_cast<unsigned char>(hex[1])) == 0 || hex == "00")
      return Error(ErrorCode::invalid_argument,
                   "URL path '" + std::string(text) + "': bad escape at byte " + std::to_string(i));
    out += static_cast<char>(std::stoi(hex, nullptr, 16));
    i += 2;
  }
  return out;
}

}  // namespace

std::span<const StoreKind> store_list() { return kStores; }

Result<std::shared_ptr<Store>> open_store(const std::string& url, StoreMode mode, const StoreOptions& options) {
  HowToOpen how;
  PENSTOCK_ASSIGN(how.durable, options.durable ? Result<Durable>(*options.durable) : default_durable());
  PENSTOCK_ASSIGN(how.links, options.links ? Result<Links>(*options.links) : default_links());
  if (url.empty()) return Error(ErrorCode::invalid_argument, "the path of the store is empty");
  if (url.find('\0') != std::string::npos)
    return Error(ErrorCode::invalid_argument, "the path of the store holds a zero byte");
  const std::size_t colon = url.find("://");
  if (colon != std::string::npos && is_scheme(std::string_view(url).substr(0, colon))) {
    const std::string_view scheme = std::string_view(url).substr(0, colon);
    for (const StoreKind& kind : kStores)
      if (kind.scheme == scheme) {
        PENSTOCK_ASSIGN(const std::string location, percent_decoded(std::string_view(url).substr(colon + 3)));
        if (kind.claims_path != nullptr && !location.starts_with('/'))
          return Error(ErrorCode::invalid_argument,
                       url + ": a URL of a file holds an absolute path: " + std::string(scheme) + ":///data/vol.zarr");
        return kind.open(location, mode, how);
      }
    return unknown_scheme(scheme);
  }
  for (const StoreKind& kind : kStores)
    if (kind.claims_path != nullptr && kind.claims_path(url)) return kind.open(url, mode, how);
  return Error(ErrorCode::internal, "no kind of store claims the path " + url);
}

}  // namespace penstock
