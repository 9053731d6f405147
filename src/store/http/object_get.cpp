#include "store/http/object_get.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/pages.hpp"

namespace penstock::http {
namespace {

constexpr std::size_t kMaxDetailBytes = 16 << 10;
constexpr std::uint64_t kManyPages = 64 << 10, kPagesAhead = 256 << 10;
constexpr std::uint64_t kMaxUntoldBytes = std::uint64_t{1} << 30;

/// Whether memory has its pages, as far as its last one tells: the kernel would look at each of them.
bool is_there(ByteSpan memory) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  unsigned char seen = 0;
  const auto last = reinterpret_cast<std::uintptr_t>(&memory.back()) / page * page;
  return ::mincore(reinterpret_cast<void*>(last), page, &seen) == 0 && (seen & 1) != 0;
}

std::string span_text(std::uint64_t first, std::uint64_t count) {
  return "bytes=" + std::to_string(first) + "-" + std::to_string(first + count - 1);
}

}  // namespace

bool ObjectGet::is_probe() const {
  const ByteRange& range = asked_.range;
  return (range.kind == ByteRange::Kind::span || range.kind == ByteRange::Kind::last) && range.count == 0;
}

Error ObjectGet::too_short(std::uint64_t object_bytes) const {
  const bool counted = asked_.range.kind == ByteRange::Kind::span;
  return {ErrorCode::corrupt_data, where() + ": the object has " + std::to_string(object_bytes) + " bytes, wanted " +
                                       (counted ? std::to_string(asked_.range.count) + " " : std::string()) +
                                       "bytes from byte " + std::to_string(asked_.range.offset_bytes)};
}

Result<Request> ObjectGet::request() {
  is_object_ = cut_ = false;
  detail_.clear();
  const ByteRange& range = asked_.range;
  if (asked_.same_as != nullptr && !asked_.same_as->known())
    return Error(ErrorCode::changed, where() + ": nobody can tell whether it is the version that was read");
  // No object ends there; how large this one is the server knows.
  const bool too_far = range.kind == ByteRange::Kind::span && range.count > ~std::uint64_t{0} - range.offset_bytes;
  if (is_probe() || too_far) measures_ = true;
  const bool goes_on = received_ > 0 && !etag_.empty() && size_told_;
  if (!goes_on) received_ = 0;
  std::vector<Header> headers;
  if (goes_on) {
    headers.push_back({"Range", span_text(answer_.offset_bytes + received_, expected_ - received_)});
  } else if (measures_) {
    headers.push_back({"Range", "bytes=-1"});  // with the first byte, empty objects are told from absent ones late
  } else {
    switch (range.kind) {
      case ByteRange::Kind::whole: break;
      case ByteRange::Kind::span: headers.push_back({"Range", span_text(range.offset_bytes, range.count)}); break;
      case ByteRange::Kind::from:
        headers.push_back({"Range", "bytes=" + std::to_string(range.offset_bytes) + "-"});
        break;
      case ByteRange::Kind::last: headers.push_back({"Range", "bytes=-" + std::to_string(range.count)}); break;
    }
  }
  const auto* pin = asked_.same_as == nullptr ? nullptr : dynamic_cast<const EtagPin*>(asked_.same_as->pin.get());
  if (goes_on)
    headers.push_back({"If-Match", etag_});
  else if (pin != nullptr)
    headers.push_back({"If-Match", pin->etag()});
  return origin_->request("GET", asked_.key, std::move(headers), {}, detour_);
}

/// The version of the answer must be the one that was asked for, and that of the bytes so far.
Status ObjectGet::take_version(const Head& head) {
  const std::string_view etag = head.field("etag");
  const bool other = received_ > 0 && etag != etag_;
  ObjectVersion version = version_of(etag);
  if (other || (asked_.same_as != nullptr && version.number != asked_.same_as->number))
    return Error(ErrorCode::changed, where() + ": the object was replaced meanwhile");
  etag_ = version.known() ? std::string(etag) : std::string();
  answer_.version = std::move(version);
  return {};
}

Status ObjectGet::head(const Head& head) {
  if (head.status != 200 && head.status != 206) return {};
  PENSTOCK_TRY(take_version(head));
  is_object_ = true;
  return take_part(head);
}

