// What stores have in common that wait in the thread of whoever asks: they open objects, and fetch by way of those.
#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "penstock/store.hpp"

namespace penstock {

/// One object, opened: reads see one version of it even when the key is replaced meanwhile.  Thread-safe.
class Object : public ObjectPin {
 public:
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  /// Fills `into` from `offset_bytes`.  Errors: corrupt_data when the object ends before, io_error.
  [[nodiscard]] virtual Status read(std::uint64_t offset_bytes, ByteSpan into) const = 0;
  /// ObjectVersion::number (file: of inode, times and size).
  [[nodiscard]] virtual std::uint64_t version() const { return 0; }
  /// Whether it is that version; false when nobody can tell.
  [[nodiscard]] virtual bool is_version(const ObjectVersion& version) const {
    return version.number != 0 && version.number == this->version();
  }
  /// As Store::check.
  [[nodiscard]] virtual Status check() const { return {}; }
  /// The bytes without a copy where the store has them in memory already, else nullopt.  Valid while the Object lives.
  [[nodiscard]] virtual std::optional<ByteView> view(std::uint64_t /*offset_bytes*/, std::uint64_t /*count*/) const {
    return std::nullopt;
  }
};

class BlockingStore : public Store {
 public:
  /// Opens an object; nullptr when the key is absent.  Errors: is_directory, permission_denied, io_error.
  [[nodiscard]] virtual Result<std::unique_ptr<Object>> open(std::string_view key) const = 0;

  /// Requests of one object follow each other, so that it is opened once for them.
  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const override;
  [[nodiscard]] Result<bool> is_current(std::string_view key, const ObjectVersion& version) const override;
  [[nodiscard]] Status check(std::string_view key) const override;
};

}  // namespace penstock
