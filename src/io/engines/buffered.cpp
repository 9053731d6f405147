// Through the page cache.
#include <array>

#include "io/engine.hpp"

namespace penstock::io {
namespace {

std::string unasked(const OpenFile&) { return {}; }

Offer offer(OpenFile&) { return {true, "every file can be read through the page cache"}; }

Result<ByteView> read(OpenFile& file, const Offer&, std::uint64_t offset, std::uint64_t bytes, ByteSpan room) {
  const ByteSpan into = room.first(bytes);
  Status status = read_at(file.fd.get(), offset, into, file.path);
  if (status) return ByteView(into);
  // A file has no format that its end could break: it is the call that asked for too much.
  if (status.error().code() == ErrorCode::corrupt_data) return Error(ErrorCode::io_error, status.error().message());
  return std::move(status).error();
}

Status write(OpenFile& file, const Offer&, std::uint64_t offset, ByteView from, ByteSpan) {
  const std::array parts{from};
  return write_at(file.fd.get(), offset, parts, file.path);
}

}  // namespace

const Engine& buffered_engine() {
  // The slots of all threads together should stay in the processor's cache between the copy out of the page cache and
  // the bus: memory then carries each byte once, not three times.
  constexpr std::uint64_t kDevicePiece = std::uint64_t{1} << 20;
  static constexpr Engine engine{IoEngine::buffered, "buffered", 1, kDevicePiece, unasked, offer, read, write};
  return engine;
}

}  // namespace penstock::io
