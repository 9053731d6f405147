// How many requests to one server are worth having under way.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "store/http/retry.hpp"

namespace penstock::http {

/// Servers that answer at once need few: more large bodies at a time only fall out of the processor's cache before
/// their turn comes.  Behind latency, and where connections are slow each by itself, as many as there may be.  Of one
/// thread.
class Pace {
 public:
  /// A request that was let go.
  struct Ticket {
    const void* server = nullptr;
    std::uint64_t bytes = 0;
  };
  /// nullopt: not now.  `server`: any address that stands for it.  `bytes` of the body; nullopt: nobody knows yet.
  std::optional<Ticket> begin(const void* server, std::optional<std::uint64_t> bytes);
  /// It has ended.  `first_byte`: how long the server took; nullopt: no answer came.  `body_bytes`: what came of it.
  void end(const Ticket& ticket, std::optional<std::chrono::microseconds> first_byte, std::uint64_t body_bytes);

 private:
  struct Server {
    std::optional<double> quickest_us;  ///< a recent answer
    double body_bytes = 0;              ///< a usual one
    std::uint64_t under_way = 0;
    std::uint64_t under_way_bytes = 0;
  };
  std::map<const void*, Server> servers_;
};

}  // namespace penstock::http
