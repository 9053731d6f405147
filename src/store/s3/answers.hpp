// What S3 says in XML.
#pragma once
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

/// A page of ListObjectsV2.
struct Listing {
  std::vector<std::string> keys;
  std::vector<std::string> prefixes;  ///< with their '/'
  bool truncated = false;
  std::string next;  ///< token of the next page
};
/// Errors: io_error (no such document).
Result<Listing> parse_listing(std::string_view xml);
/// The UploadId of a multipart upload that begins.  Errors: io_error.
Result<std::string> parse_upload_id(std::string_view xml);

}  // namespace penstock::s3
