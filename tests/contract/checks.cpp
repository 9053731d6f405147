#include "contract/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codec/strided.hpp"
#include "contract/guarded.hpp"

namespace penstock::contract {
namespace {

Check failed(std::string text) { return {Outcome::failed, std::move(text)}; }

}  // namespace

std::optional<Prepared> prepare(const Case& c, const ChunkSpec& chunk, Check& check) {
  auto chain = CodecChain::make(c.chain(chunk), chunk);
  const auto refuse = [&](const Error& error) {
    const bool reason = error.code() == ErrorCode::unsupported || error.code() == ErrorCode::invalid_metadata;
    check = {reason ? Outcome::not_supported : Outcome::failed, error.message()};
    return std::nullopt;
  };
  if (!chain) return refuse(chain.error());
  Prepared out{*std::move(chain), sample(chunk), {}};
  const Guarded input(out.data);
  ScratchBuffers scratch;
  if (const auto status = out.chain.encode(input.view(), out.encoded, scratch); !status) return refuse(status.error());
  if (!input.intact() || !std::ranges::equal(input.view(), out.data)) check = failed("encode changed its input");
  return out;
}

namespace {

/// What decode_to_layout left to do, done.
std::vector<std::byte> placed(const CodecChain& chain, ByteView raw) {
  const ChunkSpec& chunk = chain.decoded();
  const std::size_t item = chunk.dtype.size_bytes;
  std::vector<std::byte> out(raw.size());
  copy_strided(out.data(), c_strides(chunk.shape, item).value(), raw.data(), chain.chunk_layout().strides, chunk.shape,
               item);
  const std::size_t unit = chunk.dtype.swap_unit();
  if (chain.chunk_layout().swap)
    for (std::size_t i = 0; i < out.size(); i += unit) std::reverse(out.data() + i, out.data() + i + unit);
  return out;
}

Check compare(const Case& c, const Prepared& p) {
  ScratchBuffers scratch;
  Arena arena;
  const DecodeContext context{&arena};
  const Guarded input(p.encoded);
  Guarded whole(p.data.size(), std::byte{0x5a});
  Guarded raw(p.data.size(), std::byte{0xa5});
  if (const auto s = p.chain.decode(input.view(), whole.span(), scratch, context); !s)
    return failed("decode: " + s.error().message());
  if (const auto s = p.chain.decode_to_layout(input.view(), raw.span(), scratch, context); !s)
    return failed("decode_to_layout: " + s.error().message());
  if (!input.intact() || !whole.intact() || !raw.intact()) return failed("a sentinel was overwritten");
  const DType& dtype = p.chain.decoded().dtype;
  if (!same_elements(dtype, placed(p.chain, raw.view()), whole.view()))
    return failed("decode_to_layout differs from decode");
  if (c.lossless(dtype) && !same_elements(dtype, whole.view(), p.data)) return failed("other values came back");
  return {};
}

/// The specs that the codecs print must make a chain that decodes the same chunk.
Check check_specs(const Prepared& p) {
  std::vector<CodecSpec> specs;
  for (const auto& codec : p.chain.array_codecs()) specs.push_back(codec->spec());
  specs.push_back(p.chain.array_to_bytes().spec());
  for (const auto& codec : p.chain.bytes_codecs()) specs.push_back(codec->spec());
  const auto chain = CodecChain::make(specs, p.chain.decoded());
  if (!chain) return failed("its own spec: " + chain.error().message());
  Guarded out(p.data.size(), std::byte{0});
  ScratchBuffers scratch;
  Arena arena;
  if (const auto s = chain->decode(p.encoded, out.span(), scratch, {&arena}); !s)
    return failed("its own spec: " + s.error().message());
  return {};
}

}  // namespace

Check check_round_trip(const Case& c, const ChunkSpec& chunk) {
  Check check;
  const auto p = prepare(c, chunk, check);
  if (!p || check.outcome != Outcome::passed) return check;
  if (p->chain.encoded_size() && *p->chain.encoded_size() != p->encoded.size())
    return failed(fmt::format("encoded to {} bytes, {} were promised", p->encoded.size(), *p->chain.encoded_size()));
  if (p->chain.max_encoded_size() && *p->chain.max_encoded_size() < p->encoded.size())
    return failed(
        fmt::format("encoded to {} bytes, at most {} promised", p->encoded.size(), *p->chain.max_encoded_size()));
  check = compare(c, *p);
  return check.outcome == Outcome::passed ? check_specs(*p) : check;
}

Check check_truncation(const Case& c, const ChunkSpec& chunk) {
  Check check;
  const auto p = prepare(c, chunk, check);
  if (!p || check.outcome != Outcome::passed) return check;
  ScratchBuffers scratch;
  std::vector<std::byte> bytes(p->encoded.data(), p->encoded.data() + p->encoded.size());
  bytes.push_back(std::byte{0x77});
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    if (size == p->encoded.size()) continue;
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));  // ASan: exact
    Guarded out(p->data.size(), std::byte{0});
    Arena arena;
    const auto status = p->chain.decode(cut, out.span(), scratch, {&arena});
    if (!out.intact())
      return failed(fmt::format("{} of {} bytes: a sentinel was overwritten", size, p->encoded.size()));
    const bool same = status && same_elements(chunk.dtype, out.view(), p->data);
    if (status && !(c.padded && same))
      return failed(fmt::format("{} of {} bytes were accepted", size, p->encoded.size()));
    if (status) continue;
    if (status.error().code() == ErrorCode::internal)
      return failed(fmt::format("{} bytes: {}", size, status.error().message()));
  }
  return {};
}

Check check_bit_flips(const Case& c, const ChunkSpec& chunk) {
  Check check;
  const auto p = prepare(c, chunk, check);
  if (!p || check.outcome != Outcome::passed) return check;
  ScratchBuffers scratch;
  for (std::size_t bit = 0; bit < p->encoded.size() * 8; ++bit) {
    std::vector<std::byte> bytes(p->encoded.data(), p->encoded.data() + p->encoded.size());
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    Guarded one(p->data.size(), std::byte{0x00});
    Guarded two(p->data.size(), std::byte{0xff});
    Arena arena;
    const auto first = p->chain.decode(bytes, one.span(), scratch, {&arena});
    const auto second = p->chain.decode(bytes, two.span(), scratch, {&arena});
    const auto say = [&](std::string_view text) { return failed(fmt::format("bit {} flipped: {}", bit, text)); };
    if (!one.intact() || !two.intact()) return say("a sentinel was overwritten");
    if (first.has_value() != second.has_value()) return say("once an error, once not");
    if (!first && first.error().code() == ErrorCode::internal) return say(first.error().message());
    if (!first) continue;
    if (!same_elements(chunk.dtype, one.view(), two.view())) return say("part of the output was not written");
    if (c.checked && !same_elements(chunk.dtype, one.view(), p->data)) return say("the checksum let it pass");
  }
  return {};
}

}  // namespace penstock::contract
