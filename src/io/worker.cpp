#include "io/worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/guard.hpp"

namespace penstock::io {
namespace {

constexpr std::uint64_t kBlock = 4096;  // memory of our own begins at a multiple

std::uint64_t up(std::uint64_t value) { return (value + kBlock - 1) / kBlock * kBlock; }

}  // namespace

Result<std::uint64_t> staged_piece_bytes(Device::Type type, std::uint64_t threads) {
  PENSTOCK_ASSIGN(const auto ring, shared_pinned_ring(type));
  // Half of the ring, so that readers of arrays need not wait for it.
  const std::uint64_t share = ring->capacity_bytes() / (2 * kSlots * std::max<std::uint64_t>(threads, 1));
  const std::uint64_t bytes = share > kSlackBytes ? share - kSlackBytes : 0;
  return std::clamp(bytes / kBlock * kBlock, kBlock, kMaxStagedBytes);
}

void Worker::release() {
  for (Slot& slot : slots_) {
    if (slot.busy) (void)slot.busy->synchronize();
    slot.busy.reset();
  }
  slab_.release();
  bounce_.reset();
  bounce_bytes_ = 0;
}

void Worker::begin(Piece piece) {
  const auto start = std::chrono::steady_clock::now();
  Slot* on_bus = nullptr;
  Status status = guarded([&]() -> Status { return move(piece, on_bus); });
  Ended ended{std::move(piece), std::move(status),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  if (on_bus != nullptr)
    on_bus->waits = std::move(ended);
  else
    ended_ = std::move(ended);
}

std::optional<Ended> Worker::next_ended(bool wait) {
  if (ended_) return std::exchange(ended_, std::nullopt);
  Slot& slot = slots_[oldest_];
  if (!slot.waits) return std::nullopt;
  if (slot.busy) {
    if (!wait) {
      const Result<bool> there = slot.busy->done();
      if (there && !*there) return std::nullopt;
    }
    Status status = slot.busy->synchronize();
    slot.busy.reset();
    if (!status && slot.waits->status) slot.waits->status = std::move(status);
  }
  oldest_ = (oldest_ + 1) % kSlots;
  return std::exchange(slot.waits, std::nullopt);
}

Status Worker::move(const Piece& piece, Slot*& on_bus) {
  const Order& order = piece.request->order();
  const bool reading = order.direction == Direction::read;
  PENSTOCK_TRY(order.stop.check(reading ? "read" : "write"));
  if (order.device.type == Device::Type::cpu) return move_host(piece);
  return reading ? read_to_device(piece, on_bus) : write_from_device(piece);
}

Result<ByteSpan> Worker::bounce(std::uint64_t bytes) {
  const std::uint64_t all = up(bytes + kSlackBytes);
  if (all > bounce_bytes_) {
    bounce_.reset(static_cast<std::byte*>(std::aligned_alloc(kBlock, all)));
    bounce_bytes_ = bounce_ ? all : 0;
    if (!bounce_) return Error(ErrorCode::out_of_memory, "no memory for blocks of " + std::to_string(all) + " bytes");
  }
  return ByteSpan(bounce_.get(), bounce_bytes_);
}

Status Worker::move_host(const Piece& piece) {
  const auto& [engine, offer, why] = piece.request->order().choice;
  OpenFile& file = *piece.request->order().file;
  const ByteSpan memory(piece.memory(), piece.bytes);
  const bool is_aligned = piece.offset() % offer.offset_align == 0 && piece.bytes % offer.offset_align == 0 &&
                          reinterpret_cast<std::uintptr_t>(memory.data()) % offer.memory_align == 0;
  const bool reading = piece.request->order().direction == Direction::read;
  ByteSpan room = memory;
  if (!is_aligned) {
    PENSTOCK_ASSIGN(room, bounce(piece.bytes));
  }
  if (!reading) return engine->write(file, offer, piece.offset(), memory, room);
  PENSTOCK_ASSIGN(const ByteView got, engine->read(file, offer, piece.offset(), piece.bytes, room));
  if (got.data() != memory.data()) std::memcpy(memory.data(), got.data(), got.size());
  return {};
}

Result<ByteSpan> Worker::next_slot(const Piece& piece) {
  const Order& order = piece.request->order();
  const std::uint64_t slot_bytes = up(order.piece_bytes) + kSlackBytes;
  const bool other_device = stream_ && device_ != order.device;
  if (other_device || slab_.size() < kSlots * slot_bytes) {
    for (Slot& slot : slots_)
      if (slot.busy) PENSTOCK_TRY(slot.busy->synchronize());
    slab_.release();
    if (!stream_ || other_device) {
      PENSTOCK_ASSIGN(stream_, Stream::create(order.device));
      device_ = order.device;
    }
    PENSTOCK_ASSIGN(const auto ring, shared_pinned_ring(device_.type));
    // A worker that waits here holds nothing that others wait for.
    PENSTOCK_ASSIGN(slab_, ring->acquire(kSlots * slot_bytes, order.stop));
  }
  Slot& slot = slots_[turn_];
  if (slot.busy) PENSTOCK_TRY(slot.busy->synchronize());
  const std::uint64_t each = slab_.size() / kSlots / kBlock * kBlock;
  return ByteSpan(slab_.data() + turn_ * each, each);
}

Status Worker::read_to_device(const Piece& piece, Slot*& on_bus) {
  const Order& order = piece.request->order();
  PENSTOCK_ASSIGN(const ByteSpan room, next_slot(piece));
  const Choice& choice = order.choice;
  PENSTOCK_ASSIGN(const ByteView got,
                  choice.engine->read(*order.file, choice.offer, piece.offset(), piece.bytes, room));
  if (order.after) PENSTOCK_TRY(order.after->wait_on(*stream_));
  Status sent = copy_async(piece.memory(), device_, got.data(), {}, got.size(), *stream_);
  auto mark = sent ? Event::record(*stream_) : Result<Event>(std::move(sent).error());
  if (!mark) {  // the copy may have begun all the same
    PENSTOCK_TRY(stream_->synchronize());
    return std::move(mark).error();
  }
  on_bus = &slots_[turn_];
  on_bus->busy = *std::move(mark);
  turn_ = (turn_ + 1) % kSlots;
  return {};
}

Status Worker::write_from_device(const Piece& piece) {
  const Order& order = piece.request->order();
  PENSTOCK_ASSIGN(const ByteSpan room, next_slot(piece));
  // As far behind a block as in the file: what is written in whole blocks lies at whole blocks.
  const ByteSpan bytes = room.subspan(piece.offset() % kBlock, piece.bytes);
  if (order.after) PENSTOCK_TRY(order.after->wait_on(*stream_));
  const Status copied = copy_async(bytes.data(), {}, piece.memory(), device_, bytes.size(), *stream_);
  PENSTOCK_TRY(stream_->synchronize());
  PENSTOCK_TRY(copied);
  const Choice& choice = order.choice;
  return choice.engine->write(*order.file, choice.offer, piece.offset(), bytes, {});
}

}  // namespace penstock::io
