// The border to what throws: allocations and other people's libraries.
#pragma once
#include <cstring>
#include <exception>
#include <new>

#include "penstock/error.hpp"

namespace penstock {

/// What `work()` gives, a Status or a Result; what it throws becomes an error.  The messages made here are so short
/// that they take no memory.
template <class Work>
auto guarded(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::out_of_memory, "out of memory");
  } catch (const std::exception& e) {
    // std::thread and TBB say so in these words, TBB with no code.
    if (std::strstr(e.what(), "Resource temporarily unavailable") != nullptr)
      return Error(ErrorCode::out_of_memory, "no thread");
    return Error(ErrorCode::internal, e.what());
  }
}

}  // namespace penstock
