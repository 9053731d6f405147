#include "store/blocking_store.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "core/guard.hpp"
#include "store/condition.hpp"
#include "store/key.hpp"

namespace penstock {
namespace {

/// The part of an object of `size` bytes that a request wants: its offset and count.  Errors: corrupt_data when the
/// object ends before.
Result<std::pair<std::uint64_t, std::uint64_t>> part_of(const FetchRequest& request, std::uint64_t size,
                                                        const Store& store) {
  using Part = std::pair<std::uint64_t, std::uint64_t>;
  const ByteRange& range = request.range;
  const auto too_short = [&](const std::string& count) {
    return Error(ErrorCode::corrupt_data, join_key(store.url(), request.key) + ": the object has " +
                                              std::to_string(size) + " bytes, wanted " + count + "bytes from byte " +
                                              std::to_string(range.offset_bytes));
  };
  switch (range.kind) {
    case ByteRange::Kind::whole: return Part{0, size};
    case ByteRange::Kind::last: return Part{size - std::min(size, range.count), std::min(size, range.count)};
    case ByteRange::Kind::from:
      if (range.offset_bytes > size) return too_short("");
      return Part{range.offset_bytes, size - range.offset_bytes};
    case ByteRange::Kind::span:
      if (range.offset_bytes > size || range.count > size - range.offset_bytes)
        return too_short(std::to_string(range.count) + " ");
      return Part{range.offset_bytes, range.count};
  }
  return Error(ErrorCode::internal, "no such kind of range");
}

/// The requests of one call, object by object: each is opened once for those that follow each other.
class Fetch {
 public:
  Fetch(const BlockingStore& store, std::span<const FetchRequest> requests, FetchSink& sink)
      : store_(store), requests_(requests), sink_(sink) {}

  Result<FetchAnswer> answer(std::size_t number) {
    const FetchRequest& request = requests_[number];
    PENSTOCK_ASSIGN(const std::shared_ptr<const Object> object, object_of(request));
    FetchAnswer answer;
    if (object == nullptr) {
      answer.absent = true;
      return answer;
    }
    answer.object_bytes = object->size_bytes();
    answer.version = {object->version(), object};
    PENSTOCK_ASSIGN(const auto part, part_of(request, answer.object_bytes, store_));
    answer.offset_bytes = part.first;
    if (const auto view = object->view(part.first, part.second)) {
      answer.bytes = *view;
      answer.owner = object;
      return answer;
    }
    if (part.second == 0) return answer;
    PENSTOCK_ASSIGN(const ByteSpan into, sink_.room(number, part.second));
    PENSTOCK_TRY(object->read(part.first, into));
    answer.bytes = into;
    return answer;
  }

  /// Lets go of the open object unless the next request wants it too: an answer whose version is dropped closes it.
  void before(const FetchRequest* next) {
    if (next == nullptr || next->key != opened_key_) opened_ = nullptr;
  }

 private:
  /// nullptr: absent.
  Result<std::shared_ptr<const Object>> object_of(const FetchRequest& request) {
    const ObjectVersion* wanted = request.same_as;
    if (wanted != nullptr && !wanted->known()) return changed_error(store_, request.key, kVersionUnknown);
    if (wanted != nullptr && wanted->pin != nullptr) {
      auto pinned = std::dynamic_pointer_cast<const Object>(wanted->pin);
      if (pinned == nullptr)
        return Error(ErrorCode::internal, join_key(store_.url(), request.key) + ": the version is of another store");
      return pinned;
    }
    if (opened_ == nullptr) {
      PENSTOCK_ASSIGN(opened_, store_.open(request.key));
      opened_key_ = request.key;
    }
    if (wanted != nullptr && (opened_ == nullptr || !opened_->is_version(*wanted)))
      return changed_error(store_, request.key, kReplaced);
    return opened_;
  }

  const BlockingStore& store_;
  std::span<const FetchRequest> requests_;
  FetchSink& sink_;
  std::shared_ptr<const Object> opened_;
  std::string_view opened_key_;
};

bool are_together(std::span<const FetchRequest> requests) {
  return requests.size() < 3 ||
         std::all_of(
             requests.begin() + 1, requests.end(), [&](const FetchRequest& one) { return one.key == requests[0].key; });
}

/// Numbers of the requests, those of one key together.  Which key comes first is of no matter: shorter ones do, because
/// comparing lengths is quick.
std::vector<std::size_t> object_by_object(std::span<const FetchRequest> requests) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (are_together(requests)) return order;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::string_view left = requests[a].key, right = requests[b].key;
    return std::tuple(left.size(), left) < std::tuple(right.size(), right);
  });
  return order;
}

FetchAnswer failed(Error error) {
  FetchAnswer answer;
  answer.status = std::move(error);
  return answer;
}

}  // namespace

void BlockingStore::fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const {
  std::vector<std::size_t> order;  // of one request: none
  const Status ordered = guarded([&]() -> Status {
    if (requests.size() > 1) order = object_by_object(requests);
    return {};
  });
  if (!ordered) {
    for (std::size_t i = 0; i < requests.size(); ++i) sink.done(i, failed(ordered.error()));
    return;
  }
  Fetch fetch(*this, requests, sink);
  for (std::size_t at = 0; at < requests.size(); ++at) {
    const std::size_t number = order.empty() ? at : order[at];
    auto answer = guarded([&]() -> Result<FetchAnswer> {
      if (options.cancel.cancelled()) return Error(ErrorCode::cancelled, "the fetch was cancelled");
      return fetch.answer(number);
    });
    fetch.before(at + 1 < requests.size() ? &requests[order[at + 1]] : nullptr);
    sink.done(number, answer ? *std::move(answer) : failed(std::move(answer).error()));
  }
}

Result<bool> BlockingStore::is_current(std::string_view key, const ObjectVersion& version) const {
  PENSTOCK_ASSIGN(const std::unique_ptr<Object> now, open(key));
  return now != nullptr && now->is_version(version);
}

Status BlockingStore::check(std::string_view key) const {
  PENSTOCK_ASSIGN(const std::unique_ptr<Object> object, open(key));
  return object == nullptr ? Status() : object->check();
}

}  // namespace penstock
