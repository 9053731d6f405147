// What every store can do by its few basic members; a store overrides what it does better.
#include "penstock/store.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "store/key.hpp"
#include "store/locks.hpp"

namespace penstock {

Result<Bytes> joined(std::span<const ByteView> parts) {
  std::uint64_t size = 0;
  for (const ByteView part : parts) {
    PENSTOCK_ASSIGN(size, checked_add(size, part.size()));
  }
  Bytes whole;
  PENSTOCK_TRY(whole.resize_discard(size));
  std::size_t at = 0;
  for (const ByteView part : parts) {
    if (!part.empty()) std::memcpy(whole.data() + at, part.data(), part.size());
    at += part.size();
  }
  return whole;
}

Status Object::read_many(std::span<const ReadRange> ranges) const {
  for (const ReadRange& range : ranges) PENSTOCK_TRY(read(range.offset_bytes, range.into));
  return {};
}

std::optional<ByteView> Object::view(std::uint64_t, std::uint64_t) const { return std::nullopt; }

Result<bool> Store::get(std::string_view key, Bytes& out) const {
  PENSTOCK_ASSIGN(const std::unique_ptr<Object> object, open(key));
  if (object == nullptr) return false;
  PENSTOCK_TRY(out.resize_discard(object->size_bytes()));
  PENSTOCK_TRY(object->read(0, out.span()));
  return true;
}

Result<bool> Store::exists(std::string_view key) const {
  auto object = open(key);
  if (!object && object.error().code() == ErrorCode::is_directory) return false;  // a directory is not an object
  if (!object) return std::move(object).error();
  return *object != nullptr;
}

Result<bool> Store::get_suffix(std::string_view key, std::uint64_t count, Bytes& out) const {
  PENSTOCK_ASSIGN(const std::unique_ptr<Object> object, open(key));
  if (object == nullptr) return false;
  const std::uint64_t size = object->size_bytes();
  const std::uint64_t take = std::min(size, count);
  PENSTOCK_TRY(out.resize_discard(take));
  PENSTOCK_TRY(object->read(size - take, out.span()));
  return true;
}

namespace {

/// The part of an object of `size` bytes that a request wants.  Errors: corrupt_data when the object ends before.
Result<std::pair<std::uint64_t, std::uint64_t>> part_of(const ByteRange& range, std::uint64_t size,
                                                        std::string_view key) {
  using Part = std::pair<std::uint64_t, std::uint64_t>;
  const auto too_short = [&] {
    return Error(ErrorCode::corrupt_data, std::string(key) + ": the object has " + std::to_string(size) +
                                              " bytes, wanted " + std::to_string(range.count) + " bytes from byte " +
                                              std::to_string(range.offset_bytes));
  };
  switch (range.kind) {
    case ByteRange::Kind::whole: return Part{0, size};
    case ByteRange::Kind::last: return Part{size - std::min(size, range.count), std::min(size, range.count)};
    case ByteRange::Kind::from:
      if (range.offset_bytes > size) return too_short();
      return Part{range.offset_bytes, size - range.offset_bytes};
    case ByteRange::Kind::span:
      if (range.offset_bytes > size || range.count > size - range.offset_bytes) return too_short();
      return Part{range.offset_bytes, range.count};
  }
  return Error(ErrorCode::internal, "no such kind of range");
}

/// One request by way of an open object.
Result<FetchAnswer> fetch_one(const Store& store, const FetchRequest& request, std::size_t number, FetchSink& sink) {
  FetchAnswer answer;
  std::shared_ptr<const Object> object;
  if (request.same_as != nullptr && request.same_as->pin)
    object = std::static_pointer_cast<const Object>(request.same_as->pin);
  else {
    PENSTOCK_ASSIGN(object, store.open(request.key));
  }
  if (!object) {
    answer.absent = true;
    return answer;
  }
  answer.object_bytes = object->size_bytes();
  answer.version = {object->version(), object};
  if (request.same_as != nullptr && !request.same_as->pin && request.same_as->number != answer.version.number)
    return Error(ErrorCode::changed,
                 store.url() + "/" + std::string(request.key) + ": the object was replaced meanwhile");
  PENSTOCK_ASSIGN(const auto part, part_of(request.range, answer.object_bytes, request.key));
  answer.offset_bytes = part.first;
  if (const auto view = object->view(part.first, part.second)) {
    answer.bytes = *view;
    answer.owner = object;
    return answer;
  }
  if (part.second == 0) return answer;
  PENSTOCK_ASSIGN(const ByteSpan into, sink.room(number, part.second));
  PENSTOCK_TRY(object->read(part.first, into));
  answer.bytes = into;
  return answer;
}

}  // namespace

void Store::fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto answer = options.cancel.cancelled()
                      ? Result<FetchAnswer>(Error(ErrorCode::cancelled, "the fetch was cancelled"))
                      : fetch_one(*this, requests[i], i, sink);
    if (answer) {
      sink.done(i, *std::move(answer));
    } else {
      FetchAnswer failed;
      failed.status = std::move(answer).error();
      sink.done(i, std::move(failed));
    }
  }
}

StoreTraits Store::traits(std::string_view) const {
  StoreTraits traits;
  traits.merge_gap_bytes = merge_gap_bytes();
  traits.reason = "the store's only path";
  return traits;
}

Result<std::vector<std::string>> Store::list(std::string_view prefix) const {
  std::vector<std::string> keys, prefixes{std::string(prefix)};
  while (!prefixes.empty()) {
    const std::string at = std::move(prefixes.back());
    prefixes.pop_back();
    PENSTOCK_ASSIGN(const std::vector<StoreEntry> entries, list_dir(at));
    for (const StoreEntry& entry : entries) (entry.is_prefix ? prefixes : keys).push_back(join_key(at, entry.name));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string Store::identity() const { return "store:" + std::to_string(reinterpret_cast<std::uintptr_t>(this)); }

Result<std::unique_ptr<ObjectLock>> Store::lock(std::string_view key, LockUse,
                                                const std::function<Status()>& check) const {
  PENSTOCK_TRY(check_key(key));
  return lock_in_process(identity() + "/" + std::string(key), check);
}

Status Store::set_parts(std::string_view key, std::span<const ByteView> parts) {
  if (parts.size() == 1) return set(key, parts[0]);
  PENSTOCK_ASSIGN_IN(const Bytes whole, joined(parts), key);
  return set(key, whole);
}

Status Store::erase_prefix(std::string_view prefix) {
  PENSTOCK_ASSIGN(const std::vector<std::string> keys, list(prefix));
  for (const std::string& key : keys) PENSTOCK_TRY(erase(key));
  return prefix.empty() ? Status{} : erase(prefix);
}

}  // namespace penstock
