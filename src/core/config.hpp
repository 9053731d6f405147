// The configuration file: settings that hold for every program of a user.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Where the file is looked for: $PENSTOCK_CONFIG, else $XDG_CONFIG_HOME/penstock/config.json, else
/// ~/.config/penstock/config.json.  Empty: nowhere (PENSTOCK_CONFIG is empty, or there is no home).
PENSTOCK_API std::string config_path();

/// The text of a file of at most 1 MiB.  Errors: not_found, invalid_argument (not a file, too large),
/// permission_denied, io_error.
PENSTOCK_API Result<std::string> read_small_file(const std::string& path);

/// What a configuration file says: a value as text for each name.
struct Config {
  std::string path;  ///< empty: there is no file
  std::map<std::string, std::string> values;
};
/// The file at config_path(): one JSON object of strings and whole numbers.  It is read again when it has changed.
/// Errors naming the file: not_found ($PENSTOCK_CONFIG names none), invalid_argument (not such an object), io_error.
PENSTOCK_API Result<std::shared_ptr<const Config>> read_config();

}  // namespace penstock
