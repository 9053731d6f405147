// The one way bytes come out of a store: many requests at once, of which nobody asked the size before.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/api.hpp"
#include "penstock/bytes.hpp"
#include "penstock/control.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Which bytes of an object.
struct PENSTOCK_API ByteRange {
  /// How the part is named.
  enum class Kind : std::uint8_t {
    whole,  ///< all of them
    span,   ///< `count` from `offset_bytes` on; the object must have them
    from,   ///< all from `offset_bytes` on
    last,   ///< the last `count`; all when the object is smaller
  };
  Kind kind = Kind::whole;
  std::uint64_t offset_bytes = 0;
  std::uint64_t count = 0;

  /// One of each kind; the whole object is `{}`.
  static ByteRange span(std::uint64_t offset_bytes, std::uint64_t count) { return {Kind::span, offset_bytes, count}; }
  static ByteRange from(std::uint64_t offset_bytes) { return {Kind::from, offset_bytes, 0}; }
  static ByteRange last(std::uint64_t count) { return {Kind::last, 0, count}; }
  bool operator==(const ByteRange&) const = default;
};

/// What a store needs to find one version of an object again: an open file, an ETag.
class ObjectPin {
 public:
  virtual ~ObjectPin() = default;
};

/// The version of an object that an answer is of.
struct PENSTOCK_API ObjectVersion {
  /// Fingerprint, equal for equal versions, for keeping what was learnt of it; 0: not known, nothing may be kept.
  std::uint64_t number = 0;
  /// Leads to this very version while it is held, also where the number is not known.
  std::shared_ptr<const ObjectPin> pin;
  /// Whether it says anything: a version that does not is equal to none, not even to itself.
  [[nodiscard]] bool known() const { return number != 0 || pin != nullptr; }
};

/// A question to a store.  What it points at lives until it is answered.
struct FetchRequest {
  std::string_view key;
  ByteRange range;
  /// nullptr: whichever version stands.  Else the answer is of this one, or the error `changed` (which a version that
  /// is not known() always gives).
  const ObjectVersion* same_as = nullptr;
};

/// A size or place that the store did not tell.
inline constexpr std::uint64_t kNotTold = ~std::uint64_t{0};

/// The answer to one request.
struct FetchAnswer {
  /// Errors: is_directory, permission_denied, io_error, cancelled; corrupt_data (the object ends before the range
  /// does); changed (it is not the version that was asked for); those of FetchSink::room.
  Status status;
  bool absent = false;             ///< no such object; not an error
  std::uint64_t offset_bytes = 0;  ///< in the object, of the first byte; kNotTold: of a `last` without object_bytes
  std::uint64_t object_bytes = 0;  ///< of the whole object; kNotTold: nobody asked the store
  ObjectVersion version;
  ByteView bytes;                     ///< in the memory that the sink gave, or in the store's own, kept by `owner`
  std::shared_ptr<const void> owner;  ///< set when `bytes` are the store's own memory
};

/// Takes answers.  Called from any thread, for different requests at the same time.
class FetchSink {
 public:
  virtual ~FetchSink() = default;
  /// Memory of exactly `bytes` for the answer to request `request`; asked for at most once, when the size is known. Not
  /// asked when the store has the bytes in memory and gives these.
  virtual Result<ByteSpan> room(std::size_t request, std::uint64_t bytes) = 0;
  /// The request is over; called once for each.
  virtual void done(std::size_t request, FetchAnswer answer) = 0;
};

/// How the requests of one call are to be carried out.
struct FetchOptions {
  CancelToken cancel;
};

/// What a store is good at, for whoever plans requests; `reason` says why.
struct StoreTraits {
  /// Ranges of one object closer together than this are read as one, of at most `merge_max_bytes`.
  std::uint64_t merge_gap_bytes = 0;
  std::uint64_t merge_max_bytes = std::uint64_t{1} << 20;
  /// Requests worth having under way at once; 0: each occupies the thread that makes it, as many as there are workers.
  std::uint64_t requests_in_flight = 0;
  std::string reason;
};

}  // namespace penstock
