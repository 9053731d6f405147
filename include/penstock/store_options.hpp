// How a store is opened.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "penstock/error.hpp"

namespace penstock {

/// What is said to a kind of store beyond the URL.
struct StoreOptions {
  /// By the name that the kind of store gives them.  They may be secrets: no message holds a value.
  std::map<std::string, std::string, std::less<>> by_name;
};

/// `text` with the secrets of the URLs in it replaced by "***": user and password ("s3://user:password@host") and all
/// that stands behind '?' or '#' but for the names ("?X-Amz-Signature=***").  Paths without "://" stay as they are.
std::string redacted(std::string_view text);
/// The error with its message and hint redacted.
Error redacted(const Error& error);

}  // namespace penstock
