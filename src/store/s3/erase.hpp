// Many objects that are removed.
#pragma once
#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "store/s3/origin.hpp"

namespace penstock::s3 {

/// Whether one request may name this key of a bucket beside others: XML has no sign for most control characters, what
/// reads it may change or leave out blanks at the ends, and another key than the one that was meant must never go.
[[nodiscard]] bool can_be_listed(std::string_view key);
/// The body that asks for the removal of these keys of the bucket, and for an answer that tells of failures only.
[[nodiscard]] std::string erase_list(std::span<const std::string> keys);

/// Removes the objects of these names in the store; absent is fine.  Up to 1,000 go with one request (DeleteObjects)
/// while `takes_lists`, which turns false where the server does not know that: then each goes with its own, many at a
/// time.  Ends with the first requests that fail.  Errors: those of the server, with the key.
[[nodiscard]] Status erase_objects(const S3Origin& origin, std::span<const std::string> keys,
                                   std::atomic<bool>& takes_lists);

}  // namespace penstock::s3
