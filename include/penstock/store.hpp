// Stores: bytes by key and range.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/bytes.hpp"
#include "penstock/error.hpp"
#include "penstock/fetch.hpp"
#include "penstock/store_options.hpp"

namespace penstock {

/// An entry of a listing.
struct StoreEntry {
  std::string name;  ///< relative to the listed prefix, no trailing '/'
  bool is_prefix = false;
};

/// Names of objects: "a/b/c", relative, '/' between parts, no empty part, no "." or "..".
/// Errors: invalid_argument naming the key.
PENSTOCK_API Status check_key(std::string_view key);

/// Keeps an object for one writer until it is destroyed, on any thread.
class ObjectLock {
 public:
  virtual ~ObjectLock() = default;
};

/// What an object is locked for: `change`: it is read, changed in part and written; `replace`: it is written whole.
enum class LockUse : std::uint8_t { change, replace };

/// What must stand under a key for a write to be carried out.
struct PENSTOCK_API WriteCondition {
  /// What it asks for.
  enum class Kind : std::uint8_t {
    any,      ///< whatever stands there
    absent,   ///< nothing
    version,  ///< `version`, and one that is not known() is not "any": it is refused
  };
  Kind kind = Kind::any;
  ObjectVersion version;

  /// One of each kind.
  static WriteCondition any() { return {}; }
  static WriteCondition absent() { return {Kind::absent, {}}; }
  static WriteCondition same_as(ObjectVersion version) { return {Kind::version, std::move(version)}; }
};

/// An object that is made bit by bit, too large for memory or not known in order.  It appears under its key, whole,
/// when commit() returns; dropped before that, or with its process, it never was.  For one thread at a time.
class PENSTOCK_API ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  /// Bytes so far, up to the highest one written.
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  /// Overwrites, or goes beyond the end; bytes that were never written are zero.  Errors: no_space, io_error, closed.
  [[nodiscard]] virtual Status write_at(std::uint64_t offset_bytes, ByteView bytes) = 0;
  /// Behind the end.  Errors: as write_at.
  [[nodiscard]] Status append(ByteView bytes) { return write_at(size_bytes(), bytes); }
  /// The object stands.  Whatever comes of it, the writer is closed.  Errors: changed; those of Store::set.
  [[nodiscard]] virtual Status commit(const WriteCondition& condition, const CancelToken& cancel) = 0;
  [[nodiscard]] Status commit() { return commit(WriteCondition::any(), CancelToken()); }
};

/// Objects by key.  All members are thread-safe.  A missing key is a value (nullptr, false), not an error.
class PENSTOCK_API Store {
 public:
  virtual ~Store() = default;
  /// How a person writes it: a path, "memory://", "file.zip".  Without secrets (redacted).
  [[nodiscard]] virtual std::string url() const = 0;
  /// Path that the bytes take, for the report: "file, buffered".
  [[nodiscard]] virtual std::string path_taken() const = 0;
  [[nodiscard]] virtual bool writable() const = 0;

  /// Carries out `requests` and tells `sink` of each.  A store whose requests each occupy a thread (traits) is done
  /// when this returns; another returns at once and answers from threads of its own.
  virtual void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const = 0;
  /// A whole object into `out` (its memory is reused).  false when the key is absent.
  [[nodiscard]] Result<bool> get(std::string_view key, Bytes& out) const;
  [[nodiscard]] virtual Result<bool> exists(std::string_view key) const;
  /// Of an object; nullopt when the key is absent.  Errors: unsupported (the store does not tell).
  [[nodiscard]] Result<std::optional<std::uint64_t>> size_bytes(std::string_view key) const;
  /// Whether what stands under the key is this version; false when nobody can tell.
  [[nodiscard]] virtual Result<bool> is_current(std::string_view key, const ObjectVersion& version) const;
  /// Reads all of an object and compares it with the checksum that the store keeps of it (zip: crc32); a store that
  /// keeps none has nothing to do.  Errors: corrupt_data, io_error.
  [[nodiscard]] virtual Status check(std::string_view /*key*/) const { return {}; }
  /// What the store is good at for this object; asked without a request.
  [[nodiscard]] virtual StoreTraits traits(std::string_view key) const;

