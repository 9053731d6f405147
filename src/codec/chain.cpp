#include "codec/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "codec/astype/filter.hpp"
#include "codec/bytes/swap.hpp"
#include "codec/limit.hpp"
#include "codec/list.hpp"
#include "codec/sharding/sharding.hpp"
#include "codec/support.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"

namespace penstock {

/// The two scratch buffers in turn: what one stage reads is never what it writes.
class PingPong {
 public:
  explicit PingPong(ScratchBuffers& scratch) : scratch_(scratch) {}
  Bytes& next() {
    a_is_next_ = !a_is_next_;
    return a_is_next_ ? scratch_.a : scratch_.b;
  }

 private:
  ScratchBuffers& scratch_;
  bool a_is_next_ = false;
};

namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

/// Other programs' encoders may be a little less tight than ours.
std::uint64_t with_slack(std::uint64_t bound) { return saturating_add(bound, bound / 8 + 65536); }

std::string in_codec(const Codec& codec) { return "codec " + codec.spec().name; }

Error wrong_size(std::uint64_t expected, std::uint64_t found) {
  return corrupt(fmt::format("{} bytes expected, {} found", expected, found));
}

/// In any order.
bool same_members(const Json& a, const Json& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, value] : a.items())
    if (!b.contains(name) || b.at(name) != value) return false;
  return true;
}

bool is_permutation_only(const ArrayToArray& codec) { return !codec.permutation().empty(); }

}  // namespace

/// `behind`: the codec that is applied after it; nullptr: none.
Status CodecChain::add(const CodecSpec& spec, const CodecSpec* behind, ChunkSpec& at) {
  const CodecEntry* entry = find_codec(spec.name);
  if (entry == nullptr) entry = find_file_codec(spec.name);
  if (entry == nullptr) return unknown_codec(spec.name);
  const std::string where = "codec " + spec.name;
  PENSTOCK_ASSIGN_IN(Json configuration, configuration_of(spec), where);
  if (behind != nullptr) take_stored_order(entry->name, *behind, configuration);
  PENSTOCK_ASSIGN_IN(AnyCodec made, entry->make(configuration, at), where);
  if (auto* array = std::get_if<std::unique_ptr<ArrayToArray>>(&made)) {
    if (a2b_) return bad_configuration(fmt::format("{}: an array codec cannot follow an array->bytes codec", where));
    at = (*array)->encoded();
    PENSTOCK_TRY_IN(at.size_bytes(), where);
    a2a_.push_back(std::move(*array));
  } else if (auto* serializer = std::get_if<std::unique_ptr<ArrayToBytes>>(&made)) {
    if (a2b_)
      return bad_configuration(fmt::format("{}: there is already an array->bytes codec, {}", where, a2b_->spec().name));
    a2b_ = std::move(*serializer);
  } else {
    if (!a2b_)
      return bad_configuration(fmt::format("{}: an array->bytes codec such as bytes must come before it", where));
    b2b_.push_back(std::move(*std::get_if<std::unique_ptr<BytesToBytes>>(&made)));
  }
  return {};
}

Result<CodecChain> CodecChain::make(std::span<const CodecSpec> specs, const ChunkSpec& decoded) {
  CodecChain chain;
  chain.decoded_ = decoded;
  // One more than arrays have: a shard index is the grid and a last dimension of two.
  if (decoded.shape.size() > kMaxRank + 1)
    return bad_configuration(fmt::format("{} dimensions; at most {} are possible", decoded.shape.size(), kMaxRank));
  PENSTOCK_ASSIGN_IN(chain.decoded_size_, decoded.size_bytes(), "chunk");
  ChunkSpec at = decoded;
  for (std::size_t i = 0; i < specs.size(); ++i)
    PENSTOCK_TRY(chain.add(specs[i], i + 1 < specs.size() ? &specs[i + 1] : nullptr, at));
  if (!chain.a2b_) return bad_configuration("codecs: an array->bytes codec such as bytes is missing");
  PENSTOCK_TRY(chain.measure());
  PENSTOCK_TRY(chain.lay_out());
  if (chain.a2a_.empty() && chain.b2b_.empty()) chain.sharding_ = dynamic_cast<ShardingCodec*>(chain.a2b_.get());
  return chain;
}

