#include <fmt/format.h>
#include <zfp.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "codec/support.hpp"
#include "codec/zfp/zfp.hpp"

namespace penstock {
namespace {

constexpr std::size_t kLargestWord = 8;

struct Close {
  void operator()(bitstream* stream) const { stream_close(stream); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(zfp_field* field) const { zfp_field_free(field); }
};

/// A zfp_stream over memory that the caller keeps, of whole 64-bit words.
struct Stream {
  std::unique_ptr<bitstream, Close> bits;
  std::unique_ptr<zfp_stream, Close> zfp;

  Stream(void* memory, std::size_t bytes) : bits(stream_open(memory, bytes)), zfp(zfp_stream_open(bits.get())) {
    if (good()) zfp_stream_rewind(zfp.get());
  }
  [[nodiscard]] bool good() const { return bits != nullptr && zfp != nullptr; }
};

zfp_type type_of(const ZfpField& field) {
  if (field.kind == Kind::floating) return field.size_bytes == 4 ? zfp_type_float : zfp_type_double;
  return field.size_bytes == 4 ? zfp_type_int32 : zfp_type_int64;
}

std::unique_ptr<zfp_field, Close> open_field(const ZfpField& field, void* elements) {
  const auto& n = field.extents;
  zfp_field* made = nullptr;
  switch (field.rank) {
    case 1: made = zfp_field_1d(elements, type_of(field), n[0]); break;
    case 2: made = zfp_field_2d(elements, type_of(field), n[0], n[1]); break;
    case 3: made = zfp_field_3d(elements, type_of(field), n[0], n[1], n[2]); break;
    default: made = zfp_field_4d(elements, type_of(field), n[0], n[1], n[2], n[3]); break;
  }
  return std::unique_ptr<zfp_field, Close>(made);
}

void apply(const ZfpParameters& p, const ZfpField& field, zfp_stream* stream) {
  using Mode = ZfpParameters::Mode;
  switch (p.mode) {
    case Mode::reversible: zfp_stream_set_reversible(stream); break;
    case Mode::expert: zfp_stream_set_params(stream, p.min_bits, p.max_bits, p.max_precision, p.min_exponent); break;
    case Mode::fixed_accuracy: zfp_stream_set_accuracy(stream, p.tolerance); break;
    case Mode::fixed_rate: zfp_stream_set_rate(stream, p.rate, type_of(field), field.rank, 0); break;
    case Mode::fixed_precision: zfp_stream_set_precision(stream, p.precision); break;
  }
}

std::uint64_t block_count(const ZfpField& field) {
  std::uint64_t blocks = 1;
  for (std::uint32_t d = 0; d < field.rank; ++d) blocks *= (field.extents[d] + 3) / 4;
  return blocks;
}

/// Bytes that decoding may look at, whatever they hold: libzfp's bound for what it writes, and for each block the group
/// bits that a hostile stream can add to each of 64 bit planes and each element.
std::uint64_t reading_bound(const ZfpField& field, const zfp_stream* stream, const zfp_field* opened) {
  const std::uint64_t values = std::uint64_t{1} << (2 * field.rank);
  return (zfp_stream_maximum_size(stream, opened) + block_count(field) * (16 + values / 4) + 64 + 7) / 8 * 8;
}

/// The chunk must end where the blocks do, give or take the zeros that fill up a word: libzfp is built for words of 1
/// to 8 bytes, and what one build writes another reads.
Status check_end(ByteView in, std::size_t used) {
  const std::size_t word = stream_word_bits / 8;
  if (used > (in.size() + word - 1) / word * word)
    return corrupt(fmt::format("the blocks end at byte {}, the chunk at byte {}", used, in.size()));
  if (in.size() > (used + kLargestWord - 1) / kLargestWord * kLargestWord)
    return corrupt(fmt::format("{} bytes too many from byte {} on", in.size() - used, used));
  for (std::size_t i = used; i < in.size(); ++i)
    if (in[i] != std::byte{0}) return corrupt_at("zeros expected after the blocks", i);
  return {};
}

Error no_memory() { return {ErrorCode::out_of_memory, "libzfp cannot allocate its state"}; }

bool same_field(const ZfpField& field, const zfp_field* read) {
  const std::size_t found[] = {read->nx, read->ny, read->nz, read->nw};
  for (std::uint32_t d = 0; d < 4; ++d)
    if (found[d] != (d < field.rank ? field.extents[d] : 0)) return false;
  return read->type == type_of(field);
}

/// Reads and checks the header; leaves its mode in `stream`.
Status read_header(const ZfpField& field, zfp_stream* stream) {
  const std::unique_ptr<zfp_field, Close> said(zfp_field_alloc());
  if (said == nullptr) return no_memory();
  if (zfp_read_header(stream, said.get(), ZFP_HEADER_FULL) == 0) return corrupt("no zfp header at byte 0");
  if (!same_field(field, said.get())) return corrupt("the zfp header at byte 0 names another data type or shape");
  return {};
}

/// Parameters from the header, which may be cut off: what is absent reads as zeros.
Status peek_header(const ZfpField& field, ByteView in, zfp_stream* parameters) {
  alignas(8) std::array<std::byte, 64> start{};
  std::memcpy(start.data(), in.data(), std::min(in.size(), start.size()));
  const Stream peek(start.data(), start.size());
  if (!peek.good()) return no_memory();
  PENSTOCK_TRY(read_header(field, peek.zfp.get()));
  zfp_stream_set_params(parameters, peek.zfp->minbits, peek.zfp->maxbits, peek.zfp->maxprec, peek.zfp->minexp);
  return {};
}

}  // namespace

std::uint64_t zfp_bound(const ZfpField& field, const ZfpParameters& parameters) {
  const Stream stream(nullptr, 0);
  const auto opened = open_field(field, nullptr);
  if (!stream.good() || opened == nullptr) return 0;
  apply(parameters, field, stream.zfp.get());
  return zfp_stream_maximum_size(stream.zfp.get(), opened.get());
}

Status zfp_encode(const ZfpField& field, const ZfpParameters& parameters, ZfpHeader header, ByteView in, Bytes& out) {
  const std::uint64_t bound = zfp_bound(field, parameters);
  if (bound == 0) return no_memory();
  PENSTOCK_TRY(out.resize_discard(bound));
  const Stream stream(out.data(), out.size());
  // libzfp takes the elements as void* in both directions and only reads them here.
  const auto opened = open_field(field, const_cast<std::byte*>(in.data()));  // NOLINT
  if (!stream.good() || opened == nullptr) return no_memory();
  apply(parameters, field, stream.zfp.get());
  if (header == ZfpHeader::full && zfp_write_header(stream.zfp.get(), opened.get(), ZFP_HEADER_FULL) == 0)
    return Error(ErrorCode::internal, "libzfp cannot write a header for this shape and mode");
  const std::size_t made = zfp_compress(stream.zfp.get(), opened.get());
  if (made == 0) return Error(ErrorCode::internal, "libzfp failed to compress");
  // Whole words of 8 bytes, as libzfp of the Python wheels writes and, unchecked, reads.
  const std::size_t padded = (made + kLargestWord - 1) / kLargestWord * kLargestWord;
  PENSTOCK_TRY(out.resize(padded));
  std::memset(out.data() + made, 0, padded - made);
  return {};
}

Status zfp_decode(const ZfpField& field, const ZfpParameters& parameters, ZfpHeader header, ByteView in, ByteSpan out) {
  if (in.empty()) return corrupt("no bytes");
  const Stream sizes(nullptr, 0);
  const auto opened = open_field(field, out.data());
  if (!sizes.good() || opened == nullptr) return no_memory();
  if (header == ZfpHeader::full)
    PENSTOCK_TRY(peek_header(field, in, sizes.zfp.get()));
  else
    apply(parameters, field, sizes.zfp.get());
  // Without this a header could ask for gigabytes of zeros after each block.
  if (block_count(field) * sizes.zfp->minbits > (in.size() + 8) * 8)
    return corrupt(fmt::format("{} bytes are fewer than the mode's {} bits for each of {} blocks", in.size(),
                               sizes.zfp->minbits, block_count(field)));
  Bytes padded;
  PENSTOCK_TRY(padded.resize_discard(
      (std::max<std::uint64_t>(reading_bound(field, sizes.zfp.get(), opened.get()), in.size()) + 7) / 8 * 8));
  std::memcpy(padded.data(), in.data(), in.size());
  std::memset(padded.data() + in.size(), 0, padded.size() - in.size());
  const Stream stream(padded.data(), padded.size());
  if (!stream.good()) return no_memory();
  if (header == ZfpHeader::full)
    PENSTOCK_TRY(read_header(field, stream.zfp.get()));
  else
    apply(parameters, field, stream.zfp.get());
  const std::size_t used = zfp_decompress(stream.zfp.get(), opened.get());
  if (used == 0) return corrupt("libzfp failed to decompress");
  return check_end(in, used);
}

}  // namespace penstock
