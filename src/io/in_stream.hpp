// Requests in the order of a device's stream: nobody waits for them but the stream.
#pragma once
#include <memory>

#include "io/request.hpp"

namespace penstock::io {

/// Puts the request into `stream`, of the device of `order`.  `part`: what a part of it is on the host, of
/// kStreamPartBytes at most, with all but its place.
/// May wait until there is pinned memory.  Errors are those of the request.
std::shared_ptr<Request> enqueue(Order order, Order part, const Stream& stream);
inline constexpr std::uint64_t kStreamPartBytes = std::uint64_t{16} << 20;

/// Waits until all of them have ended.
void wait_for_streams();

}  // namespace penstock::io
