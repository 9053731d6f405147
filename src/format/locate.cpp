// Which part of a path is the store, and which is the node in it.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "format/list.hpp"
#include "store/list.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool holds_metadata(const std::string& directory) {
  std::error_code error;
  for (const FormatEntry& format : format_list())
    for (const std::string_view mark : format.marks)
      if (fs::exists(fs::path(directory) / mark, error)) return true;
  return false;
}

/// Parent of a path: "a/b" -> "a", "a" -> ".", "/a" -> "/"; nullopt above "/", "." and "..".
std::optional<std::string> parent(const std::string& path) {
  if (path == "/" || path == "." || path == ".." || path.ends_with("/..")) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The path without doubled and trailing slashes and "." parts.
std::string tidy(std::string_view path) {
  std::string out = path.starts_with('/') ? "/" : "";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (!part.empty() && part != ".") {
      if (!out.empty() && out.back() != '/') out += '/';
      out += part;
    }
    begin = end + 1;
  }
  return out.empty() ? "." : out;
}

/// What is left of `path` below `store`.
std::string below(const std::string& path, const std::string& store) {
  if (store == path) return "";
  if (store == ".") return path;
  return path.substr(store == "/" ? 1 : store.size() + 1);
}

/// Whether a store of its own lies in the file.
bool is_archive(const std::string& path) {
  for (const StoreKind& kind : store_list())
    if (kind.claims_path != nullptr && kind.scheme != "file" && kind.claims_path(path)) return true;
  return false;
}

/// What completing a path in a shell leads to: metadata of the directory around it.
bool is_document(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 = 0
  for (const FormatEntry& format : format_list())
    for (const Names names : {format.marks, format.beside})
      if (std::ranges::find(names, name) != names.end()) return true;
  return false;
}

/// The directory with metadata that stands above `at` and all others with some.
std::string top_of_hierarchy(std::string at) {
  for (auto above = parent(at); above && holds_metadata(*above); above = parent(at)) at = *std::move(above);
  return at;
}

/// Whether a URL ends in the name of a file of some format.
bool names_file(std::string_view url) {
  for (const FormatEntry& format : format_list())
    for (const std::string_view suffix : format.suffixes)
      if (url.ends_with(suffix)) return true;
  return false;
}

Result<Location> locate_file(const std::string& path, Links links) {
  std::string deepest;  // the longest directory that exists, used when none holds metadata
  for (std::optional<std::string> at = path; at; at = parent(*at)) {
    std::error_code error;
    const fs::file_status status = fs::status(*at, error);
    if (fs::is_regular_file(status) && is_archive(*at)) return Location{*at, below(path, *at)};
    if (fs::is_regular_file(status) && *at == path && is_document(path))
      return locate_file(parent(path).value_or("."), links);
    if (!fs::is_directory(status)) continue;
    if (deepest.empty()) deepest = *at;
    if (!holds_metadata(*at)) continue;
    const std::string store = links == Links::inside ? top_of_hierarchy(*at) : *at;
    return Location{store, below(path, store)};
  }
  if (deepest.empty()) return Error(ErrorCode::not_found, path + ": no such file or directory");
  Location location{deepest, below(path, deepest)};
  if (!location.path.empty()) PENSTOCK_TRY(check_key(location.path));
  return location;
}

}  // namespace

Result<Location> locate(const std::string& url, Links links) {
  if (url.empty()) return Error(ErrorCode::invalid_argument, "the path is empty");
  if (url.find('\0') != std::string::npos) return Error(ErrorCode::invalid_argument, "the path holds a zero byte");
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return locate_file(tidy(url), links);
  const std::string_view rest = std::string_view(url).substr(scheme + 3);
  if (url.starts_with("file://") && rest.starts_with('/') && rest.find('%') == std::string_view::npos)
    return locate_file(tidy(rest), links);
  if (url.starts_with("memory://")) {
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return Location{url, ""};
    Location location{url.substr(0, scheme + 3 + slash), ""};
    if (const std::string path = tidy(rest.substr(slash + 1)); path != ".") location.path = path;
    return location;
  }
  // open_store says what it thinks of the scheme.
  const std::size_t slash = url.rfind('/');
  if (names_file(url) && slash > scheme + 3) return Location{url.substr(0, slash), url.substr(slash + 1)};
  return Location{url, ""};
}

}  // namespace penstock
