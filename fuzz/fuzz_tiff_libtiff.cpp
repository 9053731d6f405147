// LZW and PackBits of TIFF files against libtiff: the first byte chooses the codec, the next two how many bytes are
// wanted, the rest is a strip of one row.  Both make the same bytes, or both refuse.
#include <tiffio.h>

#include <algorithm>
#include <cstring>

#include "codec/list.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"
#include "core/json.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::Data;
using fuzz::demand;

namespace {

/// A file in memory, as libtiff asks for it.
struct File {
  Data bytes;
  toff_t at = 0;

  static File& of(thandle_t handle) { return *static_cast<File*>(handle); }
  static tmsize_t read(thandle_t handle, void* to, tmsize_t wanted) {
    File& file = of(handle);
    const toff_t left = file.bytes.size() - std::min<toff_t>(file.at, file.bytes.size());
    const auto count = static_cast<std::size_t>(std::min<toff_t>(left, static_cast<toff_t>(wanted)));
    std::memcpy(to, file.bytes.data() + file.at, count);
    file.at += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    File& file = of(handle);
    const toff_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.at : file.bytes.size();
    return file.at = base + offset;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return of(handle).bytes.size(); }
};

/// A classic TIFF whose only strip is `strip`.
Data file_of(const Data& strip, std::uint32_t width, std::uint32_t compression) {
  const std::pair<std::uint16_t, std::uint32_t> fields[] = {
      {256, width},       {257, 1}, {258, 8},
      {259, compression}, {262, 1}, {273, 8 + 2 + 9 * 12 + 4},
      {277, 1},           {278, 1}, {279, static_cast<std::uint32_t>(strip.size())}};
  Data out;
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> 8 * i));
  };
  put(0x4949, 2);
  put(42, 2);
  put(8, 4);
  put(std::size(fields), 2);
  for (const auto& [tag, value] : fields) {
    put(tag, 2);
    put(4, 2);  // LONG
    put(1, 4);
    put(value, 4);
  }
  put(0, 4);
  out.insert(out.end(), strip.begin(), strip.end());
  return out;
}

/// Whether libtiff makes all of `out` of it.
bool by_libtiff(const Data& strip, std::uint32_t compression, Data& out) {
  File file{file_of(strip, static_cast<std::uint32_t>(out.size()), compression)};
  TIFF* const tiff = TIFFClientOpen("memory", "rm", &file, File::read, File::write, File::seek, File::close, File::size,
                                    nullptr, nullptr);
  demand(tiff != nullptr);
  const tmsize_t made = TIFFReadEncodedStrip(tiff, 0, out.data(), static_cast<tmsize_t>(out.size()));
  TIFFClose(tiff);
  return made == static_cast<tmsize_t>(out.size());
}

bool by_us(const Data& strip, bool lzw, Data& out) {
  const ByteView in = std::as_bytes(std::span(strip));
  const ByteSpan to = std::as_writable_bytes(std::span(out));
  if (lzw) {
    const auto variant = penstock::tiff::is_old_style_lzw(in) ? penstock::tiff::LzwVariant::old_style
                                                              : penstock::tiff::LzwVariant::standard;
    return penstock::tiff::decode_lzw(in, to, variant).has_value();
  }
  static const auto codec = find_file_codec("tiff.packbits")->make(*parse_json("{}"), {{1}, DType::uint8(), {}});
  Sink sink(to);
  return std::get<std::unique_ptr<BytesToBytes>>(*codec)->decode(in, sink).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool silent = [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
    return true;
  }();
  if (!silent || size < 4) return 0;
  const bool lzw = data[0] % 2 == 0;
  const std::uint32_t wanted = fuzz::wanted_size(data + 1);
  if (wanted == 0) return 0;
  const Data strip(data + 3, data + size);
  Data ours(wanted), theirs(wanted);
  const bool ok = by_us(strip, lzw, ours);
  const bool reference = by_libtiff(strip, lzw ? COMPRESSION_LZW : COMPRESSION_PACKBITS, theirs);
  demand(ok == reference);
  demand(!ok || ours == theirs);
  return 0;
}
