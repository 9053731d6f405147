#include "codec/codec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codec/device_decoder.hpp"
#include "codec/device_encoder.hpp"
#include "core/checked.hpp"

namespace penstock {
namespace {

Error wrong_size(std::uint64_t expected, std::uint64_t found) {
  return {ErrorCode::corrupt_data, fmt::format("{} bytes expected, the data hold {}", expected, found)};
}
Error too_large(std::uint64_t limit) {
  return {ErrorCode::corrupt_data, fmt::format("the data hold more than the {} bytes that are possible here", limit)};
}

}  // namespace

std::unique_ptr<DeviceDecoder> Codec::device_decoder() const { return nullptr; }
std::unique_ptr<DeviceEncoder> Codec::device_encoder() const { return nullptr; }

Result<std::uint64_t> ChunkSpec::size_bytes() const {
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape));
  return checked_mul(count, dtype.size_bytes);
}

Result<ByteSpan> Sink::reserve(std::uint64_t bytes) {
  if (grow_ == nullptr) {
    if (bytes != fixed_.size()) return wrong_size(fixed_.size(), bytes);
    return fixed_;
  }
  if (bytes > limit_) return too_large(limit_);
  PENSTOCK_TRY(grow_->resize_discard(bytes));
  return grow_->span();
}

Result<ByteSpan> Sink::reserve_up_to(std::uint64_t guess) {
  if (grow_ == nullptr) return fixed_;
  PENSTOCK_TRY(grow_->resize_discard(std::min(guess, limit_)));
  return grow_->span();
}

Result<ByteSpan> Sink::grow_to(std::uint64_t bytes) {
  if (grow_ == nullptr) return too_large(fixed_.size());
  if (bytes > limit_) return too_large(limit_);
  PENSTOCK_TRY(grow_->resize(bytes));
  return grow_->span();
}

Result<ByteSpan> Sink::grow_further(std::uint64_t full) {
  if (full >= limit()) return too_large(limit());
  return grow_to(std::min(limit(), full + full / 2 + 65536));
}

Status Sink::finish(std::uint64_t made) {
  if (grow_ == nullptr) {
    if (made != fixed_.size()) return wrong_size(fixed_.size(), made);
    return {};
  }
  if (made > grow_->size()) return Error(ErrorCode::internal, "a codec made more bytes than it had room for");
  return grow_->resize(made);
}

ByteView Sink::made() const { return grow_ == nullptr ? ByteView(fixed_) : grow_->view(); }

Status BytesToBytes::encode_pieces(PieceSource& in, Bytes& out) const {
  PENSTOCK_ASSIGN(const ByteView all, in.piece(0, in.size()));
  return encode(all, out);
}

}  // namespace penstock
