#include "array/parents.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "format/format.hpp"

namespace penstock {
namespace {

/// The path of what a node is in; "" is in nothing.
std::string above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

Error below_array(const std::string& array) {
  return {ErrorCode::already_exists, array + " is an array; nothing can be put below it"};
}

Error below_array(const Store& store, const std::string& path) {
  return below_array(path.empty() ? store.url() : store.url() + "/" + path);
}

/// Whether the documents in a directory are those of an array.
bool holds_array(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory / "zarr.json", error) &&
      !std::filesystem::exists(directory / ".zarray", error))
    return false;
  const auto store = open_store(directory.string(), StoreMode::read);
  const auto node = store ? read_node(**store, "") : Result<NodeInfo>(store.error());
  return node && std::holds_alternative<Dataset>(*node);
}

}  // namespace

Status check_not_below_array(const Store& store, const std::string& path) {
  for (std::string at = path; !at.empty();) {
    at = above(at);
    const auto there = read_node(store, at);
    if (there && std::holds_alternative<Dataset>(*there)) return below_array(store, at);
    if (there) return {};  // a group: it was not put below an array either
    if (there.error().code() != ErrorCode::not_found) return there.error();
  }
  std::error_code error;
  const auto root = std::filesystem::weakly_canonical(store.url(), error);
  if (error || !std::filesystem::is_directory(root, error)) return {};
  for (auto at = root.parent_path(); at != at.parent_path(); at = at.parent_path())
    if (holds_array(at)) return below_array(at.string());
  return {};
}

Status make_parents(Store& store, const std::string& path, int zarr_format, const CancelToken& cancel) {
  for (std::string at = path; !at.empty();) {
    at = above(at);
    const auto there = read_node(store, at);
    if (there && std::holds_alternative<Dataset>(*there)) return below_array(store, at);
    if (there) return {};
    if (there.error().code() != ErrorCode::not_found) return there.error();
    PENSTOCK_TRY(write_node(store, at, GroupInfo{{"zarr", zarr_format}, "{}"}, cancel));
  }
  return {};
}

}  // namespace penstock
