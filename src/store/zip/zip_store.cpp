#include "store/zip/zip_store.hpp"

#include <cstring>
#include <filesystem>
#include <mutex>
#include <shared_mutex>

#include "store/blocking_store.hpp"
#include "store/condition.hpp"
#include "store/file/to_disk.hpp"
#include "store/file/walk.hpp"
#include "store/key.hpp"
#include "store/object_writer.hpp"
#include "store/sorted_keys.hpp"
#include "store/zip/directory.hpp"
#include "store/zip/writer.hpp"

namespace penstock {
namespace {

using zip::FileSource;
using zip::Member;
using zip::Members;

/// A member with the archive that it is in.
struct Found {
  std::shared_ptr<const FileSource> source;
  Member member;
};

/// A member of an archive, at the place that its local header gave.
class ZipObject : public Object {
 public:
  ZipObject(Found found, std::string name, std::uint64_t data_offset)
      : found_(std::move(found)), name_(std::move(name)), data_offset_(data_offset) {}
  std::uint64_t size_bytes() const final { return found_.member.size_bytes; }
  std::uint64_t version() const final { return found_.member.version; }

 protected:
  bool holds(std::uint64_t offset_bytes, std::uint64_t count) const {
    return offset_bytes <= size_bytes() && count <= size_bytes() - offset_bytes;
  }
  std::string text() const { return zip::member_text(*found_.source, name_); }
  Error past_the_end(std::uint64_t offset_bytes, std::uint64_t count) const {
    return {ErrorCode::corrupt_data, text() + " has " + std::to_string(size_bytes()) + " bytes, wanted " +
                                         std::to_string(count) + " bytes from byte " + std::to_string(offset_bytes)};
  }

  const Found found_;
  const std::string name_;
  const std::uint64_t data_offset_;
};

/// A stored member: ranges are read where they lie.  Its checksum is verified when all of it is read at
/// once, and by check().
class StoredObject final : public ZipObject {
 public:
  using ZipObject::ZipObject;
  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    if (!holds(offset_bytes, into.size())) return past_the_end(offset_bytes, into.size());
    PENSTOCK_TRY_IN(found_.source->read(data_offset_ + offset_bytes, into), text());
    if (into.size() < size_bytes()) return {};
    PENSTOCK_TRY_IN(zip::check_crc(found_.member, into), text());
    return {};
  }
  Status check() const override {
    PENSTOCK_TRY_IN(zip::check_stored(*found_.source, found_.member, data_offset_), text());
    return {};
  }
};

/// A deflated member: decoded once, when the first byte is wanted.
class DeflatedObject final : public ZipObject {
 public:
  using ZipObject::ZipObject;
  Status check() const override { return decode(); }
  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    if (!holds(offset_bytes, into.size())) return past_the_end(offset_bytes, into.size());
    PENSTOCK_TRY(decode());
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset_bytes, into.size());
    return {};
  }
  std::optional<ByteView> view(std::uint64_t offset_bytes, std::uint64_t count) const override {
    if (!holds(offset_bytes, count) || !decode()) return std::nullopt;
    return bytes_.view().subspan(offset_bytes, count);
  }

 private:
  Status decode() const {
    const std::scoped_lock lock(mutex_);
    if (decoded_) return {};
    PENSTOCK_TRY(zip::read_member(*found_.source, name_, found_.member, data_offset_, bytes_));
    decoded_ = true;
    return {};
  }

  mutable std::mutex mutex_;
  mutable bool decoded_ = false;
  mutable Bytes bytes_;
};

/// An archive is never changed in its place: a killed writer would leave one without a central directory.  The first
/// change after opening or flush() begins a new file, with the living members copied (what was replaced is dropped);
/// flush() writes its directory and renames.  So many changes want few flushes.
class ZipStore final : public BlockingStore {
 public:
  ZipStore(std::string url, std::string path, bool writable, Durable durable)
      : url_(std::move(url)), path_(std::move(path)), writable_(writable), durable_(durable) {}

  Status load() {
    PENSTOCK_ASSIGN(source_, zip::open_source(path_));
    PENSTOCK_ASSIGN(members_, zip::read_directory(*source_));
    // Packed with a directory in which writers were killed.
    std::erase_if(members_, [](const auto& m) { return is_temporary_name(m.first.substr(m.first.rfind('/') + 1)); });
    return {};
  }
  Status begin_empty() {
    const std::unique_lock session(session_);
    return begin();
  }

