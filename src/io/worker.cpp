#include "io/worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/guard.hpp"

namespace penstock::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBlock = 4096;  // memory of our own begins at a multiple

std::uint64_t up(std::uint64_t value) { return (value + kBlock - 1) / kBlock * kBlock; }

/// A copy that takes no memory which there is not.
Status copied(const Status& status) {
  return guarded([&]() -> Status { return status; });
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

std::uint64_t slot_bytes_of(std::uint64_t piece_bytes) { return up(piece_bytes) + kSlackBytes; }

Result<std::uint64_t> slot_share(Device::Type type, std::uint64_t threads) {
  PENSTOCK_ASSIGN(const auto ring, shared_pinned_ring(type));
  // Half of the ring, so that readers of arrays need not wait for it.
  const std::uint64_t share = ring->capacity_bytes() / (2 * kSlots * std::max<std::uint64_t>(threads, 1));
  return std::max(share / kBlock * kBlock, slot_bytes_of(kBlock));
}

// Room for all that can wait from the beginning: a piece that has been taken is told of, whatever happens.
Worker::Worker() {
  for (Slot& slot : slots_) slot.waits.reserve(kMaxBatch);
  now_.reserve(kMaxBatch);
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

void Worker::begin(std::span<Piece> pieces) {
  const Order& order = pieces.front().request->order();
  if (order.device.type != Device::Type::cpu && order.direction == Direction::read) {
    read_to_device(pieces);
    return;
  }
  for (Piece& piece : pieces) {
    const auto start = Clock::now();
    Status status = guarded([&]() -> Status { return move(piece); });
    now_.push_back({std::move(piece), std::move(status), since(start)});
  }
}

bool Worker::waits_for_slot(const Order& order) const {
  if (!slots_[turn_].waits.empty()) return true;
  return !has_memory_for(order) && !slots_[oldest_].waits.empty();
}

Worker::Slot* Worker::next_ended(bool wait) {
  Slot& slot = slots_[oldest_];
  if (slot.waits.empty()) return nullptr;
  if (slot.busy) {
    if (!wait) {
      const Result<bool> there = slot.busy->done();
      if (there && !*there) return nullptr;
    }
    const Status status = slot.busy->synchronize();
    slot.busy.reset();
    for (Ended& ended : slot.waits)
      if (!status && ended.status) ended.status = copied(status);
  }
  oldest_ = (oldest_ + 1) % kSlots;
  return &slot;
}

Status Worker::move(const Piece& piece) {
  const Order& order = piece.request->order();
  PENSTOCK_TRY(order.stop.check(order.direction == Direction::read ? "read" : "write"));
  return order.device.type == Device::Type::cpu ? move_host(piece) : write_from_device(piece);
}

Result<ByteSpan> Worker::bounce(std::uint64_t bytes) {
  const std::uint64_t all = slot_bytes_of(bytes);
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

bool Worker::has_memory_for(const Order& order) const {
  return stream_ && device_ == order.device && slab_.size() >= kSlots * order.slot_bytes;
}

Result<ByteSpan> Worker::next_slot(const Order& order) {
  if (!has_memory_for(order)) {
    slab_.release();
    if (!stream_ || device_ != order.device) {
      stream_.reset();
      PENSTOCK_ASSIGN(stream_, Stream::create(order.device));
      device_ = order.device;
    }
    PENSTOCK_ASSIGN(const auto ring, shared_pinned_ring(device_.type));
    // A worker that waits here holds nothing that others wait for.
    PENSTOCK_ASSIGN(slab_, ring->acquire(kSlots * order.slot_bytes, order.stop));
  }
  const std::uint64_t each = slab_.size() / kSlots / kBlock * kBlock;
  return ByteSpan(slab_.data() + turn_ * each, each);
}

void Worker::read_to_device(std::span<Piece> pieces) {
  auto start = Clock::now();
  Slot& slot = slots_[turn_];
  const auto room = guarded([&] { return next_slot(pieces.front().request->order()); });
  std::uint64_t at = 0;
  bool on_bus = false;
  for (Piece& piece : pieces) {
    const std::uint64_t bytes = slot_bytes_of(piece.bytes);
    Status status = guarded([&]() -> Status {
      if (!room) return room.error();
      return read_into(piece, room->subspan(at), on_bus);
    });
    at += bytes;
    slot.waits.push_back({std::move(piece), std::move(status), since(start)});
    start = Clock::now();
  }
  if (on_bus) {
    auto mark = Event::record(*stream_);
    if (mark) {
      slot.busy = *std::move(mark);
    } else {
      (void)stream_->synchronize();  // nothing may be on its way when the error is told
      const Status status = std::move(mark).error();
      for (Ended& ended : slot.waits)
        if (ended.status) ended.status = copied(status);
    }
  }
  if (slot.busy)
    turn_ = (turn_ + 1) % kSlots;
  else
    std::swap(now_, slot.waits);
}

/// Brings a piece into `room` and sends it from there.  `on_bus`: something may be on its way.
Status Worker::read_into(const Piece& piece, ByteSpan room, bool& on_bus) {
  const Order& order = piece.request->order();
  PENSTOCK_TRY(order.stop.check("read"));
  const Choice& choice = order.choice;
  PENSTOCK_ASSIGN(const ByteView got,
                  choice.engine->read(*order.file, choice.offer, piece.offset(), piece.bytes, room));
  if (order.after) PENSTOCK_TRY(order.after->wait_on(*stream_));
  on_bus = true;
  return copy_async(piece.memory(), device_, got.data(), {}, got.size(), *stream_);
}

Status Worker::write_from_device(const Piece& piece) {
  const Order& order = piece.request->order();
  PENSTOCK_ASSIGN(const ByteSpan room, next_slot(order));
  // As far behind a block as in the file: what is written in whole blocks lies at whole blocks.
  const ByteSpan bytes = room.subspan(piece.offset() % kBlock, piece.bytes);
  if (order.after) PENSTOCK_TRY(order.after->wait_on(*stream_));
  const Status sent = copy_async(bytes.data(), {}, piece.memory(), device_, bytes.size(), *stream_);
  PENSTOCK_TRY(stream_->synchronize());
  PENSTOCK_TRY(sent);
  const Choice& choice = order.choice;
  return choice.engine->write(*order.file, choice.offer, piece.offset(), bytes, {});
}

}  // namespace penstock::io
