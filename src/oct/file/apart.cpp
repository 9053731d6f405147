#include "oct/file/apart.hpp"

#include <filesystem>

namespace penstock::oct {
namespace {

/// Without a slash at the end; a URL stays another place than every folder.
std::string place_of(const std::string& path) {
  std::error_code error;
  std::string place = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error).string();
  if (error) place = path;
  while (place.size() > 1 && place.ends_with('/')) place.pop_back();
  return place;
}

bool lies_in(const std::string& inner, const std::string& outer) { return inner.starts_with(outer + "/"); }

Error refused(const std::string& out, const std::string& why) {
  return Error(ErrorCode::invalid_argument, out + ": " + why).set_hint("Write to another path.");
}

}  // namespace

bool is_same_place(const std::string& a, const std::string& b) { return place_of(a) == place_of(b); }

Status check_apart(const std::string& out, const std::string& in) {
  const std::string to = place_of(out), from = place_of(in);
  if (to == from) return refused(out, "it is the input too");
  if (lies_in(from, to)) return refused(out, "the input " + in + " lies in it");
  if (from.ends_with(".zarr") && lies_in(to, from)) return refused(out, "it lies in the input " + in);
  return {};
}

}  // namespace penstock::oct