  /// Entries directly below `prefix` ("" = the root; no trailing '/'), sorted by name.  An absent prefix gives none.
  [[nodiscard]] virtual Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const = 0;
  /// All keys below `prefix`, full keys, sorted.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(std::string_view prefix) const;

  /// Writes an object; readers see the old or the new one, never a part.  Errors: no_space, permission_denied,
  /// io_error, unsupported (read-only store).
  [[nodiscard]] virtual Status set(std::string_view key, ByteView value) = 0;
  /// As set, with the object given in parts that are written one after the other (no copy in between where the store
  /// can).
  [[nodiscard]] virtual Status set_parts(std::string_view key, std::span<const ByteView> parts);
  /// As set_parts, if `condition` holds, else the error `changed` and nothing is written.  No other write that has a
  /// condition or holds the object's lock can come between the look and the write (memory, zip: no write at all).
  /// Takes the lock itself: not for a thread that holds one.  `cancel` ends the wait for it.
  [[nodiscard]] virtual Status set_if(std::string_view key, std::span<const ByteView> parts,
                                      const WriteCondition& condition, const CancelToken& cancel);
  /// Begins an object that is written bit by bit.  By default it is kept in a temporary file without a name (in
  /// $TMPDIR) and goes through memory once, in commit().  The store must outlive it.  Errors: as set.
  [[nodiscard]] virtual Result<std::unique_ptr<ObjectWriter>> writer(std::string_view key);
  /// Removes an object; absent is fine.
  [[nodiscard]] virtual Status erase(std::string_view key) = 0;
  /// Removes all keys below `prefix` (and an object of that very name).
  [[nodiscard]] virtual Status erase_prefix(std::string_view prefix);
  /// What handles of the same objects share, for locks of the process: those whose identity is equal exclude each
  /// other.
  [[nodiscard]] virtual std::string identity() const;
  /// Waits until no other handle or thread of the process (file: nor another process) holds the object.  A thread must
  /// hold no lock but of deeper nodes' documents.  `check` is asked while it waits; its error ends the wait.
  [[nodiscard]] virtual Result<std::unique_ptr<ObjectLock>> lock(std::string_view key, LockUse use,
                                                                 const std::function<Status()>& check) const;
  /// Completes what was written (zip: the central directory) and, unless opened with Durable::none, has it on the disk.
  /// The destructor does not: no writer that was killed or dropped leaves a container that looks finished.
  [[nodiscard]] virtual Status flush() { return {}; }
  /// Whether something was written that only a flush makes visible.
  [[nodiscard]] virtual bool unsaved() const { return false; }
  /// With Durable::all: has on the disk what was written until now.  Every write of an array ends with it.
  [[nodiscard]] virtual Status sync() { return {}; }
  /// Removes the temporary files of killed writers below `prefix`, never one that a living writer holds.  Gives their
  /// paths.  Errors: as erase_prefix.
  [[nodiscard]] virtual Result<std::vector<std::string>> remove_litter(std::string_view) {
    return std::vector<std::string>();
  }
  /// How it was opened, to open another in the same way.
  [[nodiscard]] virtual StoreOptions options() const { return {}; }
};

/// Who may write.
enum class StoreMode : std::uint8_t { read, read_write, create };

/// Opens the store of a path or URL: a directory, "*.zip" (or a zip by content), "memory://name", "file://...".
/// create: makes the directory or archive if absent.  Errors: not_found, unsupported (unknown scheme, by name;
/// Links::inside where the system cannot keep to it), invalid_argument (an option that this kind of store does not
/// have).
PENSTOCK_API Result<std::shared_ptr<Store>> open_store(const std::string& url, StoreMode mode,
                                                       const StoreOptions& options = {});

}  // namespace penstock
