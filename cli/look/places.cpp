#include "cli/look/places.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/kit/machine.hpp"
#include "cli/look/uploads.hpp"
#include "core/units.hpp"
#include "penstock/io.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

/// The file itself, or the first one that is met in a directory; nullopt: none in its first entries.
std::optional<std::string> some_file(const std::string& path) {
  constexpr int kMaxEntries = 1000;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  int left = kMaxEntries;
  for (fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && left-- > 0; at.increment(error))
    if (at->is_regular_file(error)) return at->path().string();
  return std::nullopt;
}

/// What each engine says of a file of this place.
void add_engines(const std::string& path, Finding& finding) {
  const std::optional<std::string> name = some_file(path);
  const auto file = name ? File::open(*name) : Result<File>(Error(ErrorCode::not_found, ""));
  if (!file) return;
  Json list = Json::array();
  std::string text;
  for (const EngineAnswer& one : file->engines()) {
    list.push_back({{"engine", one.engine}, {"serves", one.serves}, {"why", one.why}});
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : ", ", one.engine, one.serves ? "" : "no, ", one.why);
  }
  finding.detail += fmt::format("; {}: {}", fs::path(*name).filename().string(), text);
  finding.json["file"] = *name;
  finding.json["engines"] = std::move(list);
}

Result<Finding> look_at_path(const std::string& path, const StoreOptions& options) {
  PENSTOCK_ASSIGN(const DiskFacts facts, disk_facts(path));
  Finding finding{path,
                  fmt::format("{} on {}, {} free, {}", facts.filesystem, facts.source, format_bytes(facts.free_bytes),
                              facts.direct),
                  facts.writable ? "ok" : "read only for this user",
                  {{"path", path},
                   {"filesystem", facts.filesystem},
                   {"source", facts.source},
                   {"free_bytes", facts.free_bytes},
                   {"direct_io", facts.direct},
                   {"writable", facts.writable}}};
  if (const auto store = open_store(path, StoreMode::read, options)) {
    finding.detail += "; as a store: " + (*store)->path_taken();
    finding.json["served_by"] = (*store)->path_taken();
    finding.json["why"] = (*store)->traits("").reason;
  }
  add_engines(path, finding);
  return finding;
}

std::string said(const Error& error) {
  return error.hint().empty() ? error.message() : error.message() + "; " + error.hint();
}

/// Asked for metadata and for a listing, which says whether it answers, and why not.
Finding look_at_url(const std::string& url, const StoreOptions& options) {
  const auto opened = open_store(url, StoreMode::read, options);
  const std::string shown = redacted(url);
  if (!opened) return {shown, "not opened", said(opened.error()), {{"path", shown}, {"answers", false}}};
  const Store& store = **opened;
  auto answer = store.exists("zarr.json");
  if (answer && !*answer) answer = store.exists(".zmetadata");
  const auto listed = store.list_dir("");
  const std::string lists = listed ? "lists" : "does not list: " + listed.error().message();
  Finding finding{store.url(),
                  fmt::format("{}; {}; {}", store.path_taken(), store.traits("").reason, lists),
                  answer ? "ok" : said(answer.error()),
                  {{"path", store.url()},
                   {"served_by", store.path_taken()},
                   {"why", store.traits("").reason},
                   {"lists", listed.has_value()},
                   {"answers", answer.has_value()}}};
  if (answer && url.starts_with("s3://")) add_uploads(store, finding);
  return finding;
}

}  // namespace

Result<Finding> look_at_place(const std::string& place, const StoreOptions& options) {
  if (place.find("://") == std::string::npos) return look_at_path(place, options);
  return look_at_url(place, options);
}

}  // namespace penstock::cli
