// Objects in the memory of this process: for tests, for results that need no disk.
#pragma once
#include <memory>
#include <string>

#include "penstock/store.hpp"

namespace penstock {

/// "": a new anonymous store.  "name": the one of that name, which lives as long as the process (erase_prefix("") gives
/// its memory back).  Errors: not_found when no store of that name exists and `mode` is not create.
Result<std::shared_ptr<Store>> open_memory_store(const std::string& name, StoreMode mode);

}  // namespace penstock
