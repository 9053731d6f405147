// Objects of stores of this machine, opened.
#pragma once
#include "store/blocking_store.hpp"

namespace penstock::test {

inline Result<std::unique_ptr<Object>> open_object(const Store& store, std::string_view key) {
  return dynamic_cast<const BlockingStore&>(store).open(key);
}

}  // namespace penstock::test
