// One request to a store, waited for.
#pragma once
#include <functional>

#include "penstock/store.hpp"

namespace penstock {

/// Its bytes are in `into`, which has as many as the request, or the store's own.
FetchAnswer fetch_one(const Store& store, const FetchRequest& request, ByteSpan into, const CancelToken& cancel);
/// Its bytes are in `into`, whose size is then theirs, or the store's own.  `fits` is asked before memory is taken for
/// them; its error is the answer's.
FetchAnswer fetch_in_place(const Store& store, const FetchRequest& request, Bytes& into,
                           const std::function<Status(std::uint64_t bytes)>& fits, const CancelToken& cancel);
/// The same, always in `into`.
FetchAnswer fetch_one(const Store& store, const FetchRequest& request, Bytes& into,
                      const std::function<Status(std::uint64_t bytes)>& fits = nullptr,
                      const CancelToken& cancel = CancelToken::never());
/// No bytes: whether the object is there, its version, and its size where the store tells.
FetchAnswer probe(const Store& store, std::string_view key);

}  // namespace penstock
