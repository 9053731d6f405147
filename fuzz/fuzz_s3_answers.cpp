// Bytes as what a server answers: XML, heads, profiles.
#include <string_view>

#include "fuzz.hpp"
#include "store/http/message.hpp"
#include "store/http/retry.hpp"
#include "store/http/url.hpp"
#include "store/s3/answers.hpp"
#include "store/s3/credentials.hpp"

using namespace penstock;
using fuzz::demand;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)s3::parse_refusal(text);
  if (const auto listing = s3::parse_listing(text)) {
    demand(listing->keys.size() + listing->prefixes.size() <= size);
    demand(!listing->truncated || !listing->next.empty());
  }
  if (const auto refused = s3::parse_erase_result(text)) demand(refused->size() <= size);
  (void)s3::parse_upload_id(text);
  demand(!s3::is_completion(text) || s3::parse_refusal(text).code.empty());
  (void)s3::parse_profiles(text);
  if (const auto range = http::parse_content_range(text); range && range->has_part) {
    demand(range->count > 0);
    demand(range->object_bytes == kNotTold || range->first + range->count <= range->object_bytes);
  }
  if (const auto wait = http::parse_retry_after(text)) demand(wait->count() >= 0);
  demand(http::unescaped(http::escaped(text)) == text);
  if (text.find('\0') == std::string_view::npos)
    if (const auto url = http::parse_url(std::string(text))) demand(!url->path.ends_with('/'));
  return 0;
}
