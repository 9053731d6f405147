#include "exec/staging.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint64_t kMinPieceBytes = std::uint64_t{1} << 18;

Result<std::optional<Slab>> take(PinnedRing& ring, FirstStaging& first, std::uint64_t bytes,
                                 const CancelToken& cancel) {
  if (!first.there) {
    const std::scoped_lock lock(first.mutex);
    if (!first.there) {
      PENSTOCK_ASSIGN(Slab slab, ring.acquire(bytes, cancel));
      first.there = true;
      return std::optional(std::move(slab));
    }
  }
  return ring.try_acquire(bytes);
}

}  // namespace

StagingBuffers::~StagingBuffers() {
  for (const auto& event : sent_)
    if (event) (void)event->synchronize();  // an error of the device reaches whoever waits for the read's result
}

Result<bool> StagingBuffers::start(PinnedRing& ring, FirstStaging& first, std::uint64_t workers,
                                   const CancelToken& cancel) {
  if (started()) return true;
  // Half of the ring for one read, so that a second one need not wait for it.
  const std::uint64_t capacity = ring.capacity_bytes();
  const std::uint64_t share = capacity / (2 * kStagingBuffers * std::max<std::uint64_t>(workers, 1)) / 4096 * 4096;
  const std::uint64_t least = std::clamp<std::uint64_t>(capacity / kStagingBuffers, 1, kMinPieceBytes);
  std::uint64_t bytes = std::clamp(share, least, kStagingBytes);
  if (bytes > kAlign) bytes = bytes / kAlign * kAlign;  // every piece begins at a multiple
  PENSTOCK_ASSIGN(std::optional<Slab> slab, take(ring, first, kStagingBuffers * bytes, cancel));
  if (!slab) return false;
  slab_ = *std::move(slab);
  bytes_ = bytes;
  return true;
}

Result<ByteSpan> StagingBuffers::room(std::uint64_t bytes) {
  if (filled_ + bytes > bytes_) return ByteSpan();
  if (std::optional<Event>& event = sent_[turn_]) {
    const auto start = std::chrono::steady_clock::now();
    PENSTOCK_TRY(event->synchronize());
    waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    event.reset();
  }
  return ByteSpan(slab_.data() + turn_ * bytes_ + filled_, bytes);
}

Status StagingBuffers::send(std::byte* to, const Stream& stream) {
  const std::byte* const from = slab_.data() + turn_ * bytes_;
  return release_after(copy_async(to, stream.device(), from, {}, filled_, stream), stream);
}

Status StagingBuffers::release_after(Status started, const Stream& stream) {
  filled_ = 0;
  auto sent = started ? Event::record(stream) : Result<Event>(std::move(started).error());
  if (!sent) {  // some of the work may have been started all the same
    PENSTOCK_TRY(stream.synchronize());
    return std::move(sent).error();
  }
  sent_[turn_] = *std::move(sent);
  turn_ = (turn_ + 1) % kStagingBuffers;
  return {};
}

Status StagingBuffers::send_all(ByteView bytes, std::byte* to, const Stream& stream) {
  Status copied;
  return send_fetched(
      bytes.size(), to, stream,
      [&](std::uint64_t at, ByteSpan into) -> Status {
        std::memcpy(into.data(), bytes.data() + at, into.size());
        return {};
      },
      copied);
}

}  // namespace penstock