/// Follows the sizes along the bytes->bytes codecs.
Status CodecChain::measure() {
  std::optional<std::uint64_t> exact = a2b_->encoded_size();
  std::uint64_t most = a2b_->max_encoded_size().value_or(kMax);
  for (const auto& codec : b2b_) {
    sizes_.push_back({exact, exact ? *exact : (most == kMax ? kMax : with_slack(most))});
    if (exact) exact = codec->encoded_size(*exact);
    most = most == kMax ? kMax : codec->max_encoded_size(most);
    if (exact) most = *exact;
  }
  encoded_size_ = exact;
  if (most != kMax) max_encoded_size_ = most;
  return {};
}

/// Composes the leading permutations into strides of the decoded chunk.
Status CodecChain::lay_out() {
  while (layout_codecs_ < a2a_.size() && is_permutation_only(*a2a_[layout_codecs_])) ++layout_codecs_;
  plain_ = layout_codecs_ == a2a_.size() && a2b_->is_plain();
  layout_.swap = plain_ && a2b_->swaps_bytes();

  const Shape& shape = decoded_.shape;
  std::vector<std::uint32_t> axes(shape.size());  // encoded axis i is decoded axis axes[i]
  std::iota(axes.begin(), axes.end(), 0U);
  for (std::size_t k = 0; k < layout_codecs_; ++k) {
    const auto order = a2a_[k]->permutation();
    std::vector<std::uint32_t> next(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) next[i] = axes[order[i]];
    axes = std::move(next);
  }
  Shape encoded(shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) encoded[i] = shape[axes[i]];
  PENSTOCK_ASSIGN(const Strides encoded_strides, c_strides(encoded, decoded_.dtype.size_bytes));
  PENSTOCK_ASSIGN(const Strides plain_strides, c_strides(shape, decoded_.dtype.size_bytes));
  layout_.strides.resize(shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) layout_.strides[axes[i]] = encoded_strides[i];
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && layout_.strides[d] != plain_strides[d]) layout_.c_order = false;
  return {};
}

const ShardingCodec* CodecChain::sharding() const { return sharding_; }

bool CodecChain::is_uncompressed() const { return b2b_.empty() && plain_; }

std::string CodecChain::text() const {
  std::string text;
  const auto append = [&](const Codec& codec) { text += (text.empty() ? "" : " + ") + codec.spec().name; };
  for (const auto& codec : a2a_) append(*codec);
  append(*a2b_);
  for (const auto& codec : b2b_) append(*codec);
  return text;
}

Result<std::vector<CodecSpec>> CodecChain::complete(std::span<const CodecSpec> specs, int zarr_format) const {
  std::vector<CodecSpec> full;
  const auto append = [&](const Codec& codec) { full.push_back(codec.spec()); };
  for (const auto& codec : a2a_) append(*codec);
  append(*a2b_);
  for (const auto& codec : b2b_) append(*codec);
  if (full.size() != specs.size()) return Error(ErrorCode::internal, "a chain completed from other specs");
  for (std::size_t i = 0; i < specs.size(); ++i) {
    // Another schema under another name ("numcodecs.blosc"), whose members all have defaults.
    const bool of_numcodecs = specs[i].name != full[i].name && specs[i].name.starts_with("numcodecs.");
    PENSTOCK_ASSIGN(const Json given, configuration_of(specs[i]));
    PENSTOCK_ASSIGN(const Json made, configuration_of(full[i]));
    if ((of_numcodecs && zarr_format == 3) || (specs[i].name == full[i].name && same_members(given, made)))
      full[i] = specs[i];
  }
  return full;
}