/// An object that was stored packed is sent as it is, with its size.  What is packed on the way has no size that is
/// known before, and is not what is stored.
Status ObjectGet::check_packing(const Head& head) const {
  const std::string_view packed = head.field("content-encoding");
  if (packed.empty() || packed == "identity" || head.content_length()) return {};
  return Error(ErrorCode::unsupported, where() + ": the server packs what it sends (Content-Encoding: " +
                                           printable(packed) + "), asked for the bytes as they are")
      .set_hint("switch packing off for the store's path, there or in the proxy before it");
}

/// What part of the object follows; room for it.
Status ObjectGet::take_part(const Head& head) {
  const ByteRange& range = asked_.range;
  const std::optional<std::uint64_t> length = head.content_length();
  ContentRange part;
  if (head.status == 206) {
    const auto told = parse_content_range(head.field("content-range"));
    if (!told || !told->has_part || (length && *length != told->count))
      return Error(ErrorCode::io_error,
                   where() + ": the server answers with a part of the object and does not say which");
    part = *told;
    answer_.object_bytes = part.object_bytes;
  } else {
    PENSTOCK_TRY(check_packing(head));
    answer_.object_bytes = length.value_or(kNotTold);
  }
  if (measures_) {
    cut_ = true;
    if (head.status == 206) return {};  // one byte
    return Error(ErrorCode::cancelled, "enough was seen");
  }
  if (head.status == 200) {
    const bool all =
        range.kind == ByteRange::Kind::whole || (range.offset_bytes == 0 && range.kind == ByteRange::Kind::from) ||
        (length && range.kind == ByteRange::Kind::last && range.count >= *length) ||
        (length && range.kind == ByteRange::Kind::span && range.offset_bytes == 0 && range.count == *length);
    if (received_ > 0) received_ = 0;  // the server does not go on: from the begin, into the same room
    if (!all) {
      if (length && range.kind == ByteRange::Kind::span &&
          (range.offset_bytes > *length || range.count > *length - range.offset_bytes))
        return too_short(*length);
      return Error(ErrorCode::unsupported, where() + ": the server does not answer requests for a part of an object")
          .set_hint(
              "copy the store to a server that supports ranges; without them only stores without shards can be read");
    }
    return expect(0, length);
  }
  // A part: the one that was asked for, and no other.
  std::uint64_t first = range.offset_bytes, count = range.count;
  if (range.kind == ByteRange::Kind::last) {
    if (part.object_bytes == kNotTold) {
      first = part.first;
    } else {
      count = std::min(count, part.object_bytes);
      first = part.object_bytes - count;
    }
  } else if (range.kind != ByteRange::Kind::span) {
    if (part.object_bytes == kNotTold)
      count = received_ + part.count;
    else
      count = part.object_bytes - std::min(first, part.object_bytes);
  }
  if (received_ > 0) {
    if (part.first != answer_.offset_bytes + received_ || part.count != expected_ - received_)
      return Error(ErrorCode::io_error,
                   where() + ": the server answers with another range than the rest that was asked for");
    return {};
  }
  if (part.object_bytes != kNotTold && range.kind == ByteRange::Kind::span &&
      (first > part.object_bytes || count > part.object_bytes - first))
    return too_short(part.object_bytes);
  if (part.first != first || part.count != count)
    return Error(ErrorCode::io_error, where() + ": the server answers with bytes " + std::to_string(part.first) +
                                          " to " + std::to_string(part.first + part.count - 1) + ", not with the " +
                                          std::to_string(count) + " that were asked for from byte " +
                                          std::to_string(first));
  return expect(first, count);
}

Status ObjectGet::expect(std::uint64_t offset_bytes, std::optional<std::uint64_t> count) {
  size_told_ = count.has_value();
  answer_.offset_bytes = offset_bytes;
  if (!count) {
    if (has_room_) return Error(ErrorCode::changed, where() + ": the server does not say how large the object is now");
    untold_.clear();
    return {};
  }
  if (has_room_ && *count != expected_)
    return Error(ErrorCode::changed, where() + ": the object was replaced while it was read");
  expected_ = *count;
  if (has_room_ || expected_ == 0) return {};
  PENSTOCK_ASSIGN(room_, sink_.room(number_, expected_));
  has_room_ = true;
  return {};
}

