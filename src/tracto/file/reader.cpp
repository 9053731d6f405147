#include "tracto/file/reader.hpp"

#include <filesystem>

namespace penstock::tracto {

Result<std::unique_ptr<TractogramReader>> open_tractogram(const std::string& path) {
  std::filesystem::path name(path);
  if (!name.has_filename()) name = name.parent_path();  // NAME.trx/
  const std::string ending = name.extension().string();
  if (ending == ".trx") {
    PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(name.string(), StoreMode::read));
    PENSTOCK_ASSIGN_IN(auto reader, read_trx(store), path);
    return reader;
  }
  if (ending != ".trk" && ending != ".tck")
    return Error(ErrorCode::invalid_argument, path + ": the name must end in .trx, .trk or .tck");
  const std::string folder = name.has_parent_path() ? name.parent_path().string() : ".";
  PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(folder, StoreMode::read));
  PENSTOCK_ASSIGN(ObjectSource source, ObjectSource::open(store, name.filename().string()));
  auto reader = ending == ".trk" ? read_trk(std::move(source)) : read_tck(std::move(source));
  if (!reader) reader.error().add_context(path);
  return reader;
}

}  // namespace penstock::tracto
