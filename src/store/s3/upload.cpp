#include "store/s3/upload.hpp"

#include <algorithm>
#include <cstdlib>

#include "store/condition.hpp"
#include "store/fetch_one.hpp"
#include "store/key.hpp"
#include "store/object_writer.hpp"
#include "store/s3/answers.hpp"

namespace penstock::s3 {
namespace {

using http::Call;
using http::Next;

constexpr std::uint64_t kPartBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxParts = 10'000;
constexpr std::size_t kPartsUnderWay = 4;

/// The fields that make a write depend on what stands there.  Errors: changed, for a version that nobody knows.
Result<std::vector<http::Header>> fields_of(const Store& store, std::string_view key, const WriteCondition& condition) {
  switch (condition.kind) {
    case WriteCondition::Kind::any: return std::vector<http::Header>();
    case WriteCondition::Kind::absent: return std::vector<http::Header>{{"If-None-Match", "*"}};
    case WriteCondition::Kind::version: break;
  }
  const auto* pin = dynamic_cast<const http::EtagPin*>(condition.version.pin.get());
  if (pin == nullptr) return changed_error(store, key, kVersionUnknown);
  return std::vector<http::Header>{{"If-Match", pin->etag()}};
}

/// What follows the answer to a write.
class WriteJudge {
 public:
  WriteJudge(const Store& store, const S3Origin& origin, std::string_view key, const WriteCondition& condition)
      : store_(store), origin_(origin), key_(key), condition_(condition.kind) {}
  Next operator()(const http::Head& head, const std::string& body, http::Detour& detour) const {
    const bool conditional = condition_ != WriteCondition::Kind::any;
    if (head.status == 200 || head.status == 201 || head.status == 204) {
      // What takes long is answered with 200 before its end is known.
      if (const Refusal late = parse_refusal(body); !late.code.empty())
        return {Next::Kind::again, Error(ErrorCode::io_error, origin_.where(key_) + ": " + http::printable(late.code))};
      return {};
    }
    if (conditional && (head.status == 412 || head.status == 409))
      return {Next::Kind::over,
              changed_error(store_, key_, condition_ == WriteCondition::Kind::absent ? kStandsAlready : kReplaced)};
    if (conditional && head.status == 404 && parse_refusal(body).code != "NoSuchBucket")
      return {Next::Kind::over, changed_error(store_, key_, kReplaced)};
    if (conditional && head.status == 501)
      return {Next::Kind::over,
              Error(ErrorCode::unsupported, origin_.where(key_) + ": the server does not write by condition")};
    Next next = origin_.refused(head, body, key_, detour);
    if (next.kind == Next::Kind::over && next.status) next.status = http::status_error(head, origin_.where(key_), "");
    return next;
  }

 private:
  const Store& store_;
  const S3Origin& origin_;
  std::string_view key_;
  WriteCondition::Kind condition_;
};

/// An attempt that nobody heard of may have been the one that made the condition false.
Result<bool> stands_already(const Store& store, std::string_view key, std::span<const ByteView> parts) {
  PENSTOCK_ASSIGN(const Bytes wanted, joined(parts));
  Bytes now;
  PENSTOCK_ASSIGN(const bool stands, store.get(key, now));
  return stands && std::ranges::equal(now.view(), wanted.view());
}

std::string xml_of(const std::vector<std::string>& etags) {
  std::string xml = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < etags.size(); ++i) {
    xml += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>";
    for (const char c : etags[i])
      xml += c == '"' ? "&quot;" : c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
    xml += "</ETag></Part>";
  }
  return xml + "</CompleteMultipartUpload>";
}

class Upload final : public SpoolWriter {
 public:
  Upload(Store& store, std::shared_ptr<const S3Origin> origin, std::string_view key, FileDescriptor fd)
      : SpoolWriter(join_key(store.url(), key), std::move(fd)), store_(store), origin_(std::move(origin)), key_(key) {}

 protected:
  Status finish(const WriteCondition& condition, const CancelToken& cancel) override {
    if (size_bytes() <= kPartBytes) {
      PENSTOCK_ASSIGN(const Bytes whole, read_part(0, size_bytes()));
      const ByteView part = whole;
      return put_object(store_, *origin_, key_, {&part, 1}, condition, cancel);
    }
    PENSTOCK_ASSIGN(const std::string id, begin(cancel));
    const Status sent = send_all(id, condition, cancel);
    if (!sent) abort(id);
    return sent;
  }

 private:
  Result<Bytes> read_part(std::uint64_t offset, std::uint64_t count) const {
    Bytes part;
    PENSTOCK_TRY_IN(part.resize_discard(count), where_);
    PENSTOCK_TRY(read_at(fd_.get(), offset, part.span(), where_));
    return part;
  }
  Call call(std::string_view method, const Query& query, std::vector<http::Header> headers, std::vector<ByteView> body,
            const WriteCondition& condition) const {
    Call call;
    call.where = where_;
    call.request = [this, method, query, headers = std::move(headers), body = std::move(body)] {
      return origin_->make(method, origin_->full_key(key_), query, headers, body);
    };
    call.judge = WriteJudge(store_, *origin_, key_, condition);
    return call;
  }

  Result<std::string> begin(const CancelToken& cancel) const {
    const Call one = call("POST", {{"uploads", ""}}, {}, {}, WriteCondition::any());
    PENSTOCK_ASSIGN(const http::Reply reply, http::carry_out(one, cancel, origin_->patience()));
    PENSTOCK_ASSIGN_IN(std::string id, parse_upload_id(reply.body), where_);
    return id;
  }

