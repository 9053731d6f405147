#include "store/s3/answers.hpp"

#include <expat.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <utility>

#include "store/http/url.hpp"

namespace penstock::s3 {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxTextBytes = 64 << 10;

/// Walks over a document and tells of each element that ends: where it stands ("Error/Code") and its text.
class Walk {
 public:
  using Told = std::function<void(std::string_view path, const std::string& text)>;
  /// False: it is not well-formed, or deeper or longer than any answer is.
  static bool over(std::string_view xml, const Told& told) {
    Walk walk(told);
    const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate("UTF-8"), XML_ParserFree);
    if (parser == nullptr || xml.size() > std::size_t{1} << 30) return false;
    xml.remove_prefix(std::min(xml.find_first_not_of(" \r\n\t"), xml.size()));  // sent while something took long
    walk.parser_ = parser.get();
    XML_SetUserData(parser.get(), &walk);
    XML_SetElementHandler(parser.get(), on_begin, on_end);
    XML_SetCharacterDataHandler(parser.get(), on_text);
    XML_SetStartDoctypeDeclHandler(parser.get(), on_doctype);
    return XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK && !walk.refused_;
  }

 private:
  explicit Walk(const Told& told) : told_(told) {}
  void refuse() {
    refused_ = true;
    XML_StopParser(parser_, XML_FALSE);
  }
  static void on_begin(void* self, const char* name, const char**) {
    Walk& walk = *static_cast<Walk*>(self);
    if (++walk.depth_ > kMaxDepth || walk.path_.size() > kMaxTextBytes) return walk.refuse();
    walk.path_.append(walk.path_.empty() ? "" : "/").append(name);
    walk.text_.clear();
  }
  static void on_end(void* self, const char*) {
    Walk& walk = *static_cast<Walk*>(self);
    --walk.depth_;
    walk.told_(walk.path_, walk.text_);
    walk.text_.clear();
    const std::size_t slash = walk.path_.rfind('/');
    walk.path_.resize(slash == std::string::npos ? 0 : slash);
  }
  static void on_text(void* self, const char* text, int size) {
    Walk& walk = *static_cast<Walk*>(self);
    if (walk.text_.size() + static_cast<std::size_t>(size) > kMaxTextBytes) return walk.refuse();
    walk.text_.append(text, static_cast<std::size_t>(size));
  }
  /// No answer declares entities.
  static void on_doctype(void* self, const char*, const char*, const char*, int) { static_cast<Walk*>(self)->refuse(); }

  const Told& told_;
  XML_Parser parser_ = nullptr;
  std::string path_, text_;
  std::size_t depth_ = 0;
  bool refused_ = false;
};

/// Names are asked for escaped, because XML has no signs for some; a blank may come as '+'.
std::string unescaped_form(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return http::unescaped(text);
}

Error not_understood(std::string_view what) {
  return {ErrorCode::io_error, "the server's answer is no " + std::string(what)};
}

}  // namespace

Refusal parse_refusal(std::string_view xml) {
  Refusal refusal;
  (void)Walk::over(xml, [&](std::string_view path, const std::string& text) {
    if (path == "Error/Code") refusal.code = text;
    if (path == "Error/Message") refusal.message = text;
    if (path == "Error/Region") refusal.region = text;
  });
  return refusal;
}

bool is_completion(std::string_view xml) {
  bool is_one = false;
  const bool whole = Walk::over(xml, [&](std::string_view path, const std::string&) {
    if (path == "CompleteMultipartUploadResult") is_one = true;
  });
  return whole && is_one;
}

Result<std::vector<NotErased>> parse_erase_result(std::string_view xml) {
  std::vector<NotErased> refused;
  NotErased one;
  bool is_one = false;
  const bool whole = Walk::over(xml, [&](std::string_view path, const std::string& text) {
    if (path == "DeleteResult/Error/Key") one.key = text;
    if (path == "DeleteResult/Error/Code") one.why.code = text;
    if (path == "DeleteResult/Error/Message") one.why.message = text;
    if (path == "DeleteResult/Error") refused.push_back(std::exchange(one, {}));
    if (path == "DeleteResult") is_one = true;
  });
  if (!whole || !is_one) return not_understood("account of what was removed");
  return refused;
}

Result<Listing> parse_listing(std::string_view xml) {
  Listing listing;
  bool is_one = false, escaped = false;
  const bool whole = Walk::over(xml, [&](std::string_view path, const std::string& text) {
    if (path == "ListBucketResult/Contents/Key") listing.keys.push_back(text);
    if (path == "ListBucketResult/CommonPrefixes/Prefix") listing.prefixes.push_back(text);
    if (path == "ListBucketResult/EncodingType") escaped = text == "url";
    if (path == "ListBucketResult/IsTruncated") listing.truncated = text == "true";
    if (path == "ListBucketResult/NextContinuationToken") listing.next = text;
    if (path == "ListBucketResult") is_one = true;
  });
  if (!whole || !is_one) return not_understood("listing");
  if (listing.truncated && listing.next.empty()) return not_understood("listing that goes on");
  if (escaped) {
    for (std::string& key : listing.keys) key = unescaped_form(key);
    for (std::string& prefix : listing.prefixes) prefix = unescaped_form(prefix);
  }
  return listing;
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  std::tm utc{};
  const std::string whole(text);
  const char* const rest = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (rest == nullptr) return std::nullopt;
  std::string_view behind(rest);
  if (behind.starts_with('.')) behind.remove_prefix(std::min(behind.find_first_not_of("0123456789", 1), behind.size()));
  if (behind != "Z") return std::nullopt;
  return std::int64_t{::timegm(&utc)};
}

Result<Uploads> parse_uploads(std::string_view xml) {
  Uploads uploads;
  Uploads::One one;
  bool is_one = false, escaped = false;
  const bool whole = Walk::over(xml, [&](std::string_view path, const std::string& text) {
    constexpr std::string_view kRoot = "ListMultipartUploadsResult";
    if (!path.starts_with(kRoot)) return;
    path.remove_prefix(std::min(kRoot.size() + 1, path.size()));
    if (path.empty()) is_one = true;
    if (path == "Upload/Key") one.key = text;
    if (path == "Upload/UploadId") one.id = text;
    if (path == "Upload/Initiated") one.begun_s = parse_time(text);
    if (path == "Upload") uploads.all.push_back(std::exchange(one, {}));
    if (path == "EncodingType") escaped = text == "url";
    if (path == "IsTruncated") uploads.truncated = text == "true";
    if (path == "NextKeyMarker") uploads.next_key = text;
    if (path == "NextUploadIdMarker") uploads.next_id = text;
  });
  if (!whole || !is_one) return not_understood("list of uploads");
  if (uploads.truncated && uploads.next_key.empty()) return not_understood("list of uploads that goes on");
  if (escaped) {
    for (Uploads::One& each : uploads.all) each.key = unescaped_form(each.key);
    uploads.next_key = unescaped_form(uploads.next_key);
  }
  return uploads;
}

Result<std::string> parse_upload_id(std::string_view xml) {
  std::string id;
  const bool whole = Walk::over(xml, [&](std::string_view path, const std::string& text) {
    if (path == "InitiateMultipartUploadResult/UploadId") id = text;
  });
  if (!whole || id.empty()) return not_understood("begin of an upload");
  return id;
}

}  // namespace penstock::s3
