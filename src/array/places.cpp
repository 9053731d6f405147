#include "array/places.hpp"

#include <filesystem>
#include <system_error>

namespace penstock {
namespace {

std::string joined(std::string_view a, std::string_view b) {
  std::string all(a);
  if (!b.empty()) all.append("/").append(b);
  return all;
}

bool is_on_disk(const Store& store) {
  std::error_code error;
  return std::filesystem::exists(store.url(), error);
}

bool is_inside(const std::string& inner, const std::string& outer) {
  return inner.starts_with(outer) && (outer.ends_with('/') || inner[outer.size()] == '/');
}

}  // namespace

std::string place_of(const Store& store, std::string_view path) {
  std::error_code error;
  const auto file = std::filesystem::canonical(store.url(), error);
  return joined(error ? store.url() : file.string(), path);
}

Places compare_places(const Store& a, std::string_view a_path, const Store& b, std::string_view b_path) {
  const bool on_disk = is_on_disk(a) && is_on_disk(b);
  const std::string one = on_disk ? place_of(a, a_path) : joined(a.identity(), a_path);
  const std::string other = on_disk ? place_of(b, b_path) : joined(b.identity(), b_path);
  if (one == other) return Places::same;
  return is_inside(one, other) || is_inside(other, one) ? Places::nested : Places::apart;
}

}  // namespace penstock
