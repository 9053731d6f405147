#include "tracto/file/nifti_map.hpp"

#include <zlib.h>

#include <cmath>
#include <cstring>

namespace penstock::tracto {
namespace {

constexpr std::size_t kHeadBytes = 352;

/// Header of version 1: little endian as all machines that penstock runs on.
std::array<std::byte, kHeadBytes> header(const std::array<std::uint64_t, 3>& dims, std::uint64_t components,
                                         const Affine& affine) {
  std::array<std::byte, kHeadBytes> head = {};
  const auto put = [&](std::size_t at, auto value) { std::memcpy(head.data() + at, &value, sizeof value); };
  put(0, std::int32_t{348});
  put(40, static_cast<std::int16_t>(components > 1 ? 4 : 3));
  for (std::size_t d = 0; d < 7; ++d) put(42 + 2 * d, std::int16_t{1});
  for (std::size_t d = 0; d < 3; ++d) put(42 + 2 * d, static_cast<std::int16_t>(dims[d]));
  put(48, static_cast<std::int16_t>(components));
  put(70, std::int16_t{16});  // float32
  put(72, std::int16_t{32});
  for (std::size_t d = 0; d < 8; ++d) put(76 + 4 * d, 1.0f);
  const auto& m = affine.rows;
  for (std::size_t d = 0; d < 3; ++d)
    put(80 + 4 * d, static_cast<float>(std::sqrt(m[d] * m[d] + m[4 + d] * m[4 + d] + m[8 + d] * m[8 + d])));
  put(108, static_cast<float>(kHeadBytes));
  put(112, 1.0f);
  put(123, std::uint8_t{2});  // millimetres
  put(254, std::int16_t{2});  // sform: aligned
  for (std::size_t i = 0; i < 12; ++i) put(280 + 4 * i, static_cast<float>(m[i]));
  std::memcpy(head.data() + 344, "n+1", 4);
  return head;
}

/// Deflates into one piece of memory that grows.
class Gzip {
 public:
  Gzip() { ready_ = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK; }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() {
    if (ready_) deflateEnd(&stream_);
  }
  Status add(ByteView bytes, int flush) {
    if (!ready_) return Error(ErrorCode::out_of_memory, "gzip");
    do {  // zlib counts in 32 bits
      const ByteView part = bytes.first(std::min<std::size_t>(bytes.size(), 1u << 30));
      bytes = bytes.subspan(part.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
      stream_.avail_in = static_cast<uInt>(part.size());
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
        stream_.avail_out = static_cast<uInt>(piece_.size());
        deflate(&stream_, bytes.empty() ? flush : Z_NO_FLUSH);
        PENSTOCK_TRY(out_.append(ByteView(piece_).first(piece_.size() - stream_.avail_out)));
      } while (stream_.avail_out == 0);
    } while (!bytes.empty());
    return {};
  }
  [[nodiscard]] ByteView view() const { return out_.view(); }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
  std::array<std::byte, 256 << 10> piece_;
  Bytes out_;
};

}  // namespace

Status write_map(Store& store, std::string_view name, const std::array<std::uint64_t, 3>& dims,
                 std::uint64_t components, const Affine& world_from_voxel, std::span<const float> values) {
  Gzip gzip;
  const auto head = header(dims, components, world_from_voxel);
  PENSTOCK_TRY(gzip.add(head, Z_NO_FLUSH));
  PENSTOCK_TRY(gzip.add(std::as_bytes(values), Z_FINISH));
  return store.set(std::string(name) + ".nii.gz", gzip.view());
}

}  // namespace penstock::tracto
