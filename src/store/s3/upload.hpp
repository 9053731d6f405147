// Objects on their way into a bucket.
#pragma once
#include "penstock/store.hpp"
#include "store/s3/origin.hpp"

namespace penstock::s3 {

/// Writes an object in one request.  Errors: changed (the condition does not hold), those of the server.
Status put_object(const Store& store, const S3Origin& origin, std::string_view key, std::span<const ByteView> parts,
                  const WriteCondition& condition, const CancelToken& cancel);
/// A writer that gathers the object in a nameless file, and sends it in several parts when it is large.  An upload that
/// fails is taken back.
Result<std::unique_ptr<ObjectWriter>> make_upload(Store& store, std::shared_ptr<const S3Origin> origin,
                                                  std::string_view key);

}  // namespace penstock::s3
