// A local file written bit by bit through a store, so that it appears whole.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "penstock/store.hpp"

namespace penstock::tracto {

struct ObjectFile {
  std::shared_ptr<Store> store;  ///< its folder
  std::unique_ptr<ObjectWriter> writer;

  /// Errors: not_found (the folder), permission_denied, io_error.
  static Result<ObjectFile> begin(const std::string& path) {
    const std::filesystem::path name(path);
    const std::string folder = name.has_parent_path() ? name.parent_path().string() : ".";
    ObjectFile out;
    PENSTOCK_ASSIGN(out.store, open_store(folder, StoreMode::read_write));
    PENSTOCK_ASSIGN(out.writer, out.store->writer(name.filename().string()));
    return out;
  }
};

}  // namespace penstock::tracto
