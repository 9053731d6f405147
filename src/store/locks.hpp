// Locks of the process, by name.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "penstock/store.hpp"

namespace penstock {

/// Waits until no thread of the process holds `name`.  Errors: those of `check`, which is asked while it waits.
Result<std::unique_ptr<ObjectLock>> lock_in_process(std::string name, const std::function<Status()>& check);

}  // namespace penstock
