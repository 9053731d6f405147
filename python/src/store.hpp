// A store handle that Python can hold.
#pragma once
#include <memory>

#include "penstock/store.hpp"

namespace penstock::python {

using SharedStore = std::shared_ptr<Store>;

/// A store handle that Python can hold.
struct PyStore {
  SharedStore store;
};

/// The same store, which saves what only a flush makes visible when its last handle goes, with a ResourceWarning,
/// unless it was abandoned.
SharedStore saved_with_last_handle(SharedStore store);
/// What was written to it since its last flush is not to be saved.
void abandon(const SharedStore& store);
/// Saves all stores that are still open: the process ends.
void save_open_stores();

}  // namespace penstock::python
