// Where a copy goes, and what may be replaced there.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "penstock/array.hpp"

namespace penstock::cli {

/// A store and the node in it that `url` names: "out.zarr", "out.zip", "out.zip/0".
struct TargetNode {
  std::string store_url;
  std::string path;
};
TargetNode split_target(const std::string& url);
/// The path of a URL of local files: without "file://".
std::string local_path(const std::string& url);

/// The file that stands where `url` needs a directory, or `url` itself if that is one.
std::optional<std::string> file_in(const std::string& url);

/// What is at the target now.
enum class Occupant : std::uint8_t {
  nothing,
  node,    ///< an array or a group, or a zip
  broken,  ///< what a copy that was stopped has left
  other,   ///< something that penstock did not write; never touched
};
Result<Occupant> occupant(const TargetNode& target);

/// Refuses names that a copy would make a surprising directory of: "-", and those of other kinds of files.
/// Errors: invalid_argument.
[[nodiscard]] Status check_target_name(const TargetNode& target);

/// The array whose directory `target` is in, if any: nothing else may be written among its chunks.
std::optional<std::string> array_around(const TargetNode& target);

/// Whether copying `from` to `to` would read what it overwrites: the same place, or one inside the other.
bool overlaps(const std::string& from_url, const std::string& to_url);

}  // namespace penstock::cli
