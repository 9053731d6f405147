#include "io/load.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

#include "core/guard.hpp"

namespace penstock::io {
namespace {

constexpr std::uint64_t kBlock = 4096;  // slabs begin at a multiple
constexpr std::uint64_t kLine = 64;

std::uint64_t up(std::uint64_t value, std::uint64_t align) { return (value + align - 1) / align * align; }

const std::byte* end_of(const void* begin, std::uint64_t bytes) { return static_cast<const std::byte*>(begin) + bytes; }

/// The allocation of a device that was asked for last.  Neighbours of another request may be memory of their own, and
/// no copy spans two.
class Allocation {
 public:
  explicit Allocation(Backend& backend) : backend_(backend) {}
  /// Whether it reaches from `begin` to the end of the piece.
  bool has(int index, const void* begin, const Piece& piece) {
    if (!holds(piece.memory) || !holds(piece.memory + piece.bytes - 1)) {
      const Result<ByteView> found = backend_.allocation_of(index, piece.memory);
      known_ = found ? *found : ByteView();
    }
    return holds(begin) && holds(piece.memory + piece.bytes - 1);
  }

 private:
  [[nodiscard]] bool holds(const void* address) const {
    const std::less<> before;
    return !before(address, known_.data()) && before(address, end_of(known_.data(), known_.size()));
  }
  Backend& backend_;
  ByteView known_;
};

/// What is moved in whole blocks lies in the slab as far behind one as in the file.
std::uint64_t block_of(const Offer& offer) {
  return offer.offset_align == 1 ? 1 : std::max(offer.offset_align, kBlock);
}

}  // namespace

std::uint64_t slack_bytes_of(const Offer& offer) { return 2 * std::max(block_of(offer), kLine); }

Result<std::uint64_t> slab_bytes_of(Device::Type type) {
  // The ring of a kind of device is made once: no request after the first one asks for its settings.
  static std::array<std::atomic<std::uint64_t>, 2> known{};  // by Device::Type
  std::atomic<std::uint64_t>& bytes = known.at(static_cast<std::size_t>(type));
  if (bytes != 0) return bytes.load();
  PENSTOCK_ASSIGN(const auto ring, shared_pinned_ring(type));
  // Half of the ring, so that readers of arrays need not wait for it.
  const std::uint64_t share = ring->capacity_bytes() / (2 * kLoads) / kBlock * kBlock;
  bytes = std::clamp(share, std::min(4 * kBlock, ring->capacity_bytes()), kSlabBytes);
  return bytes.load();
}

/// Where the next piece would lie.  Right behind the last one of its request, where the engine can put it there: what
/// lies so on the device, too, is one copy.
std::uint64_t Load::place(const Request& request) const {
  const std::uint64_t block = block_of(request.order().choice.offer);
  const std::uint64_t behind = request.next_offset() % block;
  if (!parts.empty() && behind == 0) {
    const Part& last = parts.back();
    const bool goes_on = block == 1 || last.piece.offset + last.piece.bytes == request.next_offset();
    if (last.piece.request.get() == &request && goes_on) return last.at + last.piece.bytes;
  }
  return up(filled, std::max(block, kLine)) + behind;
}

bool Load::takes(const Request& request) const {
  if (closed || parts.size() == kMaxParts) return false;
  // One that comes from a disk lets those from the page cache wait.
  if (!parts.empty() && parts.back().piece.request->order().choice.engine != request.order().choice.engine)
    return false;
  const std::uint64_t end = place(request) + request.next_bytes();
  return up(end, block_of(request.order().choice.offer)) <= slab.size();
}

Part& Load::add(const std::shared_ptr<Request>& request) {
  const std::uint64_t at = place(*request);
  parts.push_back({request->claim(request), at, {}, 0});
  Part& part = parts.back();
  filled = up(at + part.piece.bytes, block_of(request->order().choice.offer));
  return part;
}

ByteSpan Load::room_of(const Part& part) const {
  const Offer& offer = part.piece.request->order().choice.offer;
  const std::uint64_t begin = part.at - part.piece.offset % offer.offset_align;
  return {slab.data() + begin, up(part.at + part.piece.bytes, block_of(offer)) - begin};
}

std::span<const Copy> Load::copies(Direction direction, Backend& backend, std::span<Copy> room) const {
  const bool up = direction == Direction::read;
  std::size_t count = 0;
  const Request* whose = nullptr;
  Allocation allocation(backend);
  for (const Part& part : parts) {
    if (!part.status) continue;
    std::byte* const here = slab.data() + part.at;
    std::byte* const device = part.piece.memory;
    Copy* const last = count > 0 ? &room[count - 1] : nullptr;
    const Request* const owner = part.piece.request.get();
    if (last != nullptr && end_of(up ? last->from : last->to, last->bytes) == here &&
        end_of(up ? last->to : last->from, last->bytes) == device &&
        (whose == owner || allocation.has(owner->order().device.index, up ? last->to : last->from, part.piece)))
      last->bytes += part.piece.bytes;
    else
      room[count++] = {up ? device : here, up ? here : device, part.piece.bytes};
    whose = owner;
  }
  return room.first(count);
}

void Load::fail(const Status& status) {
  for (Part& part : parts)
    if (part.status) part.status = guarded([&]() -> Status { return status; });
}

void Load::empty() {
  parts.clear();
  filled = 0;
  moving = next = 0;
  closed = false;
  there.reset();
}

}  // namespace penstock::io
