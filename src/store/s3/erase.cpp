// https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
#include "store/s3/erase.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <vector>

#include "core/html.hpp"
#include "core/utf8.hpp"
#include "store/http/call.hpp"
#include "store/s3/answers.hpp"

namespace penstock::s3 {
namespace {

using http::Call;
using http::Next;

constexpr std::size_t kMaxListed = 1000;                     // S3's limit
constexpr std::size_t kMaxListBytes = std::size_t{1} << 20;  // reached by long keys only
constexpr std::size_t kListsUnderWay = 4;                    // S3 counts their keys, and takes 3,500 a second
constexpr std::size_t kMaxWaiting = 1000;                    // requests for one object each, made at a time

/// What S3 wants of a list, so that none is carried out in part; empty where the system's rules forbid MD5.
std::string md5_base64(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_md5(), nullptr) != 1) return {};
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> out{};
  const int count = EVP_EncodeBlock(out.data(), hash.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(out.data()), static_cast<std::size_t>(count)};
}

std::string element_of(std::string_view key) { return "<Object><Key>" + escaped_html(key) + "</Key></Object>"; }

/// Objects that one request removes, and those of them that are left.  Stays where it is while its call is carried out.
class List {
 public:
  List(const S3Origin& origin, std::span<const std::string> keys) : origin_(origin), left_(keys.begin(), keys.end()) {}
  [[nodiscard]] Call call() {
    Call call;
    call.where = origin_.where("");
    call.request = [this] {
      std::vector<std::string> full_keys;
      for (const std::string& key : left_) full_keys.push_back(origin_.full_key(key));
      xml_ = erase_list(full_keys);
      std::vector<http::Header> fields{{"Content-Type", "application/xml"}, {"Content-MD5", md5_base64(xml_)}};
      return origin_.make("POST", "", {{"delete", ""}}, std::move(fields), {as_bytes(xml_)});
    };
    call.judge = [this](const http::Head& head, const std::string& body, http::Detour& detour) {
      return judge(head, body, detour);
    };
    return call;
  }
  /// The server does not know such requests.
  [[nodiscard]] bool is_unknown() const { return is_unknown_; }
  [[nodiscard]] const std::vector<std::string>& left() const { return left_; }

 private:
  Next judge(const http::Head& head, const std::string& body, http::Detour& detour) {
    const std::string code = parse_refusal(body).code;
    if (head.status == 200 && code.empty()) return take(body);
    if (head.status == 405 || head.status == 501 || code == "NotImplemented" || code == "MethodNotAllowed") {
      is_unknown_ = true;
      return {};
    }
    http::Head told = head;
    if (told.status == 200) told.status = 500;  // what takes long is answered with 200 before its end is known
    Next next = origin_.refused(told, body, "", detour);
    if (next.kind == Next::Kind::over && next.status)  // 404 of what is no object
      next.status = http::status_error(told, origin_.where(""), code);
    return next;
  }

  Next take(const std::string& body) {
    auto refused = parse_erase_result(body);
    if (!refused) {
      Error error = std::move(refused).error();
      error.add_context(origin_.where(""));
      return {Next::Kind::over, std::move(error)};
    }
    std::erase_if(*refused, [](const NotErased& one) { return one.why.code == "NoSuchKey"; });
    std::set<std::string_view> names;
    for (const NotErased& one : *refused) names.insert(one.key);
    std::erase_if(left_, [&](const std::string& key) { return !names.contains(origin_.full_key(key)); });
    if (refused->empty()) return {};
    const auto lasting = std::ranges::find_if(*refused, [](const NotErased& one) { return !may_pass(one.why.code); });
    const bool again = lasting == refused->end() && left_.size() == names.size();  // none that was not asked for
    return {again ? Next::Kind::again : Next::Kind::over,
            told(lasting == refused->end() ? refused->front() : *lasting, refused->size())};
  }

  static bool may_pass(std::string_view code) {
    return code == "SlowDown" || code == "InternalError" || code == "ServiceUnavailable" || code == "RequestTimeout" ||
           code == "OperationAborted";
  }

