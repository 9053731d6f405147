#include "codec/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/support.hpp"

namespace penstock {
namespace {

/// First size of a buffer whose final size nobody knows.
std::uint64_t first_guess(ByteView in) { return in.size() * 4 + 4096; }

Error too_much(std::uint64_t limit) {
  return corrupt(fmt::format("the data hold more than the {} bytes that are possible here", limit));
}

}  // namespace

std::size_t leading_zeros(ByteView bytes) {
  const auto end = std::ranges::find_if(bytes, [](std::byte b) { return b != std::byte{0}; });
  return static_cast<std::size_t>(end - bytes.begin());
}

namespace {

/// What follows a full output: a checksum, or more that was stored, of which as much again is looked at.  Damage often
/// makes a stream longer, so that its checksum would not be met.
Status check_rest(StreamDecoder& decoder, ByteView in, std::size_t at, std::size_t full) {
  std::array<std::byte, 4096> more{};
  for (std::size_t seen = 0; seen <= full;) {
    const auto step = decoder.step(in.subspan(at), more);
    if (!step) return corrupt_at(step.error().message(), at);
    at += step->used;
    seen += step->made;
    if (step->end || (step->used == 0 && step->made == 0)) return {};
  }
  return {};
}

}  // namespace

Status decode_stream(StreamDecoder& decoder, ByteView in, Sink& out, StreamEnd end) {
  if (in.empty()) return corrupt("no data");
  PENSTOCK_ASSIGN(ByteSpan to, out.reserve_up_to(out.expected().value_or(first_guess(in))));
  std::array<std::byte, 1> spare{};  // a full output: shows whether there is more
  std::size_t at = 0;
  std::size_t made = 0;
  for (;;) {
    if (end == StreamEnd::full_output && made == out.expected()) {
      PENSTOCK_TRY(check_rest(decoder, in, at, made));
      return out.finish(made);
    }
    if (made == to.size() && made < out.limit()) {
      PENSTOCK_ASSIGN(to, out.grow_further(made));
    }
    const bool full = made == to.size();
    auto step = decoder.step(in.subspan(at), full ? ByteSpan(spare) : to.subspan(made));
    if (!step) {
      const Error& error = step.error();
      return error.code() == ErrorCode::corrupt_data ? corrupt_at(error.message(), at) : error;
    }
    at += step->used;
    if (full && step->made > 0) return too_much(out.limit());
    made += step->made;
    if (step->end) {
      if (end == StreamEnd::full_output && made == out.expected()) return out.finish(made);
      at += decoder.padding(in.subspan(at));
      if (at == in.size()) return out.finish(made);
      if (!decoder.begins_member(in.subspan(at))) return corrupt_at("bytes follow the end of the stream", at);
      PENSTOCK_TRY(decoder.restart());
      continue;
    }
    if (step->used == 0 && step->made == 0) return corrupt_at("the data end inside the stream", at);
  }
}

}  // namespace penstock
