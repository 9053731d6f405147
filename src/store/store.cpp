// What every store can do by its few basic members; a store overrides what it does better.
#include "penstock/store.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "store/condition.hpp"
#include "store/fetch_one.hpp"
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

Result<bool> Store::get(std::string_view key, Bytes& out) const {
  const FetchAnswer answer = fetch_one(*this, {key, {}, nullptr}, out);
  PENSTOCK_TRY(answer.status);
  return !answer.absent;
}

Result<bool> Store::exists(std::string_view key) const {
  const FetchAnswer answer = probe(*this, key);
  if (!answer.status && answer.status.error().code() == ErrorCode::is_directory) return false;  // is not an object
  PENSTOCK_TRY(answer.status);
  return !answer.absent;
}

Result<std::optional<std::uint64_t>> Store::size_bytes(std::string_view key) const {
  const FetchAnswer answer = probe(*this, key);
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return std::optional<std::uint64_t>();
  if (answer.object_bytes != kNotTold) return std::optional(answer.object_bytes);
  return Error(ErrorCode::unsupported, join_key(url(), key) + ": the store does not tell how large it is");
}

Result<bool> Store::is_current(std::string_view key, const ObjectVersion& version) const {
  const FetchAnswer answer = probe(*this, key);
  PENSTOCK_TRY(answer.status);
  return !answer.absent && version.number != 0 && answer.version.number == version.number;
}

StoreTraits Store::traits(std::string_view) const {
  StoreTraits traits;
  traits.reason = "nothing is known of this store: only ranges that touch are read as one";
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

Status Store::set_if(std::string_view key, std::span<const ByteView> parts, const WriteCondition& condition,
                     const CancelToken& cancel) {
  if (condition.kind == WriteCondition::Kind::any) return set_parts(key, parts);
  PENSTOCK_ASSIGN(const auto held, lock(key, LockUse::change, not_cancelled(cancel)));
  PENSTOCK_TRY(check_condition(*this, key, condition));
  return set_parts(key, parts);
}

Status Store::erase_prefix(std::string_view prefix) {
  PENSTOCK_ASSIGN(const std::vector<std::string> keys, list(prefix));
  for (const std::string& key : keys) PENSTOCK_TRY(erase(key));
  return prefix.empty() ? Status{} : erase(prefix);
}

}  // namespace penstock
