#include "store/list.hpp"

#include <algorithm>
#include <cctype>

#include "core/settings.hpp"
#include "core/suggest.hpp"
#include "store/file/file_store.hpp"
#include "store/http/http_store.hpp"
#include "store/key.hpp"
#include "store/memory/memory_store.hpp"
#include "store/s3/s3_store.hpp"
#include "store/zip/zip_store.hpp"

namespace penstock {
namespace {

const StoreKind kStores[] = {
    {"memory", "bytes of this process", nullptr,
     [](const StoreUrl& url, StoreMode mode, const StoreOptions&) -> Result<std::shared_ptr<Store>> {
       PENSTOCK_ASSIGN(const std::string name, name_of(url));
       return open_memory_store(name, mode);
     }},
    {"zip", "a ZIP archive", is_zip_path,
     [](const StoreUrl& url, StoreMode mode, const StoreOptions& options) -> Result<std::shared_ptr<Store>> {
       PENSTOCK_ASSIGN(const std::string path, file_path_of(url));
       return open_zip_store(path, mode, options.durable.value_or(Durable::none));
     }},
    {"s3", "a bucket of S3", nullptr, s3::open_s3_store, s3::s3_options()},
    {"http", "a web server", nullptr, http::open_http_store, http::http_options()},
    {"https", "a web server", nullptr, http::open_http_store, http::http_options()},
    {"file", "a directory", [](const std::string&) { return true; },
     [](const StoreUrl& url, StoreMode mode, const StoreOptions& options) -> Result<std::shared_ptr<Store>> {
       PENSTOCK_ASSIGN(const std::string path, file_path_of(url));
       return open_file_store(path, mode, options.durable.value_or(Durable::none),
                              options.links.value_or(Links::follow));
     }},
};

bool is_scheme(std::string_view text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

Error unknown_scheme(std::span<const StoreKind> kinds, std::string_view scheme) {
  std::string known;
  for (const StoreKind& kind : kinds) known.append(known.empty() ? "" : ", ").append(kind.scheme);
  return {ErrorCode::unsupported, "no store for '" + std::string(scheme) + "://'; known: " + known};
}

/// Errors: invalid_argument for an option that the kind does not have, naming those near it.
Status check_options(const StoreKind& kind, const StoreOptions& options) {
  for (const auto& [name, value] : options.by_name) {
    std::string known;
    std::string_view nearest;
    std::size_t distance = 3;  // further away is no misspelling
    bool found = false;
    for (const StoreOptionName& option : kind.options) {
      found = found || option.name == name;
      known.append(known.empty() ? "" : ", ").append(option.name);
      if (const std::size_t d = edit_distance(name, option.name); d < distance) {
        distance = d;
        nearest = option.name;
      }
    }
    if (found) continue;
    std::string text = "a store of the kind '" + std::string(kind.scheme) + "' (" + std::string(kind.what) +
                       ") has no option " + quoted_key(name);
    if (!nearest.empty()) text += "; did you mean " + std::string(nearest) + "?";
    return Error(ErrorCode::invalid_argument, std::move(text))
        .set_hint(known.empty() ? "it has none" : "its options: " + known);
  }
  return {};
}

Result<std::shared_ptr<Store>> open_kind(const StoreKind& kind, const StoreUrl& url, StoreMode mode,
                                         const StoreOptions& options) {
  PENSTOCK_TRY(check_options(kind, options));
  StoreOptions all = options;
  PENSTOCK_ASSIGN(all.durable, options.durable ? Result<Durable>(*options.durable) : default_durable());
  PENSTOCK_ASSIGN(all.links, options.links ? Result<Links>(*options.links) : default_links());
  return kind.open(url, mode, all);
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
      return Error(ErrorCode::invalid_argument, "bad escape at byte " + std::to_string(i) + " of the URL's path");
    out += static_cast<char>(std::stoi(hex, nullptr, 16));
    i += 2;
  }
  return out;
}

}  // namespace

std::span<const StoreKind> store_list() { return kStores; }

Result<std::string> file_path_of(const StoreUrl& url) {
  if (url.scheme.empty()) return std::string(url.rest);
  if (!url.rest.starts_with('/'))
    return Error(ErrorCode::invalid_argument, std::string(url.text) + ": a URL of a file holds an absolute path: " +
                                                  std::string(url.scheme) + ":///data/vol.zarr");
  return name_of(url);
}

Result<std::string> name_of(const StoreUrl& url) {
  PENSTOCK_ASSIGN_IN(std::string name, percent_decoded(url.rest), url.text);
  return name;
}

Result<std::shared_ptr<Store>> open_store_of(std::span<const StoreKind> kinds, const std::string& url, StoreMode mode,
                                             const StoreOptions& options) {
  if (url.empty()) return Error(ErrorCode::invalid_argument, "the path of the store is empty");
  if (url.find('\0') != std::string::npos)
    return Error(ErrorCode::invalid_argument, "the path of the store holds a zero byte");
  const std::size_t colon = url.find("://");
  if (colon != std::string::npos && is_scheme(std::string_view(url).substr(0, colon))) {
    const std::string_view scheme = std::string_view(url).substr(0, colon),
                           rest = std::string_view(url).substr(colon + 3);
    for (const StoreKind& kind : kinds)
      if (kind.scheme == scheme) return open_kind(kind, {url, scheme, rest}, mode, options);
    return unknown_scheme(kinds, scheme);
  }
  for (const StoreKind& kind : kinds)
    if (kind.claims_path != nullptr && kind.claims_path(url)) return open_kind(kind, {url, "", url}, mode, options);
  return Error(ErrorCode::internal, "no kind of store claims the path " + url);
}

Result<std::shared_ptr<Store>> open_store(const std::string& url, StoreMode mode, const StoreOptions& options) {
  auto store = open_store_of(store_list(), url, mode, options);
  if (store) return store;
  return redacted(std::move(store).error());
}

}  // namespace penstock
