#include "store/memory/memory_store.hpp"

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "store/blocking_store.hpp"
#include "store/condition.hpp"
#include "store/key.hpp"
#include "store/object_writer.hpp"
#include "store/sorted_keys.hpp"

namespace penstock {
namespace {

struct Value {
  Bytes bytes;
  std::uint64_t version;
};

/// The objects, shared by every store opened under one name.  A value is never changed once it stands: readers keep
/// the one that they opened while the key gets another.
struct Objects {
  mutable std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<const Value>, std::less<>> by_key;
};

class MemoryObject final : public Object {
 public:
  MemoryObject(std::shared_ptr<const Value> value, std::string where)
      : value_(std::move(value)), where_(std::move(where)) {}
  std::uint64_t size_bytes() const override { return value_->bytes.size(); }
  std::uint64_t version() const override { return value_->version; }

  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    const auto part = view(offset_bytes, into.size());
    if (!part)
      return Error(ErrorCode::corrupt_data,
                   where_ + ": the object ends at byte " + std::to_string(value_->bytes.size()) + ", wanted " +
                       std::to_string(into.size()) + " bytes from byte " + std::to_string(offset_bytes));
    if (!into.empty()) std::memcpy(into.data(), part->data(), into.size());
    return {};
  }
  std::optional<ByteView> view(std::uint64_t offset_bytes, std::uint64_t count) const override {
    if (offset_bytes > value_->bytes.size() || count > value_->bytes.size() - offset_bytes) return std::nullopt;
    return value_->bytes.view().subspan(offset_bytes, count);
  }

 private:
  std::shared_ptr<const Value> value_;
  std::string where_;
};

class MemoryStore final : public BlockingStore {
 public:
  MemoryStore(std::shared_ptr<Objects> objects, std::string url, bool writable)
      : objects_(std::move(objects)), url_(std::move(url)), writable_(writable) {}
  std::string url() const override { return url_; }
  std::string path_taken() const override { return "memory"; }
  bool writable() const override { return writable_; }
  std::string identity() const override {
    return "memory:" + std::to_string(reinterpret_cast<std::uintptr_t>(objects_.get()));
  }

  Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    std::shared_ptr<const Value> value = find(key);
    if (value == nullptr) return std::unique_ptr<Object>();
    return std::unique_ptr<Object>(std::make_unique<MemoryObject>(std::move(value), join_key(url_, key)));
  }

  Result<bool> exists(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    return find(key) != nullptr;
  }

  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    const std::shared_lock lock(objects_->mutex);
    return list_dir_of(objects_->by_key, prefix);
  }

  Result<std::vector<std::string>> list(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    const std::shared_lock lock(objects_->mutex);
    return list_of(objects_->by_key, prefix);
  }

  StoreTraits traits(std::string_view) const override {
    StoreTraits traits;
    traits.reason = "memory of this process: bytes are handed out where they lie, reading over a gap saves nothing";
    return traits;
  }

  Status set(std::string_view key, ByteView value) override { return set_parts(key, {&value, 1}); }
  Status set_parts(std::string_view key, std::span<const ByteView> parts) override {
    return set_if(key, parts, WriteCondition::any(), CancelToken());
  }
  Status set_if(std::string_view key, std::span<const ByteView> parts, const WriteCondition& condition,
                const CancelToken&) override {
    PENSTOCK_TRY(check_change(key));
    PENSTOCK_ASSIGN_IN(Bytes whole, joined(parts), join_key(url_, key));
    return put(key, std::move(whole), condition);
  }

  Result<std::unique_ptr<ObjectWriter>> writer(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, std::string(key)));
  }

  Status erase(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    const std::unique_lock lock(objects_->mutex);
    if (const auto it = objects_->by_key.find(key); it != objects_->by_key.end()) objects_->by_key.erase(it);
    return {};
  }

  Status erase_prefix(std::string_view prefix) override {
    if (!writable_) return read_only_error(url_);
    PENSTOCK_TRY(check_prefix(prefix));
    const std::unique_lock lock(objects_->mutex);
    (void)erase_from(objects_->by_key, prefix);
    return {};
  }

 private:
  std::shared_ptr<const Value> find(std::string_view key) const {
    const std::shared_lock lock(objects_->mutex);
    const auto it = objects_->by_key.find(key);
    return it == objects_->by_key.end() ? nullptr : it->second;
  }
  Status check_change(std::string_view key) const {
    if (!writable_) return read_only_error(url_);
    return check_key(key);
  }

  /// Looks and writes with nobody in between.
  Status put(std::string_view key, Bytes bytes, const WriteCondition& condition) {
    static std::atomic<std::uint64_t> versions{1};
    auto fresh = std::make_shared<const Value>(Value{std::move(bytes), versions++});
    const std::unique_lock lock(objects_->mutex);
    const auto it = objects_->by_key.find(key);
    const std::uint64_t now = it == objects_->by_key.end() ? 0 : it->second->version;
    if (condition.kind == WriteCondition::Kind::absent && now != 0) return changed_error(*this, key, kStandsAlready);
    if (condition.kind == WriteCondition::Kind::version) {
      if (!condition.version.known()) return changed_error(*this, key, kVersionUnknown);
      if (now == 0 || now != condition.version.number) return changed_error(*this, key, kReplaced);
    }
    objects_->by_key.insert_or_assign(std::string(key), std::move(fresh));
    return {};
  }

  /// Bytes that become the object as they are.
  class Writer final : public CheckedWriter {
   public:
    Writer(MemoryStore& store, std::string key)
        : CheckedWriter(join_key(store.url_, key)), store_(store), key_(std::move(key)) {}

   protected:
    Status put(std::uint64_t offset_bytes, ByteView bytes) override {
      const std::scoped_lock lock(mutex_);
      const std::uint64_t before = bytes_.size(), end = offset_bytes + bytes.size();
      if (end > before) {
        PENSTOCK_TRY_IN(bytes_.resize(end), where_);
        if (offset_bytes > before) std::memset(bytes_.data() + before, 0, offset_bytes - before);
      }
      std::memcpy(bytes_.data() + offset_bytes, bytes.data(), bytes.size());
      return {};
    }
    Status finish(const WriteCondition& condition, const CancelToken&) override {
      return store_.put(key_, std::move(bytes_), condition);
    }

   private:
    MemoryStore& store_;
    const std::string key_;
    std::mutex mutex_;
    Bytes bytes_;
  };

  std::shared_ptr<Objects> objects_;
  std::string url_;
  bool writable_;
};

/// The named stores.  Held for the life of the process: a name that somebody wrote to can be opened again later.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Objects>> by_name;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

Result<std::shared_ptr<Store>> open_memory_store(const std::string& name, StoreMode mode) {
  const std::string url = "memory://" + name;
  std::shared_ptr<Objects> objects;
  if (name.empty()) {
    objects = std::make_shared<Objects>();
  } else {
    Registry& names = registry();
    const std::scoped_lock lock(names.mutex);
    if (const auto it = names.by_name.find(name); it != names.by_name.end()) objects = it->second;
    if (objects == nullptr && mode == StoreMode::create) objects = names.by_name[name] = std::make_shared<Objects>();
  }
  if (objects == nullptr)
    return Error(ErrorCode::not_found, url + ": no memory store of this name has been created in this process");
  return std::shared_ptr<Store>(std::make_shared<MemoryStore>(std::move(objects), url, mode != StoreMode::read));
}

}  // namespace penstock
