#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "codec/support.hpp"
#include "codec/zstd/zstd.hpp"

namespace penstock {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using DecodeContextPtr = std::unique_ptr<ZSTD_DCtx, FreeContext>;
using EncodeContextPtr = std::unique_ptr<ZSTD_CCtx, FreeContext>;

// What a thread keeps between chunks; a context that grew larger (huge windows, high levels) is given back.
constexpr std::size_t kKeepBytes = std::size_t{16} << 20;

Result<ZSTD_DCtx*> thread_decoder(DecodeContextPtr*& slot) {
  thread_local DecodeContextPtr context;
  if (!context) context.reset(ZSTD_createDCtx());
  if (!context) return Error(ErrorCode::out_of_memory, "cannot allocate a zstd context");
  slot = &context;
  return context.get();
}

Result<ZSTD_CCtx*> thread_encoder(EncodeContextPtr*& slot) {
  thread_local EncodeContextPtr context;
  if (!context) context.reset(ZSTD_createCCtx());
  if (!context) return Error(ErrorCode::out_of_memory, "cannot allocate a zstd context");
  slot = &context;
  return context.get();
}

/// Decodes into a small buffer that is thrown away, to find out where the data go wrong.  Only after an error.
std::uint64_t find_fault(ByteView in) {
  const DecodeContextPtr context(ZSTD_createDCtx());
  if (!context) return 0;
  std::array<std::byte, 16384> sink;
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  for (;;) {
    const std::size_t at = input.pos;
    ZSTD_outBuffer output{sink.data(), sink.size(), 0};
    const std::size_t rc = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(rc) || (input.pos == at && output.pos == 0)) return input.pos;
  }
}

Error decode_error(std::size_t code, ByteView in) {
  if (const unsigned id = ZSTD_getDictID_fromFrame(in.data(), in.size()); id != 0)
    return {ErrorCode::unsupported, fmt::format("the frame needs the dictionary {}, which zarr has no place for", id)};
  return corrupt_at(ZSTD_getErrorName(code), find_fault(in));
}

class ZstdCodec final : public BytesToBytes {
 public:
  explicit ZstdCodec(ZstdParameters parameters) : parameters_(parameters) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {"zstd", fmt::format(R"({{"level":{},"checksum":{}}})", parameters_.level, parameters_.checksum)};
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded / 128 + 1024;
  }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    EncodeContextPtr* slot = nullptr;
    PENSTOCK_ASSIGN(ZSTD_CCtx* const context, thread_encoder(slot));
    ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, parameters_.level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, parameters_.checksum ? 1 : 0);
    PENSTOCK_TRY(out.resize_discard(ZSTD_compressBound(in.size())));
    const std::size_t made = ZSTD_compress2(context, out.data(), out.size(), in.data(), in.size());
    if (ZSTD_sizeof_CCtx(context) > kKeepBytes) slot->reset();
    if (ZSTD_isError(made)) return Error(ErrorCode::out_of_memory, ZSTD_getErrorName(made));
    return out.resize(made);
  }

  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    if (in.empty()) return corrupt("no data");
    DecodeContextPtr* slot = nullptr;
    PENSTOCK_ASSIGN(ZSTD_DCtx* const context, thread_decoder(slot));
    ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    const Status status = out.expected() ? decode_known(context, in, out) : decode_growing(context, in, out);
    if (ZSTD_sizeof_DCtx(context) > kKeepBytes) slot->reset();
    return status;
  }

 private:
  /// All frames in one call, straight into the place where the bytes belong.
  static Status decode_known(ZSTD_DCtx* context, ByteView in, Sink& out) {
    PENSTOCK_ASSIGN(const ByteSpan to, out.reserve_up_to(*out.expected()));
    const std::size_t made = ZSTD_decompressDCtx(context, to.data(), to.size(), in.data(), in.size());
    if (ZSTD_isError(made)) return decode_error(made, in);
    return out.finish(made);
  }

  static Status decode_growing(ZSTD_DCtx* context, ByteView in, Sink& out) {
    const unsigned long long stated = ZSTD_getFrameContentSize(in.data(), in.size());
    const bool known = stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != ZSTD_CONTENTSIZE_ERROR;
    // A stated size is believed only as far as a plausible ratio goes; beyond that the buffer grows with the data.
    const std::uint64_t guess = std::min<std::uint64_t>(known ? stated : in.size() * 4, in.size() * 64 + 65536);
    PENSTOCK_ASSIGN(ByteSpan to, out.reserve_up_to(guess));
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{to.data(), to.size(), 0};
    for (;;) {
      const std::size_t before = input.pos;
      const std::size_t made = output.pos;
      const std::size_t rc = ZSTD_decompressStream(context, &output, &input);
      if (ZSTD_isError(rc)) return decode_error(rc, in);
      if (input.pos == input.size && rc == 0) return out.finish(output.pos);
      if (output.pos == output.size) {
        PENSTOCK_ASSIGN(to, out.grow_further(output.size));
        output = {to.data(), to.size(), output.pos};
      } else if (input.pos == before && output.pos == made) {
        return corrupt_at("the data end inside a frame", input.pos);
      }
    }
  }

  ZstdParameters parameters_;
};

}  // namespace

std::unique_ptr<BytesToBytes> make_zstd(ZstdParameters parameters) { return std::make_unique<ZstdCodec>(parameters); }

}  // namespace penstock
