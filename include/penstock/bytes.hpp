// Host bytes: an owned, uninitialised, 64-byte aligned buffer that is reused from chunk to chunk, and an arena of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Bytes in memory of somebody else, to read (ByteView) or to write (ByteSpan).
using ByteView = std::span<const std::byte>;
using ByteSpan = std::span<std::byte>;

/// The bytes of a text, not copied.
inline ByteView as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
/// The text of bytes, not copied.
inline std::string_view as_text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Owned host memory, 64-byte aligned, not initialised when it grows.  Capacity counts towards `host_bytes_in_use`.
class PENSTOCK_API Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&& other) noexcept;
  Bytes& operator=(Bytes&& other) noexcept;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes();

  /// Makes the size `bytes`.  What was there is kept up to the smaller size; new bytes are not initialised.
  /// Errors: out_of_memory.
  [[nodiscard]] Status resize(std::uint64_t bytes);
  /// As resize, but the old content may be lost (no copy).
  [[nodiscard]] Status resize_discard(std::uint64_t bytes);
  /// Puts `more` behind the content.  Errors: out_of_memory.
  [[nodiscard]] Status append(ByteView more);
  void clear() { size_ = 0; }
  /// Gives the memory back.
  void release();

  /// The memory: valid until the size changes.
  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] ByteView view() const { return {data_, size_}; }
  [[nodiscard]] ByteSpan span() { return {data_, size_}; }
  operator ByteView() const { return view(); }  // NOLINT(google-explicit-constructor)

  /// A copy of the bytes or of the text.  Errors: out_of_memory.
  static Result<Bytes> copy_of(ByteView bytes);
  static Result<Bytes> copy_of(std::string_view text) { return copy_of(as_bytes(text)); }

 private:
  Status reallocate(std::uint64_t capacity, bool keep);
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Bytes held now by all live `Bytes` of the process, and the highest value since the last reset.
PENSTOCK_API std::uint64_t host_bytes_in_use();
PENSTOCK_API std::uint64_t host_bytes_peak();
PENSTOCK_API void reset_host_bytes_peak();

/// Memory of variable-length elements: blocks live as long as the arena.  Thread-safe.
class PENSTOCK_API Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// Takes the block over; the returned view stays valid until the arena dies.
  ByteView keep(Bytes block);

 private:
  std::mutex mutex_;
  std::vector<Bytes> blocks_;
};

/// One element of a variable-length data type in memory: points into an Arena (reading) or into the caller's memory
/// (writing).  16 bytes, copied as a plain value, so that strided placement is the same as for numbers.
struct VlenRef {
  const std::byte* data = nullptr;
  std::uint64_t size = 0;
};

}  // namespace penstock