Status ObjectGet::body(ByteView bytes) {
  if (!is_object_) {
    const std::size_t more = std::min(bytes.size(), kMaxDetailBytes - std::min(detail_.size(), kMaxDetailBytes));
    detail_.append(as_text(bytes.first(more)));
    return {};
  }
  if (cut_) return {};
  if (!size_told_) {
    if (untold_.size() + bytes.size() > kMaxUntoldBytes)
      return Error(ErrorCode::io_error, where() + ": the server sends more than 1 GiB and does not say how much");
    return untold_.append(bytes);
  }
  if (bytes.size() > expected_ - received_)
    return Error(ErrorCode::io_error, where() + ": the server sends more bytes than it said");
  if (expected_ >= kManyPages &&
      received_ + bytes.size() > paged_) {  // so far that they are still in the processor's cache
    const std::uint64_t ahead = std::min(std::max<std::uint64_t>(kPagesAhead, bytes.size()), expected_ - received_);
    const ByteSpan next = room_.subspan(received_, ahead);
    if (!is_there(next)) make_pages(next);
    paged_ = received_ + ahead;
  }
  std::memcpy(room_.data() + received_, bytes.data(), bytes.size());
  received_ += bytes.size();
  return {};
}

/// The object has no such bytes: how many it has is asked with a request that only an empty one cannot satisfy.
Next ObjectGet::not_satisfiable(const Head& head) {
  if (!measures_) {
    measures_ = true;
    received_ = 0;
    return {Next::Kind::at_once, {}};
  }
  answer_.object_bytes = 0;
  if (!head.field("etag").empty()) {
    if (Status status = take_version(head); !status) return {Next::Kind::over, std::move(status)};
  }
  return complete();
}

/// All that was to come is there.
Next ObjectGet::complete() {
  const ByteRange& range = asked_.range;
  const std::uint64_t size = answer_.object_bytes;
  if (range.kind == ByteRange::Kind::span && size != kNotTold &&
      (range.offset_bytes > size || range.count > size - range.offset_bytes))
    return {Next::Kind::over, too_short(size)};
  if (range.kind == ByteRange::Kind::from && size != kNotTold && range.offset_bytes > size)
    return {Next::Kind::over, too_short(size)};
  if (range.kind == ByteRange::Kind::last && (range.count == 0 || size == 0)) answer_.offset_bytes = size;
  const bool ends_there = range.kind == ByteRange::Kind::from && range.offset_bytes == size;
  if (measures_ && !is_probe() && !ends_there && size > 0)  // it has the bytes now
    return {Next::Kind::over, Error(ErrorCode::changed, where() + ": the object was replaced meanwhile")};
  if (range.kind == ByteRange::Kind::span || range.kind == ByteRange::Kind::from)
    answer_.offset_bytes = range.offset_bytes;
  if (!size_told_) {
    answer_.object_bytes = untold_.size();
    auto room = sink_.room(number_, untold_.size());
    if (!room) return {Next::Kind::over, room.error()};
    if (!untold_.empty()) std::memcpy(room->data(), untold_.data(), untold_.size());
    answer_.bytes = *room;
    return {};
  }
  answer_.bytes = ByteView(room_).first(received_);
  return {};
}

Next ObjectGet::ended(const Ended& ended) {
  const int status = ended.head.status;
  if (is_object_ && cut_ && (status == 206 || status == 200) &&
      (ended.transport || ended.transport.error().code() == ErrorCode::cancelled))
    return complete();
  if (!ended.transport) {
    const ErrorCode code = ended.transport.error().code();
    // What this exchange itself said to the answer stands.
    if (code != ErrorCode::timed_out && code != ErrorCode::io_error) return {Next::Kind::over, ended.transport};
    if (ended.transport.error().message().starts_with(where())) return {Next::Kind::over, ended.transport};
    return after_failure(ended, where());
  }
  if (is_object_) {
    if (size_told_ && received_ < expected_)
      return {Next::Kind::again, Error(ErrorCode::io_error, where() + ": the answer ended early")};
    return complete();
  }
  if (status == 412)
    return {Next::Kind::over, Error(ErrorCode::changed, where() + ": the object was replaced meanwhile")};
  if (status == 416) return not_satisfiable(ended.head);
  Next next = origin_->refused(ended.head, detail_, asked_.key, detour_);
  if (next.kind != Next::Kind::over || !next.status) return next;
  if (asked_.same_as != nullptr)
    return {Next::Kind::over, Error(ErrorCode::changed, where() + ": the object was removed meanwhile")};
  answer_.absent = true;
  return next;
}

void ObjectGet::over(Status status) {
  if (!status) {
    FetchAnswer failed;
    failed.status = std::move(status);
    sink_.done(number_, std::move(failed));
    return;
  }
  if (answer_.absent) answer_.object_bytes = answer_.offset_bytes = 0;
  sink_.done(number_, std::move(answer_));
}

}  // namespace penstock::http