  Status send_all(const std::string& id, const WriteCondition& condition, const CancelToken& cancel) const {
    const std::uint64_t part_bytes = std::max(kPartBytes, (size_bytes() + kMaxParts - 1) / kMaxParts);
    std::vector<std::string> etags;
    for (std::uint64_t at = 0; at < size_bytes();) {
      std::vector<Bytes> memory;
      std::vector<Call> calls;
      for (; at < size_bytes() && calls.size() < kPartsUnderWay; at += memory.back().size()) {
        PENSTOCK_ASSIGN(Bytes part, read_part(at, std::min(part_bytes, size_bytes() - at)));
        memory.push_back(std::move(part));
        const std::string number = std::to_string(etags.size() + calls.size() + 1);
        calls.push_back(
            call("PUT", {{"partNumber", number}, {"uploadId", id}}, {}, {memory.back().view()}, WriteCondition::any()));
      }
      for (const Result<http::Reply>& reply : http::carry_out(calls, cancel, origin_->patience())) {
        PENSTOCK_TRY(reply ? Status() : Status(reply.error()));
        etags.emplace_back(reply->head.field("etag"));
        if (etags.back().empty())
          return Error(ErrorCode::io_error, where_ + ": the server does not name a part that it took");
      }
    }
    PENSTOCK_ASSIGN(std::vector<http::Header> fields, fields_of(store_, key_, condition));
    const std::string xml = xml_of(etags);
    return complete(call("POST", {{"uploadId", id}}, std::move(fields), {as_bytes(xml)}, condition), cancel);
  }

  Status complete(Call last, const CancelToken& cancel) const {
    int sent = 0;
    last.request = [&sent, make = std::move(last.request)] {
      ++sent;
      return make();
    };
    last.judge = [&sent, judge = std::move(last.judge)](const http::Head& head, const std::string& body,
                                                        http::Detour& detour) {
      sent += head.sent_twice ? 1 : 0;
      return judge(head, body, detour);
    };
    const auto reply = http::carry_out(last, cancel, origin_->patience());
    if (reply && is_completion(reply->body)) return {};
    if (reply) return Error(ErrorCode::io_error, where_ + ": the server does not say that the parts are an object now");
    // An attempt that nobody heard of may have completed it.
    const ErrorCode code = reply.error().code();
    if (sent > 1 && (code == ErrorCode::not_found || code == ErrorCode::changed)) {
      PENSTOCK_ASSIGN(const bool ours, stands(cancel));
      if (ours) return {};
    }
    return reply.error();
  }

  /// Whether the object that is there has the bytes that were written.
  Result<bool> stands(const CancelToken& cancel) const {
    PENSTOCK_ASSIGN(const std::optional<std::uint64_t> there_bytes, store_.size_bytes(key_));
    if (there_bytes != size_bytes()) return false;
    for (std::uint64_t at = 0; at < size_bytes(); at += kPartBytes) {
      PENSTOCK_ASSIGN(const Bytes wanted, read_part(at, std::min(kPartBytes, size_bytes() - at)));
      Bytes there;
      const FetchRequest request{key_, ByteRange::span(at, wanted.size()), nullptr};
      const FetchAnswer answer = fetch_one(store_, request, there, nullptr, cancel);
      if (!answer.status) return answer.status.error();
      if (answer.absent || !std::ranges::equal(answer.bytes, wanted.view())) return false;
    }
    return true;
  }

  /// The parts cost until they are removed.  Not cancelled with the rest; what it says changes nothing.
  void abort(const std::string& id) const {
    const Call one = call("DELETE", {{"uploadId", id}}, {}, {}, WriteCondition::any());
    (void)http::carry_out(one, CancelToken(), origin_->patience());
  }

  Store& store_;
  const std::shared_ptr<const S3Origin> origin_;
  const std::string key_;
};

}  // namespace

Status put_object(const Store& store, const S3Origin& origin, std::string_view key, std::span<const ByteView> parts,
                  const WriteCondition& condition, const CancelToken& cancel) {
  PENSTOCK_ASSIGN(const std::vector<http::Header> fields, fields_of(store, key, condition));
  const std::vector<ByteView> body(parts.begin(), parts.end());
  const std::string hash = sha256_hex(parts);
  int sent = 0;
  Call call;
  call.where = origin.where(key);
  call.request = [&] {
    ++sent;
    return origin.make("PUT", origin.full_key(key), {}, fields, body, hash);
  };
  const WriteJudge judge(store, origin, key, condition);
  call.judge = [&](const http::Head& head, const std::string& text, http::Detour& detour) {
    sent += head.sent_twice ? 1 : 0;
    return judge(head, text, detour);
  };
  const auto reply = http::carry_out(call, cancel, origin.patience());
  // Whoever says 200 to everything, such as a page of a network that wants a login, has stored nothing.
  if (reply && reply->head.field("etag").empty())
    return Error(ErrorCode::io_error, call.where + ": the server does not name what it took: it may be no S3 server");
  if (reply) return {};
  if (sent > 1 && !fields.empty() && reply.error().code() == ErrorCode::changed) {
    PENSTOCK_ASSIGN(const bool ours, stands_already(store, key, parts));
    if (ours) return {};
  }
  return reply.error();
}

Result<std::unique_ptr<ObjectWriter>> make_upload(Store& store, std::shared_ptr<const S3Origin> origin,
                                                  std::string_view key) {
  const char* directory = std::getenv("TMPDIR");
  PENSTOCK_ASSIGN(FileDescriptor fd,
                  make_nameless_file(directory != nullptr && *directory != '\0' ? directory : "/tmp"));
  return std::unique_ptr<ObjectWriter>(std::make_unique<Upload>(store, std::move(origin), key, std::move(fd)));
}

}  // namespace penstock::s3
