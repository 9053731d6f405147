// How long to wait before something is tried again.
#pragma once
#include <chrono>

namespace penstock {

/// Before the attempt that follows `failed` ones (from 1): `first`, doubled with each, at most `most`.  Half of it is
/// left to chance, so that those who failed together do not come back together.
std::chrono::milliseconds backoff(int failed, std::chrono::milliseconds first, std::chrono::milliseconds most);

}  // namespace penstock
