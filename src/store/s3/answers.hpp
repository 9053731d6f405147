// What S3 says in XML.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::s3 {

/// <Error>; members that are not there are empty.
struct Refusal {
  std::string code, message, region;
};
/// A text that is no such document has no code.
Refusal parse_refusal(std::string_view xml);
/// Whether it is <CompleteMultipartUploadResult>, the whole of it.
bool is_completion(std::string_view xml);

/// An object that DeleteObjects did not remove.
struct NotErased {
  std::string key;  ///< of the bucket
  Refusal why;
};
/// Of a <DeleteResult>.  Errors: io_error (no such document).
Result<std::vector<NotErased>> parse_erase_result(std::string_view xml);

/// A page of ListObjectsV2.
struct Listing {
  std::vector<std::string> keys;
  std::vector<std::string> prefixes;  ///< with their '/'
  bool truncated = false;
  std::string next;  ///< token of the next page
};
/// Errors: io_error (no such document).
Result<Listing> parse_listing(std::string_view xml);

/// A page of ListMultipartUploads.
struct Uploads {
  struct One {
    std::string key, id;
    std::optional<std::int64_t> begun_s;  ///< seconds since 1970
  };
  std::vector<One> all;
  bool truncated = false;
  std::string next_key, next_id;  ///< where the next page begins
};
/// Errors: io_error (no such document).
Result<Uploads> parse_uploads(std::string_view xml);
/// "2026-07-23T10:15:00.000Z" as seconds since 1970; nullopt: it is no such time.
std::optional<std::int64_t> parse_time(std::string_view text);
/// The UploadId of a multipart upload that begins.  Errors: io_error.
Result<std::string> parse_upload_id(std::string_view xml);

}  // namespace penstock::s3
