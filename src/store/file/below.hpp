// Files below a directory: every path of a store is opened here.
#pragma once
#include <string>
#include <string_view>

#include "penstock/error.hpp"
#include "penstock/store_options.hpp"
#include "store/posix.hpp"

namespace penstock {

/// A directory that stays open, by which all paths are found, and its name for messages.
struct Root {
  int fd = -1;
  std::string_view name;
  Links links = Links::follow;
};

/// open_at below the root.  With Links::inside errno is EXDEV where a symbolic link leads out.
FileDescriptor open_below(Root root, const char* path, int flags, unsigned mode = 0666);

/// Where the system calls that take no such limit find a file: a directory below which only its last part is looked up.
/// With Links::follow that is the root itself, and costs nothing.
struct Place {
  FileDescriptor opened;
  int fd = -1;         ///< -1: errno says why
  std::string parent;  ///< of the file, seen from fd: "" or "a/b/"
  std::string name;    ///< the file's last part
  [[nodiscard]] std::string path() const { return parent + name; }
};
Place place_of(Root root, std::string_view key);

/// The error of a path below the root, with words for the link that leads out.
Error error_below(int errno_value, Root root, std::string_view path);

/// Whether the system can keep to Links::inside.  Errors: unsupported, saying what is missing.
Status check_links(Root root);

}  // namespace penstock