/// Undoes the bytes->bytes codecs.  The result lies in `in`, in a scratch buffer, or in `*direct` when it is given and
/// the last codec could write there.
Result<ByteView> CodecChain::undo_bytes_codecs(ByteView in, const ByteSpan* direct, PingPong& buffers) const {
  ByteView current = in;
  for (std::size_t i = b2b_.size(); i-- > 0;) {
    const BytesToBytes& codec = *b2b_[i];
    const StageSize& size = sizes_[i];
    if (codec.keeps_bytes()) {
      PENSTOCK_ASSIGN_IN(current, codec.decode_view(current), in_codec(codec));
      if (size.exact && current.size() != *size.exact)
        return std::move(wrong_size(*size.exact, current.size()).add_context(in_codec(codec)));
      continue;
    }
    if (i == 0 && direct != nullptr) {
      Sink sink(*direct);
      PENSTOCK_TRY_IN(codec.decode(current, sink), in_codec(codec));
      current = *direct;
      continue;
    }
    Bytes& to = buffers.next();
    if (size.exact) {
      PENSTOCK_TRY(to.resize_discard(*size.exact));
      Sink sink(to.span());
      PENSTOCK_TRY_IN(codec.decode(current, sink), in_codec(codec));
    } else {
      Sink sink(to, size.limit == kMax ? unbounded_limit(current.size()) : size.limit);
      PENSTOCK_TRY_IN(codec.decode(current, sink), in_codec(codec));
    }
    current = to.view();
  }
  return current;
}

/// Undoes array->bytes and the array codecs but for the first `keep`, into `out`.
Status CodecChain::undo_array_codecs(ByteView in, ByteSpan out, std::size_t keep, PingPong& buffers,
                                     const DecodeContext& context) const {
  std::size_t k = a2a_.size();
  if (k == keep) {
    PENSTOCK_TRY_IN(a2b_->decode(in, out, context), in_codec(*a2b_));
    return {};
  }
  ByteView current = in;
  PENSTOCK_ASSIGN(const std::uint64_t size, a2a_.back()->encoded().size_bytes());
  if (a2b_->is_plain() && !a2b_->swaps_bytes()) {  // the bytes are the elements
    if (in.size() != size) return std::move(wrong_size(size, in.size()).add_context(in_codec(*a2b_)));
  } else {
    Bytes& to = buffers.next();
    PENSTOCK_TRY(to.resize_discard(size));
    PENSTOCK_TRY_IN(a2b_->decode(in, to.span(), context), in_codec(*a2b_));
    current = to.view();
  }
  for (; k-- > keep;) {
    ByteSpan to = out;
    if (k > keep) {
      PENSTOCK_ASSIGN(const std::uint64_t bytes, a2a_[k - 1]->encoded().size_bytes());
      Bytes& buffer = buffers.next();
      PENSTOCK_TRY(buffer.resize_discard(bytes));
      to = buffer.span();
    }
    PENSTOCK_TRY_IN(a2a_[k]->decode(current, to), in_codec(*a2a_[k]));
    current = to;
  }
  return {};
}

Status CodecChain::decode_to_layout(ByteView in, ByteSpan out, ScratchBuffers& scratch,
                                    const DecodeContext& context) const {
  if (out.size() != decoded_size_) return Error(ErrorCode::internal, "decode_to_layout: the output has the wrong size");
  PingPong buffers(scratch);
  PENSTOCK_ASSIGN(const ByteView bytes, undo_bytes_codecs(in, plain_ ? &out : nullptr, buffers));
  if (!plain_) return undo_array_codecs(bytes, out, layout_codecs_, buffers, context);
  if (bytes.data() == out.data()) return {};
  if (bytes.size() != out.size()) return std::move(wrong_size(out.size(), bytes.size()).add_context(in_codec(*a2b_)));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size());
  return {};
}

Status CodecChain::decode(ByteView in, ByteSpan out, ScratchBuffers& scratch, const DecodeContext& context) const {
  if (layout_.c_order) {
    PENSTOCK_TRY(decode_to_layout(in, out, scratch, context));
    if (layout_.swap) swap_units(out, decoded_.dtype);
    return {};
  }
  if (out.size() != decoded_size_) return Error(ErrorCode::internal, "decode: the output has the wrong size");
  PingPong buffers(scratch);
  PENSTOCK_ASSIGN(const ByteView bytes, undo_bytes_codecs(in, nullptr, buffers));
  return undo_array_codecs(bytes, out, 0, buffers, context);
}

