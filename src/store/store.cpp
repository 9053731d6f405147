// What every store can do by its few basic members; a store overrides what it does better.
#include "penstock/store.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "store/condition.hpp"
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

bool Object::is_version(const ObjectVersion& wanted) const { return wanted.number != 0 && wanted.number == version(); }

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
