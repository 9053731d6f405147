#include "cli/nodes/missing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/nodes/target.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "penstock/array.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

bool is_store(const fs::path& path) {
  std::error_code ignored;
  if (path.extension() == ".zip") return fs::is_regular_file(path, ignored);
  return std::ranges::any_of(std::initializer_list<const char*>{"zarr.json", ".zarray", ".zgroup"},
                             [&](const char* name) { return fs::exists(path / name, ignored); });
}

/// Names in a local folder: of all stores, or of everything that could be one.
std::vector<std::string> names_in(const fs::path& folder, bool stores_only) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (stores_only ? is_store(it->path()) : it->is_directory(ignored) || it->path().extension() == ".zip")
      names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// Members of the group at `url`; of a folder that is none, what could be a store.
std::vector<std::string> siblings(const std::string& url) {
  std::vector<std::string> names;
  const auto node = open(url, StoreMode::read);
  if (!node) return names_in(local_path(url), false);
  if (const auto* group = std::get_if<Group>(&*node))
    if (const auto members = group->members())
      for (const Group::Member& m : *members) names.push_back(m.name);
  return names;
}

/// The name that was meant; endings tell nothing: "b.zarr" is not near "a.zarr", and "a" is.
std::optional<std::string> meant(const std::string& typed, const std::vector<std::string>& names) {
  std::vector<std::string> stems;
  for (const std::string& name : names) stems.push_back(fs::path(name).stem().string());
  const auto near = nearest(fs::path(typed).stem().string(), stems);
  if (!near) return std::nullopt;
  return names[static_cast<std::size_t>(std::ranges::find(stems, *near) - stems.begin())];
}

}  // namespace

std::string some_names(std::span<const std::string> names) {
  constexpr std::size_t kShown = 10;
  const std::string shown = fmt::format("{}", fmt::join(names.first(std::min(names.size(), kShown)), ", "));
  return names.size() <= kShown ? shown : fmt::format("{}, and {} more", shown, format_count(names.size() - kShown));
}

Error nothing_at(const std::string& url) {
  std::string trimmed = url;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  const fs::path path = local_path(trimmed);
  std::error_code ignored;
  if (const auto file = file_in(trimmed); file && fs::path(*file).extension() != ".zip")
    return Error(ErrorCode::unsupported, *file == path ? fmt::format("{}: a file, not a store", url)
                                                       : fmt::format("{}: {} is a file, not a store", url, *file))
        .set_hint("a store is a directory with zarr.json, .zarray or .zgroup in it, or a zip of one.");
  if (fs::is_directory(path, ignored)) {
    const auto stores = names_in(path, true);
    return Error(ErrorCode::not_found, fmt::format("{}: a folder, but no zarr array or group", url))
        .set_hint(stores.empty() ? "a store is a directory with zarr.json, .zarray or .zgroup in it, or a zip of one."
                                 : "it holds: " + some_names(stores));
  }
  const std::size_t slash = trimmed.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : trimmed.substr(0, slash);
  const auto beside = siblings(parent);
  Error error(ErrorCode::not_found, fmt::format("{}: no such file or directory", url));
  if (const auto near = meant(trimmed.substr(slash + 1), beside))
    error.set_hint(fmt::format("did you mean {}?", slash == std::string::npos ? *near : parent + "/" + *near));
  else if (!beside.empty() && slash != std::string::npos)
    error.set_hint(fmt::format("{} holds: {}", parent, some_names(beside)));
  return error;
}

}  // namespace penstock::cli
