#include "io/worker.hpp"

#include <cstring>

#include "core/guard.hpp"

namespace penstock::io {
namespace {

constexpr std::uint64_t kBlock = 4096;  // memory of our own begins at a multiple

std::uint64_t up(std::uint64_t value) { return (value + kBlock - 1) / kBlock * kBlock; }

}  // namespace

void Worker::release() {
  bounce_.reset();
  bounce_bytes_ = 0;
}

Status Worker::move(const Piece& piece) {
  const Order& order = piece.request->order();
  return guarded([&]() -> Status {
    PENSTOCK_TRY(order.stop.check(order.direction == Direction::read ? "read" : "write"));
    return move_bytes(piece);
  });
}

Result<ByteSpan> Worker::bounce(std::uint64_t bytes) {
  const std::uint64_t all = up(bytes) + 2 * kBlock;  // whole blocks around them
  if (all > bounce_bytes_) {
    bounce_.reset(static_cast<std::byte*>(std::aligned_alloc(kBlock, all)));
    bounce_bytes_ = bounce_ ? all : 0;
    if (!bounce_) return Error(ErrorCode::out_of_memory, "no memory for blocks of " + std::to_string(all) + " bytes");
  }
  return ByteSpan(bounce_.get(), bounce_bytes_);
}

Status Worker::move_bytes(const Piece& piece) {
  const auto& [engine, offer, why] = piece.request->order().choice;
  OpenFile& file = *piece.request->order().file;
  const ByteSpan memory(piece.memory, piece.bytes);
  const bool is_aligned = piece.offset % offer.offset_align == 0 && piece.bytes % offer.offset_align == 0 &&
                          reinterpret_cast<std::uintptr_t>(memory.data()) % offer.memory_align == 0;
  const bool reading = piece.request->order().direction == Direction::read;
  ByteSpan room = memory;
  if (!is_aligned) {
    PENSTOCK_ASSIGN(room, bounce(piece.bytes));
  }
  if (!reading) return engine->write(file, offer, piece.offset, memory, room);
  PENSTOCK_ASSIGN(const ByteView got, engine->read(file, offer, piece.offset, piece.bytes, room));
  if (got.data() != memory.data()) std::memcpy(memory.data(), got.data(), got.size());
  return {};
}

}  // namespace penstock::io