/// Applies the bytes->bytes codecs, if there are any: the last one writes to `out`.
Status CodecChain::apply_bytes_codecs(ByteView in, Bytes& out, PingPong& buffers) const {
  ByteView current = in;
  for (std::size_t i = 0; i < b2b_.size(); ++i) {
    Bytes& to = i + 1 == b2b_.size() ? out : buffers.next();
    PENSTOCK_TRY_IN(b2b_[i]->encode(current, to), in_codec(*b2b_[i]));
    current = to.view();
  }
  return {};
}

Status CodecChain::encode_raw(ByteView in, Bytes& out, ScratchBuffers& scratch) const {
  if (in.size() != decoded_size_ || !plain_)
    return Error(ErrorCode::internal, "encode_raw: the input has the wrong size, or the chain is not plain");
  if (b2b_.empty()) {
    out.clear();
    return out.append(in);
  }
  PingPong buffers(scratch);
  return apply_bytes_codecs(in, out, buffers);
}

Status CodecChain::encode(ByteView in, Bytes& out, ScratchBuffers& scratch) const {
  if (in.size() != decoded_size_) return Error(ErrorCode::internal, "encode: the input has the wrong size");
  PingPong buffers(scratch);
  ByteView current = in;
  for (const auto& codec : a2a_) {
    PENSTOCK_ASSIGN(const std::uint64_t size, codec->encoded().size_bytes());
    Bytes& to = buffers.next();
    PENSTOCK_TRY(to.resize_discard(size));
    PENSTOCK_TRY_IN(codec->encode(current, to.span()), in_codec(*codec));
    current = to.view();
  }
  const bool elements_are_bytes = a2b_->is_plain() && !a2b_->swaps_bytes();
  if (b2b_.empty() || !elements_are_bytes) {
    Bytes& to = b2b_.empty() ? out : buffers.next();
    PENSTOCK_TRY_IN(a2b_->encode(current, to), in_codec(*a2b_));
    current = to.view();
  }
  return apply_bytes_codecs(current, out, buffers);
}

std::uint64_t CodecChain::piece_bytes() const {
  const bool elements_are_bytes = a2a_.empty() && a2b_->is_plain() && !a2b_->swaps_bytes();
  return elements_are_bytes && b2b_.size() == 1 ? b2b_[0]->piece_bytes(decoded_size_) : 0;
}

Status CodecChain::encode_pieces(PieceSource& in, Bytes& out) const {
  if (in.size() != decoded_size_ || b2b_.size() != 1)
    return Error(ErrorCode::internal, "encode_pieces: the input has the wrong size, or the chain wants it as a whole");
  PENSTOCK_TRY_IN(b2b_[0]->encode_pieces(in, out), in_codec(*b2b_[0]));
  return {};
}

Result<std::optional<CodecChain>> CodecChain::quicker() const {
  std::vector<std::unique_ptr<BytesToBytes>> quick;
  bool any = false;
  for (const auto& codec : b2b_) any = (quick.emplace_back(codec->quicker()) != nullptr) || any;
  if (!any) return std::optional<CodecChain>();
  std::vector<CodecSpec> specs;
  for (const auto& codec : a2a_) specs.push_back(codec->spec());
  specs.push_back(a2b_->spec());
  for (const auto& codec : b2b_) specs.push_back(codec->spec());
  PENSTOCK_ASSIGN(CodecChain chain, make(specs, decoded_));
  for (std::size_t i = 0; i < quick.size(); ++i)
    if (quick[i]) chain.b2b_[i] = std::move(quick[i]);
  return std::optional(std::move(chain));
}

std::uint64_t CodecChain::scratch_bytes() const {
  // Every intermediate result is at most this large, and two exist at a time.
  std::uint64_t largest = 0;
  for (const auto& codec : a2a_) largest = std::max(largest, codec->encoded().size_bytes().value_or(decoded_size_));
  const bool direct = plain_ && layout_.c_order && !layout_.swap && b2b_.size() <= 1;
  if (direct) return 0;
  largest = std::max(largest, decoded_size_);
  for (std::size_t i = 1; i < sizes_.size(); ++i)
    if (sizes_[i].limit != kMax) largest = std::max(largest, sizes_[i].exact.value_or(sizes_[i].limit));
  return saturating_add(largest, largest);
}

}  // namespace penstock
