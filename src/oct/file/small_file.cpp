#include "oct/file/small_file.hpp"

#include <filesystem>

#include "penstock/store.hpp"

namespace penstock::oct {
namespace {

struct Place {
  std::string folder, name;
};
Place place_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Result<Bytes> read_small(const std::string& path) {
  const Place place = place_of(path);
  PENSTOCK_ASSIGN_IN(const std::shared_ptr<Store> store, open_store(place.folder, StoreMode::read), path);
  Bytes bytes;
  PENSTOCK_ASSIGN_IN(const bool there, store->get(place.name, bytes), path);
  if (!there) return Error(ErrorCode::not_found, path + ": no such file");
  return bytes;
}

Status write_small(const std::string& path, ByteView bytes) {
  const Place place = place_of(path);
  PENSTOCK_ASSIGN_IN(const std::shared_ptr<Store> store, open_store(place.folder, StoreMode::create), path);
  PENSTOCK_TRY_IN(store->set(place.name, bytes), path);
  return store->flush();
}

Status erase_small(const std::string& path) {
  PENSTOCK_ASSIGN(const bool there, small_exists(path));
  if (!there) return {};
  const Place place = place_of(path);
  PENSTOCK_ASSIGN_IN(const std::shared_ptr<Store> store, open_store(place.folder, StoreMode::create), path);
  PENSTOCK_TRY_IN(store->erase(place.name), path);
  return {};
}

Result<bool> small_exists(const std::string& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) return Error(ErrorCode::io_error, path + ": " + error.message()).set_errno(error.value());
  return there;
}

}  // namespace penstock::oct
