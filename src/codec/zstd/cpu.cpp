#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>

#include "codec/device_decoder.hpp"
#include "codec/device_encoder.hpp"
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

Error zstd_error(std::size_t code) {
  switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_dictionary_wrong:
      return {ErrorCode::unsupported, "the frame needs a dictionary, which zarr has no place for"};
    case ZSTD_error_memory_allocation: return {ErrorCode::out_of_memory, "cannot allocate a zstd context"};
    default: return corrupt(ZSTD_getErrorName(code));
  }
}

/// Frames one after another, piece by piece: where the size is not known, and to say where data are corrupt.
class FrameStream final : public StreamDecoder {
 public:
  explicit FrameStream(ZSTD_DCtx* context) : context_(context) { ZSTD_DCtx_reset(context_, ZSTD_reset_session_only); }
  Result<Step> step(ByteView in, ByteSpan out) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t rc = ZSTD_decompressStream(context_, &output, &input);
    if (ZSTD_isError(rc)) return zstd_error(rc);
    return Step{input.pos, output.pos, rc == 0};
  }
  [[nodiscard]] bool begins_member(ByteView /*rest*/) const override { return true; }

 private:
  ZSTD_DCtx* context_;
};

class ZstdCodec final : public BytesToBytes {
 public:
  explicit ZstdCodec(ZstdParameters parameters) : parameters_(parameters) {}

  [[nodiscard]] CodecSpec spec() const override {
    return {parameters_.end == StreamEnd::full_output ? "tiff.zstd" : "zstd",
            fmt::format(R"({{"level":{},"checksum":{}}})", parameters_.level, parameters_.checksum)};
  }
  [[nodiscard]] std::unique_ptr<DeviceDecoder> device_decoder() const override { return make_zstd_device_decoder(); }
  [[nodiscard]] std::unique_ptr<DeviceEncoder> device_encoder() const override {
    return make_zstd_device_encoder(parameters_.checksum);
  }
  /// Levels 3 and 4 keep two tables of matches.  Where the longer matches of the second one are rare, as in noisy
  /// images, one table makes no more bytes in four fifths of the time.
  [[nodiscard]] std::unique_ptr<BytesToBytes> quicker() const override {
    const bool two_tables = parameters_.level == 0 || parameters_.level == 3 || parameters_.level == 4;
    if (!two_tables || parameters_.search == ZstdParameters::Search::fast) return nullptr;
    return make_zstd({parameters_.level, parameters_.checksum, ZstdParameters::Search::fast, parameters_.end});
  }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return parameters_.end == StreamEnd::full_output ? 2 * decoded + 65536 : decoded + decoded / 128 + 1024;
  }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    EncodeContextPtr* slot = nullptr;
    PENSTOCK_ASSIGN(ZSTD_CCtx* const context, thread_encoder(slot));
    ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, parameters_.level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, parameters_.checksum ? 1 : 0);
    if (parameters_.search == ZstdParameters::Search::fast) ZSTD_CCtx_setParameter(context, ZSTD_c_strategy, ZSTD_fast);
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
    const Status status = decode_with(context, in, out, parameters_.end);
    if (ZSTD_sizeof_DCtx(context) > kKeepBytes) slot->reset();
    return status;
  }

 private:
  static Status decode_with(ZSTD_DCtx* context, ByteView in, Sink& out, StreamEnd end) {
    if (out.expected()) {  // all frames in one call, straight into the place where the bytes belong
      PENSTOCK_ASSIGN(const ByteSpan to, out.reserve_up_to(*out.expected()));
      const std::size_t made = ZSTD_decompressDCtx(context, to.data(), to.size(), in.data(), in.size());
      if (!ZSTD_isError(made)) return out.finish(made);
    }
    FrameStream frames(context);
    return decode_stream(frames, in, out, end);
  }

  ZstdParameters parameters_;
};

}  // namespace

std::unique_ptr<BytesToBytes> make_zstd(ZstdParameters parameters) { return std::make_unique<ZstdCodec>(parameters); }

}  // namespace penstock
