// Bytes for every bytes->bytes decoder: the first byte chooses the codec.  The output is once of a fixed size, once a
// buffer that may grow to a limit.
#include <cstdint>
#include <vector>

#include "codec/list.hpp"
#include "core/json.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::demand;

namespace {

constexpr std::uint64_t kLimit = 1 << 16;

std::vector<std::unique_ptr<BytesToBytes>> make_codecs() {
  std::vector<std::unique_ptr<BytesToBytes>> codecs;
  const ChunkSpec chunk{{240}, DType::uint16(), {}};
  for (const char* name : {"zstd", "gzip", "blosc", "numcodecs.lz4", "numcodecs.zlib", "numcodecs.bz2",
                           "numcodecs.lzma", "numcodecs.shuffle", "crc32c", "numcodecs.crc32", "numcodecs.adler32",
                           "numcodecs.fletcher32", "numcodecs.jenkins_lookup3"}) {
    auto made = find_codec(name)->make(Json::object(), chunk);
    demand(made.has_value());
    codecs.push_back(std::move(*std::get_if<std::unique_ptr<BytesToBytes>>(&*made)));
  }
  return codecs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto codecs = make_codecs();
  if (size == 0) return 0;
  const BytesToBytes& codec = *codecs[data[0] % codecs.size()];
  const ByteView in = std::as_bytes(std::span(data + 1, size - 1));
  Bytes grown;
  Sink growing(grown, kLimit);
  const bool ok = codec.decode(in, growing).has_value();
  demand(grown.size() <= kLimit);
  if (!ok) return 0;
  // What was decoded without knowing the size decodes to the same with it, and to no other size.
  std::vector<std::byte> exact(grown.size(), std::byte{0xa5});
  Sink fixed(exact);
  demand(codec.decode(in, fixed).has_value());
  demand(ByteView(exact).size() == grown.size() && std::equal(exact.begin(), exact.end(), grown.data()));
  std::vector<std::byte> larger(grown.size() + 1);
  Sink wrong(larger);
  demand(!codec.decode(in, wrong).has_value());
  return 0;
}