  std::string url() const override { return url_; }
  std::string path_taken() const override { return "zip, buffered"; }
  bool writable() const override { return writable_; }
  std::string identity() const override { return "zip:" + path_; }

  Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    auto found = find(key);
    if (!found) return std::unique_ptr<Object>();
    PENSTOCK_ASSIGN(const std::uint64_t data, zip::find_data(*found->source, key, found->member));
    const bool stored = found->member.method == zip::kStored;
    if (stored) return std::unique_ptr<Object>(new StoredObject(*std::move(found), std::string(key), data));
    return std::unique_ptr<Object>(new DeflatedObject(*std::move(found), std::string(key), data));
  }

  Result<bool> exists(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    return find(key).has_value();
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    const std::shared_lock lock(mutex_);
    return list_dir_of(members_, prefix);
  }
  Result<std::vector<std::string>> list(std::string_view prefix) const override {
    PENSTOCK_TRY(check_prefix(prefix));
    const std::shared_lock lock(mutex_);
    return list_of(members_, prefix);
  }

  StoreTraits traits(std::string_view key) const override {
    StoreTraits traits;
    const auto found = find(key);
    traits.reason =
        found && found->member.method == zip::kDeflated
            ? "a deflated member: decoded as a whole, once for all requests of a call"
            : "stored members of a local archive: read where they lie; a gap costs more to read than to skip";
    return traits;
  }

  Status set(std::string_view key, ByteView value) override { return set_parts(key, {&value, 1}); }
  Status set_parts(std::string_view key, std::span<const ByteView> parts) override {
    return set_if(key, parts, WriteCondition::any(), CancelToken());
  }
  Status set_if(std::string_view key, std::span<const ByteView> parts, const WriteCondition& condition,
                const CancelToken&) override {
    PENSTOCK_TRY(check_change(key));
    return change([&]() -> Status {
      PENSTOCK_TRY(holds(key, condition));  // before it costs room in the archive
      PENSTOCK_ASSIGN(const Member member, writer_->append(key, parts));
      return put(key, member, condition);
    });
  }
  Result<std::unique_ptr<ObjectWriter>> writer(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    const std::string directory = path_.substr(0, path_.rfind('/') + 1);
    PENSTOCK_ASSIGN(FileDescriptor fd, make_nameless_file(directory));
    return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, std::string(key), std::move(fd)));
  }
  Status erase(std::string_view key) override {
    PENSTOCK_TRY(check_change(key));
    if (!find(key)) return {};
    return change([&]() -> Status {
      const std::unique_lock lock(mutex_);
      if (const auto it = members_.find(key); it != members_.end()) members_.erase(it);
      return {};
    });
  }
  Status erase_prefix(std::string_view prefix) override {
    if (!writable_) return read_only_error(url_);
    PENSTOCK_TRY(check_prefix(prefix));
    return change([&]() -> Status {
      const std::unique_lock lock(mutex_);
      (void)erase_from(members_, prefix);
      return {};
    });
  }

  bool unsaved() const override {
    const std::shared_lock session(session_);
    return writer_ != nullptr;
  }

  Status flush() override {
    const std::unique_lock session(session_);
    if (writer_ == nullptr) return {};
    if (replaced_ != nullptr) {
      PENSTOCK_ASSIGN(const bool still_named, replaced_->still_named());
      if (!still_named)
        return Error(ErrorCode::already_exists, url_ + ": the archive was replaced while changes to it were under way")
            .set_hint("Write an archive through one handle; what this one wrote is not in it.");
    }
    const Status finished = writer_->finish(members_, replaced_.get(), durable_);
    if (!finished && !writer_->finished()) return finished;
    writer_.reset();
    replaced_.reset();
    return finished;
  }

  Result<std::vector<std::string>> remove_litter(std::string_view) override {
    if (!writable_) return read_only_error(url_);
    const std::unique_lock session(session_);
    std::vector<std::string> removed;
    if (writer_ != nullptr) return removed;  // the file is ours
    PENSTOCK_ASSIGN(const std::optional<std::string> left, zip::Writer::remove_left_behind(path_));
    if (left) removed.push_back(*left);
    return removed;
  }

  StoreOptions options() const override { return {durable_, std::nullopt, {}}; }

 private:
  std::optional<Found> find(std::string_view key) const {
    const std::shared_lock lock(mutex_);
    const auto it = members_.find(key);
    if (it == members_.end()) return std::nullopt;
    return Found{source_, it->second};
  }
  Status check_change(std::string_view key) const {
    if (!writable_) return read_only_error(url_);
    return check_key(key);
  }

  Status holds(std::string_view key, const WriteCondition& condition) const {
    const std::shared_lock lock(mutex_);
    return holds_now(key, condition);
  }
  /// Called with mutex_ held.
  Status holds_now(std::string_view key, const WriteCondition& condition) const {
    const auto it = members_.find(key);
    const bool stands = it != members_.end();
    if (condition.kind == WriteCondition::Kind::absent && stands) return changed_error(*this, key, kStandsAlready);
    if (condition.kind != WriteCondition::Kind::version) return {};
    if (!condition.version.known()) return changed_error(*this, key, kVersionUnknown);
    if (!stands || it->second.version != condition.version.number) return changed_error(*this, key, kReplaced);
    return {};
  }
  /// Looks once more and makes the member the object of the key, with nobody in between.
  Status put(std::string_view key, const Member& member, const WriteCondition& condition) {
    const std::unique_lock lock(mutex_);
    PENSTOCK_TRY(holds_now(key, condition));
    members_.insert_or_assign(std::string(key), member);
    return {};
  }

  /// A file beside the archive, which is copied into it.
  class Writer final : public SpoolWriter {
   public:
    Writer(ZipStore& store, std::string key, FileDescriptor fd)
        : SpoolWriter(join_key(store.url_, key), std::move(fd)), store_(store), key_(std::move(key)) {}

   protected:
    Status finish(const WriteCondition& condition, const CancelToken& cancel) override {
      return store_.change([&]() -> Status {
        PENSTOCK_TRY(store_.holds(key_, condition));
        PENSTOCK_ASSIGN(const Member member,
                        store_.writer_->append_file(key_, fd_.get(), size_bytes(), not_cancelled(cancel)));
        return store_.put(key_, member, condition);
      });
    }

   private:
    ZipStore& store_;
    const std::string key_;
  };

  /// Runs a change while a new file is under construction, beside other changes but not beside flush().
  template <class Change>
  Status change(const Change& apply) {
    for (;;) {
      {
        const std::shared_lock session(session_);
        if (writer_ != nullptr) return apply();
      }
      const std::unique_lock session(session_);
      if (writer_ == nullptr) PENSTOCK_TRY(begin());
    }
  }

  /// Called with session_ held alone.
  Status begin() {
    PENSTOCK_ASSIGN(std::unique_ptr<zip::Writer> writer, zip::Writer::begin(path_));
    Members members;
    if (source_ != nullptr) {
      PENSTOCK_ASSIGN(const bool still_named, source_->still_named());
      if (!still_named)
        return Error(ErrorCode::already_exists, url_ + ": the archive was replaced since it was opened; open it again");
      {
        const std::shared_lock lock(mutex_);
        members = members_;
      }
      PENSTOCK_TRY(writer->copy_from(*source_, members));
    }
    const std::unique_lock lock(mutex_);
    members_ = std::move(members);
    replaced_ = std::exchange(source_, writer->source());
    writer_ = std::move(writer);
    return {};
  }

  const std::string url_, path_;
  const bool writable_;
  const Durable durable_;
  mutable std::shared_mutex session_;  // held alone while writer_ comes or goes; taken before mutex_
  std::unique_ptr<zip::Writer> writer_;
  std::shared_ptr<const FileSource> replaced_;  // the archive that the next flush() takes the name from
  mutable std::shared_mutex mutex_;             // guards the two below
  std::shared_ptr<const FileSource> source_;
  Members members_;
};

bool has_zip_name(const std::string& path) { return path.ends_with(".zip") || path.ends_with(".ozx"); }

}  // namespace

bool is_zip_path(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status)) return has_zip_name(path);
  if (!std::filesystem::is_regular_file(status)) return false;
  return has_zip_name(path) || zip::begins_as_archive(path);
}

Result<std::shared_ptr<Store>> open_zip_store(const std::string& path, StoreMode mode, Durable durable) {
  namespace fs = std::filesystem;
  std::error_code error;
  // The archive stays the same when the process changes its directory, and a link to it is followed, not replaced.
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return errno_error(error.value(), path);
  auto store = std::make_shared<ZipStore>(path, whole.string(), mode != StoreMode::read, durable);
  if (mode == StoreMode::create && !fs::exists(whole, error)) {
    PENSTOCK_TRY(make_directories(whole.parent_path().string(), durable));
    PENSTOCK_TRY(store->begin_empty());
  } else {
    PENSTOCK_TRY(store->load());
  }
  return std::shared_ptr<Store>(std::move(store));
}

}  // namespace penstock
