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

#include "penstock/bytes.hpp"
#include "penstock/error.hpp"
#include "penstock/store_options.hpp"

namespace penstock {

/// A part of an object, and where its bytes go.
struct ReadRange {
  std::uint64_t offset_bytes = 0;
  ByteSpan into;
};

/// One object, opened: reads see one version of it even when the key is replaced meanwhile.  Thread-safe.
class Object {
 public:
  virtual ~Object() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  /// Fills `into` from `offset_bytes`.  Errors: corrupt_data when the object ends before, io_error.
  [[nodiscard]] virtual Status read(std::uint64_t offset_bytes, ByteSpan into) const = 0;
  /// Fingerprint of this version: another value when the key was replaced (file: inode, time and size).  0: not known,
  /// so that nothing about the object may be kept for later.
  [[nodiscard]] virtual std::uint64_t version() const { return 0; }
  /// Many ranges at once; a store with latency has them all under way together.
  [[nodiscard]] virtual Status read_many(std::span<const ReadRange> ranges) const;
  /// The bytes without a copy where the store has them in memory already, else nullopt.  Valid while the Object lives.
  [[nodiscard]] virtual std::optional<ByteView> view(std::uint64_t offset_bytes, std::uint64_t count) const;
};

/// An entry of a listing.
struct StoreEntry {
  std::string name;  ///< relative to the listed prefix, no trailing '/'
  bool is_prefix = false;
};

/// Names of objects: "a/b/c", relative, '/' between parts, no empty part, no "." or "..".
/// Errors: invalid_argument naming the key.
Status check_key(std::string_view key);

/// Keeps an object for one writer until it is destroyed, on any thread.
class ObjectLock {
 public:
  virtual ~ObjectLock() = default;
};

/// What an object is locked for: `change`: it is read, changed in part and written; `replace`: it is written whole.
enum class LockUse : std::uint8_t { change, replace };

/// Objects by key.  All members are thread-safe.  A missing key is a value (nullptr, false), not an error.
class Store {
 public:
  virtual ~Store() = default;
  /// How a person writes it: a path, "memory://", "file.zip".
  [[nodiscard]] virtual std::string url() const = 0;
  /// Path that the bytes take, for the report: "file, buffered".
  [[nodiscard]] virtual std::string path_taken() const = 0;
  [[nodiscard]] virtual bool writable() const = 0;

  /// Opens an object; nullptr when the key is absent.  Errors: is_directory, permission_denied, io_error.
  [[nodiscard]] virtual Result<std::unique_ptr<Object>> open(std::string_view key) const = 0;
  /// A whole object into `out` (its memory is reused).  false when the key is absent.
  [[nodiscard]] virtual Result<bool> get(std::string_view key, Bytes& out) const;
  [[nodiscard]] virtual Result<bool> exists(std::string_view key) const;
  /// Last `count` bytes of an object (all of it when it is smaller).  false when the key is absent.
  [[nodiscard]] Result<bool> get_suffix(std::string_view key, std::uint64_t count, Bytes& out) const;

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
  /// Removes an object; absent is fine.
  [[nodiscard]] virtual Status erase(std::string_view key) = 0;
  /// Removes all keys below `prefix` (and an object of that very name).
  [[nodiscard]] virtual Status erase_prefix(std::string_view prefix);
  /// What handles of the same objects share, for locks of the process: those whose identity is equal exclude each
  /// other.
  [[nodiscard]] virtual std::string identity() const;
  /// Waits until no other handle or thread of the process (file: nor another process) holds the object.  A thread must
  /// hold no other lock.  `check` is asked while it waits; its error ends the wait.
  [[nodiscard]] virtual Result<std::unique_ptr<ObjectLock>> lock(std::string_view key, LockUse use,
                                                                 const std::function<Status()>& check) const;
  /// Completes what was written (zip: the central directory) and, unless opened with Durable::none, has it on the disk.
  /// The destructor does not: no writer that was killed or dropped leaves a container that looks finished.
  [[nodiscard]] virtual Status flush() { return {}; }
  /// With Durable::all: has on the disk what was written until now.  Every write of an array ends with it.
  [[nodiscard]] virtual Status sync() { return {}; }
  /// Removes the temporary files of killed writers below `prefix`, never one that a living writer holds.  Gives their
  /// paths.  Errors: as erase_prefix.
  [[nodiscard]] virtual Result<std::vector<std::string>> remove_litter(std::string_view) {
    return std::vector<std::string>();
  }
  /// How it was opened, to open another in the same way.
  [[nodiscard]] virtual StoreOptions options() const { return {}; }

  /// Ranges of one object closer together than this are read as one.
  [[nodiscard]] virtual std::uint64_t merge_gap_bytes() const { return 0; }
};

/// Who may write.
enum class StoreMode : std::uint8_t { read, read_write, create };

/// Opens the store of a path or URL: a directory, "*.zip" (or a zip by content), "memory://name", "file://...".
/// create: makes the directory or archive if absent.  Errors: not_found, unsupported (unknown scheme, by name;
/// Links::inside where the system cannot keep to it).
Result<std::shared_ptr<Store>> open_store(const std::string& url, StoreMode mode, const StoreOptions& options = {});

}  // namespace penstock
