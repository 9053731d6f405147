// By libjpeg-turbo.  Its errors jump: nothing in the functions that it jumps across may need a destructor.
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>

#include <fmt/format.h>

#include "codec/support.hpp"
#include "codec/tiff_jpeg/tiff_jpeg.hpp"

namespace penstock::tiff {
namespace {

/// More scans of a progressive image are an attack: each goes over all of it.
constexpr int kMaxScans = 100;

enum class Outcome : std::uint8_t { good, failed, other_shape, other_bits, other_samples, too_many_scans };

struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf failed;
  char message[JMSG_LENGTH_MAX];
  bool scans_exceeded;
};

Decoder& decoder_of(j_common_ptr jpeg) { return *static_cast<Decoder*>(jpeg->client_data); }

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Decoder& decoder = decoder_of(jpeg);
  jpeg->err->format_message(jpeg, decoder.message);
  std::longjmp(decoder.failed, 1);  // NOLINT(cert-err52-cpp): the library has no other way
}

/// A warning (data that end early, a wrong code): the library would go on with made-up pixels.
void on_message(j_common_ptr jpeg, int level) {
  if (level < 0) on_error(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  Decoder& decoder = decoder_of(jpeg);
  if (decoder.jpeg.input_scan_number <= kMaxScans) return;
  decoder.scans_exceeded = true;
  std::longjmp(decoder.failed, 1);  // NOLINT(cert-err52-cpp)
}

Outcome run(Decoder& d, ByteView tables, ByteView in, const JpegImage& image, ByteSpan out) {
  d.jpeg.err = jpeg_std_error(&d.errors);
  d.errors.error_exit = on_error;
  d.errors.emit_message = on_message;
  d.jpeg.client_data = &d;
  if (setjmp(d.failed) != 0)
    return d.scans_exceeded ? Outcome::too_many_scans : Outcome::failed;  // NOLINT(cert-err52-cpp)
  jpeg_create_decompress(&d.jpeg);
  d.jpeg.client_data = &d;
  d.jpeg.progress = &d.progress;
  d.progress.progress_monitor = on_progress;
  if (!tables.empty()) {
    jpeg_mem_src(&d.jpeg, reinterpret_cast<const unsigned char*>(tables.data()), tables.size());
    jpeg_read_header(&d.jpeg, FALSE);
  }
  jpeg_mem_src(&d.jpeg, reinterpret_cast<const unsigned char*>(in.data()), in.size());
  jpeg_read_header(&d.jpeg, TRUE);
  if (d.jpeg.data_precision != 8) return Outcome::other_bits;
  if (d.jpeg.num_components != static_cast<int>(image.samples)) return Outcome::other_samples;
  if (d.jpeg.image_width != image.width || d.jpeg.image_height < image.height || d.jpeg.image_height > image.max_height)
    return Outcome::other_shape;
  d.jpeg.jpeg_color_space = image.is_ycbcr ? JCS_YCbCr : JCS_UNKNOWN;
  d.jpeg.out_color_space = image.is_ycbcr ? JCS_RGB : JCS_UNKNOWN;
  jpeg_start_decompress(&d.jpeg);
  const std::size_t row_bytes = image.width * image.samples;
  for (std::size_t row = 0; row < image.height; ++row) {
    auto* to = reinterpret_cast<JSAMPROW>(out.data() + row * row_bytes);
    if (jpeg_read_scanlines(&d.jpeg, &to, 1) != 1) return Outcome::failed;
  }
  return Outcome::good;
}

}  // namespace

Status decode_jpeg(ByteView tables, ByteView in, const JpegImage& image, ByteSpan out) {
  if (out.size() != image.width * image.height * image.samples)
    return corrupt(
        fmt::format("{} bytes of JPEG expected, {} wanted", image.width * image.height * image.samples, out.size()));
  Decoder d;
  std::memset(&d, 0, sizeof d);
  const Outcome outcome = run(d, tables, in, image, out);
  const auto width = d.jpeg.image_width, height = d.jpeg.image_height;
  const int bits = d.jpeg.data_precision, samples = d.jpeg.num_components;
  jpeg_destroy_decompress(&d.jpeg);
  switch (outcome) {
    case Outcome::good: return {};
    case Outcome::failed: return corrupt(fmt::format("JPEG: {}", d.message));
    case Outcome::too_many_scans: return corrupt(fmt::format("JPEG of more than {} scans", kMaxScans));
    case Outcome::other_bits: return Error(ErrorCode::unsupported, fmt::format("JPEG of {} bits a sample", bits));
    case Outcome::other_samples:
      return corrupt(fmt::format("JPEG of {} samples a pixel, {} wanted", samples, image.samples));
    case Outcome::other_shape: break;
  }
  return corrupt(fmt::format("JPEG of {} x {} pixels, {} x {} wanted", height, width, image.height, image.width));
}

}  // namespace penstock::tiff
