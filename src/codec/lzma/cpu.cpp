#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <array>

#include "codec/lzma/lzma.hpp"
#include "codec/stream.hpp"
#include "codec/support.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kMemoryLimit = std::uint64_t{1} << 30;

/// Options in the form that the library takes: the chain points into the object itself.
class FilterChain {
 public:
  FilterChain() = default;
  FilterChain(const FilterChain&) = delete;
  FilterChain& operator=(const FilterChain&) = delete;

  Status add(const LzmaFilter& f) {
    if (!lzma_filter_decoder_is_supported(f.id) || !lzma_filter_encoder_is_supported(f.id))
      return Error(ErrorCode::unsupported, fmt::format("liblzma has no filter with the id {:#x}", f.id));
    lzma_filter& entry = chain_[size_];
    entry.id = f.id;
    if (f.id == LZMA_FILTER_LZMA1 || f.id == LZMA_FILTER_LZMA2) {
      PENSTOCK_TRY(set_lzma(lzma_[size_], f));
      entry.options = &lzma_[size_];
    } else if (f.id == LZMA_FILTER_DELTA) {
      if (f.dist < LZMA_DELTA_DIST_MIN || f.dist > LZMA_DELTA_DIST_MAX)
        return bad_configuration(fmt::format("\"dist\" must be from 1 to 256, is {}", f.dist));
      delta_[size_].type = LZMA_DELTA_TYPE_BYTE;
      delta_[size_].dist = f.dist;
      entry.options = &delta_[size_];
    } else {
      branch_[size_].start_offset = f.start_offset;
      entry.options = &branch_[size_];
    }
    ++size_;
    return {};
  }
  Status add_preset(std::uint64_t id, std::uint32_t preset) {
    LzmaFilter f;
    f.id = id;
    f.preset = preset;
    return add(f);
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool is_one(std::uint64_t id) const { return size_ == 1 && chain_[0].id == id; }
  [[nodiscard]] const lzma_filter* chain() const { return chain_.data(); }
  [[nodiscard]] const lzma_options_lzma* first() const { return lzma_.data(); }

 private:
  static Status set_lzma(lzma_options_lzma& o, const LzmaFilter& f) {
    if (lzma_lzma_preset(&o, f.preset)) return bad_configuration(fmt::format("\"preset\" {} does not exist", f.preset));
    o.dict_size = f.dict_size.value_or(o.dict_size);
    o.lc = f.lc.value_or(o.lc);
    o.lp = f.lp.value_or(o.lp);
    o.pb = f.pb.value_or(o.pb);
    o.mode = static_cast<lzma_mode>(f.mode.value_or(o.mode));
    o.nice_len = f.nice_len.value_or(o.nice_len);
    o.mf = static_cast<lzma_match_finder>(f.mf.value_or(o.mf));
    o.depth = f.depth.value_or(o.depth);
    return {};
  }
  std::size_t size_ = 0;
  std::array<lzma_options_lzma, 4> lzma_{};
  std::array<lzma_options_delta, 4> delta_{};
  std::array<lzma_options_bcj, 4> branch_{};
  std::array<lzma_filter, 5> chain_{{{LZMA_VLI_UNKNOWN, nullptr},
                                     {LZMA_VLI_UNKNOWN, nullptr},
                                     {LZMA_VLI_UNKNOWN, nullptr},
                                     {LZMA_VLI_UNKNOWN, nullptr},
                                     {LZMA_VLI_UNKNOWN, nullptr}}};
};

Error library_error(lzma_ret code) {
  switch (code) {
    case LZMA_MEM_ERROR: return {ErrorCode::out_of_memory, "cannot allocate an LZMA context"};
    case LZMA_MEMLIMIT_ERROR:
      return {ErrorCode::unsupported, "decoding would take more than 1 GiB of memory for the dictionary"};
    case LZMA_OPTIONS_ERROR: return {ErrorCode::unsupported, "liblzma does not have what these options ask for"};
    case LZMA_UNSUPPORTED_CHECK: return {ErrorCode::unsupported, "liblzma does not have this kind of check"};
    case LZMA_FORMAT_ERROR: return corrupt("not an LZMA stream of this format");
    case LZMA_DATA_ERROR: return corrupt("the stream is corrupt or its checksum wrong");
    default: return {ErrorCode::internal, fmt::format("liblzma failed ({})", static_cast<int>(code))};
  }
}

struct Stream {
  lzma_stream z = LZMA_STREAM_INIT;
  Stream() = default;
  ~Stream() { lzma_end(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void set(ByteView in, ByteSpan out) {
    z.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    z.avail_in = in.size();
    z.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    z.avail_out = out.size();
  }
};

class Decompressor final : public StreamDecoder {
 public:
  Decompressor(LzmaFormat format, const FilterChain& filters) : format_(format), filters_(filters) {}

  Status restart() override {
    lzma_ret code = LZMA_OK;
    switch (format_) {
      case LzmaFormat::detect: code = lzma_auto_decoder(&stream_.z, kMemoryLimit, 0); break;
      case LzmaFormat::xz: code = lzma_stream_decoder(&stream_.z, kMemoryLimit, 0); break;
      case LzmaFormat::alone: code = lzma_alone_decoder(&stream_.z, kMemoryLimit); break;
      case LzmaFormat::raw:
        if (lzma_raw_decoder_memusage(filters_.chain()) > kMemoryLimit) return library_error(LZMA_MEMLIMIT_ERROR);
        code = lzma_raw_decoder(&stream_.z, filters_.chain());
    }
    return code == LZMA_OK ? Status() : library_error(code);
  }
  Result<Step> step(ByteView in, ByteSpan out) override {
    stream_.set(in, out);
    const lzma_ret code = lzma_code(&stream_.z, LZMA_RUN);
    if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR) return library_error(code);
    return Step{in.size() - stream_.z.avail_in, out.size() - stream_.z.avail_out, code == LZMA_STREAM_END};
  }
  [[nodiscard]] bool begins_member(ByteView rest) const override {
    return format_ != LzmaFormat::raw && as_text(rest).starts_with(std::string_view("\xfd"
                                                                                    "7zXZ\0",
                                                                                    6));
  }
  [[nodiscard]] std::size_t padding(ByteView rest) const override {  // of .xz files, in whole words
    return format_ == LzmaFormat::xz ? leading_zeros(rest) / 4 * 4 : 0;
  }

 private:
  LzmaFormat format_;
  const FilterChain& filters_;
  Stream stream_;
};

class LzmaCodec final : public BytesToBytes {
 public:
  static Result<std::unique_ptr<BytesToBytes>> make(LzmaParameters parameters) {
    std::unique_ptr<LzmaCodec> codec(new LzmaCodec(std::move(parameters)));
    PENSTOCK_TRY(codec->prepare());
    return std::unique_ptr<BytesToBytes>(std::move(codec));
  }
  [[nodiscard]] CodecSpec spec() const override { return {"numcodecs.lzma", p_.configuration}; }
  [[nodiscard]] std::optional<std::uint64_t> encoded_size(std::uint64_t /*decoded*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t max_encoded_size(std::uint64_t decoded) const override {
    return decoded + decoded / 16 + 1024;
  }

  [[nodiscard]] Status encode(ByteView in, Bytes& out) const override {
    Stream stream;
    PENSTOCK_TRY(begin_encoding(stream.z));
    PENSTOCK_TRY(out.resize_discard(max_encoded_size(in.size())));
    stream.set(in, out.span());
    const lzma_ret code = lzma_code(&stream.z, LZMA_FINISH);
    if (code != LZMA_STREAM_END) return library_error(code == LZMA_OK ? LZMA_BUF_ERROR : code);
    return out.resize(out.size() - stream.z.avail_out);
  }
  [[nodiscard]] Status decode(ByteView in, Sink& out) const override {
    Decompressor decompressor(p_.format, filters_);
    PENSTOCK_TRY(decompressor.restart());
    return decode_stream(decompressor, in, out);
  }

 private:
  explicit LzmaCodec(LzmaParameters parameters) : p_(std::move(parameters)) {}

  Status prepare() {
    const bool xz = p_.format == LzmaFormat::xz;
    if (p_.check == -1) check_ = xz ? LZMA_CHECK_CRC64 : LZMA_CHECK_NONE;
    if (p_.check >= 0) check_ = static_cast<lzma_check>(p_.check);
    if (!xz && check_ != LZMA_CHECK_NONE) return bad_configuration("\"check\" is for format 1 (xz) only");
    if (!lzma_check_is_supported(check_))
      return Error(ErrorCode::unsupported, fmt::format("liblzma has no check {}", static_cast<int>(check_)));
    for (const LzmaFilter& f : p_.filters) PENSTOCK_TRY(filters_.add(f));
    if (p_.format == LzmaFormat::raw) {
      if (filters_.empty()) return bad_configuration("\"filters\" are needed with format 3 (raw)");
      if (lzma_raw_encoder_memusage(filters_.chain()) == UINT64_MAX)
        return bad_configuration("\"filters\" do not make a chain");
    }
    if (p_.format == LzmaFormat::alone && !filters_.empty() && !filters_.is_one(LZMA_FILTER_LZMA1))
      return bad_configuration("format 2 (lzma) takes one filter, LZMA1");
    if (filters_.empty())
      return filters_.add_preset(p_.format == LzmaFormat::alone ? LZMA_FILTER_LZMA1 : LZMA_FILTER_LZMA2, p_.preset);
    return {};
  }
  Status begin_encoding(lzma_stream& z) const {
    lzma_ret code = LZMA_OK;
    switch (p_.format) {
      case LzmaFormat::detect:
        return Error(ErrorCode::unsupported, "format 0 (detect) is for decoding only; choose 1, 2 or 3");
      case LzmaFormat::xz: code = lzma_stream_encoder(&z, filters_.chain(), check_); break;
      case LzmaFormat::alone: code = lzma_alone_encoder(&z, filters_.first()); break;
      case LzmaFormat::raw: code = lzma_raw_encoder(&z, filters_.chain()); break;
    }
    return code == LZMA_OK ? Status() : library_error(code);
  }

  LzmaParameters p_;
  FilterChain filters_;
  lzma_check check_ = LZMA_CHECK_NONE;
};

}  // namespace

Result<std::unique_ptr<BytesToBytes>> make_lzma(LzmaParameters parameters) {
  return LzmaCodec::make(std::move(parameters));
}

}  // namespace penstock
