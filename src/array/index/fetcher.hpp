// Requests whose answers are waited for, many at once: what indexes read by.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "exec/job.hpp"
#include "store/fetch_one.hpp"

namespace penstock {

/// An answer, with the memory that it is in unless the store has it.
struct Fetched {
  FetchAnswer answer;
  Bytes memory;
};

/// All of an object, kept because more of it is wanted than what it was asked for first.
class HeldBytes {
 public:
  /// `held_bytes` counts them while they live.
  HeldBytes(Fetched fetched, std::atomic<std::uint64_t>& held_bytes)
      : fetched_(std::move(fetched)), held_bytes_(held_bytes) {
    held_bytes_ += fetched_.answer.bytes.size();
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() { held_bytes_ -= fetched_.answer.bytes.size(); }
  [[nodiscard]] const FetchAnswer& answer() const { return fetched_.answer; }

 private:
  Fetched fetched_;
  std::atomic<std::uint64_t>& held_bytes_;
};

/// An object that came whole.
struct HeldObject {
  std::shared_ptr<const HeldBytes> bytes;  ///< let go of as soon as they are handed to those who decode them
};

/// Which objects are worth asking for as a whole, when much of them is wanted and where is not known yet.
struct WholeObjects {
  /// Whether one of this size is kept.  Encoders may add a little to what they cannot make smaller.
  [[nodiscard]] bool fits(std::uint64_t bytes) const { return bytes <= max_bytes + max_bytes / 8; }
  std::uint64_t max_bytes = 0;                       ///< 0: none
  std::atomic<std::uint64_t>* held_bytes = nullptr;  ///< of those that are kept; it outlives them
};

/// Of one thread.
class Fetcher {
 public:
  Fetcher(const Store& store, Worker& worker, const CancelToken& cancel, std::uint64_t requests_in_flight,
          WholeObjects whole = {})
      : store_(store), worker_(worker), cancel_(cancel), requests_in_flight_(requests_in_flight), whole_(whole) {}

  /// Carries out all requests and waits for them; errors are in the answers.
  std::vector<Fetched> fetch(std::span<const FetchRequest> requests);
  [[nodiscard]] std::string url() const { return store_.url(); }
  /// A request occupies this thread, and costs little: one that only opens an object may be worth it.
  [[nodiscard]] bool blocks() const { return requests_in_flight_ == 0; }
  [[nodiscard]] const WholeObjects& whole() const { return whole_; }

 private:
  const Store& store_;
  Worker& worker_;
  const CancelToken& cancel_;
  std::uint64_t requests_in_flight_;
  WholeObjects whole_;
};

}  // namespace penstock
