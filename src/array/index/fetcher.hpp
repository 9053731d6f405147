// Requests whose answers are waited for, many at once: what indexes read by.
#pragma once
#include <span>
#include <vector>

#include "exec/job.hpp"
#include "penstock/store.hpp"

namespace penstock {

/// An answer, with the memory that it is in unless the store has it.
struct Fetched {
  FetchAnswer answer;
  Bytes memory;
};

/// One request, waited for.  Its bytes are in `into`, which has as many as the request, or the store's own.
FetchAnswer fetch_one(const Store& store, const FetchRequest& request, ByteSpan into, const CancelToken& cancel);

/// Of one thread.
class Fetcher {
 public:
  Fetcher(const Store& store, Worker& worker, const CancelToken& cancel, std::uint64_t requests_in_flight)
      : store_(store), worker_(worker), cancel_(cancel), requests_in_flight_(requests_in_flight) {}

  /// Carries out all requests and waits for them; errors are in the answers.
  std::vector<Fetched> fetch(std::span<const FetchRequest> requests);
  [[nodiscard]] std::string url() const { return store_.url(); }
  /// A request occupies this thread, and costs little: one that only opens an object may be worth it.
  [[nodiscard]] bool blocks() const { return requests_in_flight_ == 0; }

 private:
  const Store& store_;
  Worker& worker_;
  const CancelToken& cancel_;
  std::uint64_t requests_in_flight_;
};

}  // namespace penstock
