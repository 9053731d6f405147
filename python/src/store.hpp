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

}  // namespace penstock::python
