#include "cli/nodes/target.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/json.hpp"
#include "core/json_text.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMetadata[] = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"};

bool is_metadata(std::string_view name) { return std::ranges::find(kMetadata, name) != std::end(kMetadata); }

/// "c", "0", "0.1.2": first parts of chunk keys.
bool is_chunk_part(std::string_view name) {
  return name == "c" || name.starts_with("c.") ||
         (!name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace

std::string local_path(const std::string& url) {
  constexpr std::string_view scheme = "file://";
  return url.starts_with(scheme) ? url.substr(scheme.size()) : url;
}

TargetNode split_target(const std::string& url) {
  const std::size_t inside = url.find(".zip/");
  if (inside == std::string::npos) return {url, ""};
  std::string path = url.substr(inside + 5);
  while (path.ends_with('/')) path.pop_back();
  return {url.substr(0, inside + 4), path};
}

std::optional<std::string> file_in(const std::string& url) {
  std::error_code ignored;
  for (fs::path path = local_path(url); !path.empty(); path = path.parent_path()) {
    if (fs::is_regular_file(path, ignored)) return path.string();
    if (fs::exists(path, ignored) || path == path.parent_path()) break;
  }
  return std::nullopt;
}

Result<Occupant> occupant(const TargetNode& target) {
  if (target.store_url.starts_with("memory://")) return Occupant::nothing;
  const fs::path path = local_path(target.store_url);
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) return Occupant::nothing;
  if (status.type() == fs::file_type::regular) return path.extension() == ".zip" ? Occupant::node : Occupant::other;
  if (status.type() != fs::file_type::directory) return Occupant::other;
  bool any = false;
  bool marked = false;  // by a copy that runs or was stopped
  bool all_chunks = true;
  for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (is_metadata(name)) return Occupant::node;
    any = true;
    marked = marked || name.starts_with(".penstock-");
    all_chunks = all_chunks && is_chunk_part(name);
  }
  if (failed)
    return Error(failed == std::errc::permission_denied   ? ErrorCode::permission_denied
                 : failed == std::errc::not_enough_memory ? ErrorCode::out_of_memory
                                                          : ErrorCode::io_error,
                 target.store_url + ": " + failed.message())
        .set_errno(failed.value());
  return !any ? Occupant::nothing : marked || all_chunks ? Occupant::broken : Occupant::other;
}

Status check_target_name(const TargetNode& target) {
  constexpr std::string_view others[] = {".png", ".jpg", ".jpeg", ".npy", ".npz",  ".raw", ".bin",
                                         ".txt", ".csv", ".json", ".h5",  ".hdf5", ".nc",  ".nii",
                                         ".gz",  ".hdr", ".img",  ".mrc", ".tar",  ".tif", ".tiff"};
  if (target.store_url.starts_with("memory://")) return {};
  if (const auto file = file_in(target.store_url); file && *file != local_path(target.store_url))
    return Error(ErrorCode::invalid_argument, target.store_url + ": " + *file + " is a file, not a folder");
  const std::string ending = fs::path(local_path(target.store_url)).extension().string();
  if (target.store_url != "-" && std::ranges::find(others, ending) == std::end(others)) return {};
  return Error(ErrorCode::invalid_argument, target.store_url + ": what is written is zarr, a directory or a .zip")
      .set_hint(
          "name it out.zarr or out.zip; of that penstock copy makes a .tif (a COG), and penstock cat writes the "
          "elements as .npy, .raw, .txt or .json, or to a pipe.");
}

std::optional<std::string> array_around(const TargetNode& target) {
  if (target.store_url.starts_with("memory://")) return std::nullopt;
  std::error_code ignored;
  fs::path path = fs::weakly_canonical(local_path(target.store_url), ignored);
  while (path.has_relative_path()) {
    path = path.parent_path();
    if (fs::exists(path / ".zarray", ignored)) return path.string();
    std::ifstream file(path / "zarr.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto metadata = parse_json(text);
    if (metadata && metadata->is_object() && is_text(metadata->value("node_type", Json()), "array"))
      return path.string();
  }
  return std::nullopt;
}

bool overlaps(const std::string& from_url, const std::string& to_url) {
  if (from_url.starts_with("memory://") || to_url.starts_with("memory://")) return from_url == to_url;
  const auto canonical = [](const std::string& url) {
    std::error_code failed;
    fs::path path = fs::weakly_canonical(local_path(url), failed);
    return failed ? fs::absolute(local_path(url)).lexically_normal() : path;
  };
  const fs::path a = canonical(from_url), b = canonical(to_url);
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return at_a == a.end() || at_b == b.end();
}

}  // namespace penstock::cli
