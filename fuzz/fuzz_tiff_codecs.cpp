// Bytes for the decoders of TIFF files: the first byte chooses one and the size of its output.  What a decoder makes,
// it makes again; LZW that was encoded from what it made decodes to it.
#include <vector>

#include "codec/chain.hpp"
#include "codec/list.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"
#include "core/json.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::demand;

namespace {

std::unique_ptr<BytesToBytes> made(const char* name, const char* configuration) {
  auto codec = find_file_codec(name)->make(*parse_json(configuration), {{1}, DType::uint8(), {}});
  demand(codec.has_value());
  return std::move(*std::get_if<std::unique_ptr<BytesToBytes>>(&*codec));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<BytesToBytes> codecs[] = {
      made("tiff.lzw", "{}"), made("tiff.lzw", R"({"variant":"old_style"})"), made("tiff.packbits", "{}")};
  static const auto jpeg = CodecChain::make(std::vector<CodecSpec>{{"tiff.jpeg", R"({"samples":3,"color":"ycbcr"})"}},
                                            {{16, 16, 3}, DType::uint8(), {}});
  if (size == 0) return 0;
  const ByteView in = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] % 4 == 3) {
    std::vector<std::byte> pixels(16 * 16 * 3);
    ScratchBuffers scratch;
    (void)jpeg->decode(in, pixels, scratch, {});
    return 0;
  }
  const BytesToBytes& codec = *codecs[data[0] % 4];
  std::vector<std::byte> out(std::size_t{1} << data[0] / 4 % 16, std::byte{0xa5}), again(out.size());
  Sink sink(out), second(again);
  if (!codec.decode(in, sink)) return 0;
  demand(codec.decode(in, second).has_value() && out == again);
  Bytes encoded;
  demand(tiff::encode_lzw(out, encoded).has_value());
  demand(tiff::decode_lzw(ByteView(encoded.data(), encoded.size()), again, tiff::LzwVariant::standard).has_value());
  demand(out == again);
  return 0;
}
