#include "core/config.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <tuple>

#include "core/json.hpp"

namespace penstock {
namespace {

constexpr off_t kMaxBytes = 1 << 20;

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

bool is_absent(int number) { return number == ENOENT || number == ENOTDIR; }

Error failed(int number) {
  if (is_absent(number)) return Error(ErrorCode::not_found, "no such file").set_errno(number);
  const ErrorCode code = number == EACCES ? ErrorCode::permission_denied : ErrorCode::io_error;
  return Error(code, std::strerror(number)).set_errno(number);
}

Result<Config> parse(const std::string& path, const std::string& text) {
  const auto document = parse_json(text);
  if (!document) return Error(ErrorCode::invalid_argument, document.error().message());
  if (!document->is_object())
    return Error(ErrorCode::invalid_argument, R"(must be a JSON object of settings, e.g. {"budget": "2GiB"})");
  Config config{path, {}};
  for (const auto& [name, value] : document->items()) {
    if (!value.is_string() && !value.is_number_integer())
      return Error(ErrorCode::invalid_argument,
                   fmt::format("{}: must be a string or a whole number, is {}", name, dump_json(value).substr(0, 40)));
    config.values.emplace(name, value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  return config;
}

/// What tells one state of a file from another.
using FileState = std::tuple<std::string, dev_t, ino_t, off_t, time_t, long>;

struct Cache {
  std::mutex mutex;
  FileState state;
  std::shared_ptr<const Config> config;
};

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return failed(errno);
  if (!S_ISREG(facts.st_mode)) return Error(ErrorCode::invalid_argument, "not a file");
  if (facts.st_size > kMaxBytes)
    return Error(ErrorCode::invalid_argument, fmt::format("{} bytes, {} are the most", facts.st_size, kMaxBytes));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return failed(errno == 0 ? EIO : errno);
  return text;
}

std::string config_path() {
  if (std::getenv("PENSTOCK_CONFIG") != nullptr) return variable("PENSTOCK_CONFIG");
  // A relative path in XDG_CONFIG_HOME is to be ignored (XDG Base Directory Specification).
  if (const std::string base = variable("XDG_CONFIG_HOME"); base.starts_with('/'))
    return base + "/penstock/config.json";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.config/penstock/config.json";
}

Result<std::shared_ptr<const Config>> read_config() {
  static const auto none = std::make_shared<const Config>();
  static Cache& cache = *new Cache;  // never destroyed: settings are asked for at exit too
  const std::string path = config_path();
  if (path.empty()) return none;
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) {
    const int number = errno;
    const bool asked_for = std::getenv("PENSTOCK_CONFIG") != nullptr;
    // A process that has taken another user's identity may not even look into the home that it inherited.
    if (!asked_for && (is_absent(number) || number == EACCES)) return none;
    Error error = failed(number);
    error.add_context(path).set_hint("PENSTOCK_CONFIG names the configuration file; leave it empty to use none.");
    return error;
  }
  const FileState state(path, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  const std::scoped_lock lock(cache.mutex);
  if (cache.config == nullptr || cache.state != state) {
    PENSTOCK_ASSIGN_IN(const std::string text, read_small_file(path), path);
    PENSTOCK_ASSIGN_IN(Config config, parse(path, text), path);
    cache.config = std::make_shared<const Config>(std::move(config));
    cache.state = state;
  }
  return cache.config;
}

}  // namespace penstock