  [[nodiscard]] Error told(const NotErased& one, std::size_t count) const {
    Error error = origin_.refusal_error(one.key, one.why);
    if (count == 1) return error;
    Error all(error.code(), error.message() + "; of the same request " + std::to_string(count - 1) +
                                (count == 2 ? " other object was" : " other objects were") + " not removed either");
    return all.set_hint(error.hint());
  }

  const S3Origin& origin_;
  std::vector<std::string> left_;
  std::string xml_;
  bool is_unknown_ = false;
};

Status first_error(std::span<const Result<http::Reply>> replies) {
  for (const Result<http::Reply>& reply : replies)
    if (!reply) return reply.error();
  return {};
}

Status erase_alone(const S3Origin& origin, std::span<const std::string> keys) {
  while (!keys.empty()) {
    std::vector<Call> calls;
    for (const std::string& key : keys.first(std::min(kMaxWaiting, keys.size()))) {
      Call call;
      call.where = origin.where(key);
      call.request = [&origin, &key] { return origin.request("DELETE", key, {}, {}, {}); };
      call.judge = [&origin, &key](const http::Head& head, const std::string& body, http::Detour& detour) -> Next {
        if (head.status == 200 || head.status == 204) return {};
        return origin.refused(head, body, key, detour);
      };
      calls.push_back(std::move(call));
    }
    PENSTOCK_TRY(first_error(http::carry_out(calls, CancelToken(), origin.patience())));
    keys = keys.subspan(calls.size());
  }
  return {};
}

/// Takes from the begin of `keys` what goes with one request.
std::span<const std::string> take_list(const S3Origin& origin, std::span<const std::string>& keys) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < std::min(kMaxListed, keys.size()); ++count) {
    bytes += element_of(origin.full_key(keys[count])).size();
    if (count > 0 && bytes > kMaxListBytes) break;
  }
  const std::span<const std::string> list = keys.first(count);
  keys = keys.subspan(count);
  return list;
}

/// What is left goes to `alone` where the server does not know lists, which ends it.
Status erase_listed(const S3Origin& origin, std::span<const std::string> keys, std::atomic<bool>& takes_lists,
                    std::vector<std::string>& alone) {
  while (!keys.empty() && takes_lists) {
    std::deque<List> lists;
    std::vector<Call> calls;
    while (!keys.empty() && lists.size() < kListsUnderWay)
      calls.push_back(lists.emplace_back(origin, take_list(origin, keys)).call());
    PENSTOCK_TRY(first_error(http::carry_out(calls, CancelToken(), origin.patience())));
    for (const List& list : lists) {
      if (!list.is_unknown()) continue;
      takes_lists = false;
      alone.insert(alone.end(), list.left().begin(), list.left().end());
    }
  }
  alone.insert(alone.end(), keys.begin(), keys.end());
  return {};
}

}  // namespace

bool can_be_listed(std::string_view key) {
  if (key.empty() || key.front() == ' ' || key.back() == ' ' || find_bad_utf8(as_bytes(key))) return false;
  if (std::ranges::any_of(key, [](unsigned char c) { return c < 0x20; })) return false;
  return key.find("\xef\xbf\xbe") == std::string_view::npos && key.find("\xef\xbf\xbf") == std::string_view::npos;
}

std::string erase_list(std::span<const std::string> keys) {
  std::string xml = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const std::string& key : keys) xml += element_of(key);
  return xml + "<Quiet>true</Quiet></Delete>";
}

Status erase_objects(const S3Origin& origin, std::span<const std::string> keys, std::atomic<bool>& takes_lists) {
  std::vector<std::string> listed, alone;
  const bool lists = keys.size() > 1 && !md5_base64("").empty();
  for (const std::string& key : keys) (lists && can_be_listed(origin.full_key(key)) ? listed : alone).push_back(key);
  PENSTOCK_TRY(erase_listed(origin, listed, takes_lists, alone));
  return erase_alone(origin, alone);
}

}  // namespace penstock::s3
