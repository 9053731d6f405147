// Questions to a bucket, not to one of its objects.
#pragma once
#include "store/http/call.hpp"
#include "store/s3/origin.hpp"

namespace penstock::s3 {

/// What it says of what lies below `prefix`, a name in the store, which messages show.
/// Errors: those of the server; also 404 is one; unsupported (501).
Result<http::Reply> ask_bucket(const S3Origin& origin, const Query& query, std::string_view prefix);
/// For a page that leads to itself.
Error not_going_on(const S3Origin& origin, std::string_view prefix);

/// Base of the store, by which the others know it.
class InBucket {
 public:
  virtual ~InBucket() = default;
  [[nodiscard]] virtual const S3Origin& bucket() const = 0;
};

}  // namespace penstock::s3
