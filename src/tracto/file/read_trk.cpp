#include <Eigen/LU>
#include <bit>
#include <cmath>

#include "tracto/file/grid_check.hpp"
#include "tracto/file/reader.hpp"
#include "tracto/file/trk.hpp"

namespace penstock::tracto {
namespace {

constexpr std::size_t kHeaderBytes = 1000;
constexpr std::int32_t kMaxNamed = 32767;

Error invalid(const std::string& text) { return {ErrorCode::invalid_metadata, text}; }

/// Numbers of a header in either byte order.
class Fields {
 public:
  Fields(ByteView bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}
  template <class T>
  [[nodiscard]] T get(std::size_t at) const {
    std::array<std::byte, sizeof(T)> raw = {};
    std::memcpy(raw.data(), bytes_.data() + at, sizeof(T));
    if (swapped_) std::reverse(raw.begin(), raw.end());
    return std::bit_cast<T>(raw);
  }
  [[nodiscard]] std::string text(std::size_t at, std::size_t most) const {
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()) + at, most);
    return std::string(all.substr(0, all.find('\0')));
  }

 private:
  ByteView bytes_;
  bool swapped_;
};

/// Which axis of the image and which way along it an axis of the stored points is.
struct AxisMap {
  std::array<std::size_t, 3> to = {0, 1, 2};
  std::array<bool, 3> turned = {};
};

Result<AxisMap> match_axes(const std::string& stored, const std::array<char, 3>& image) {
  constexpr std::string_view kPairs[] = {"RL", "AP", "SI"};
  const auto pair_of = [&](char letter) -> std::size_t {
    std::size_t i = 0;
    while (i < 3 && kPairs[i].find(letter) == std::string_view::npos) ++i;
    return i;
  };
  AxisMap map;
  std::array<bool, 3> taken = {};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t pair = d < stored.size() ? pair_of(stored[d]) : 3;
    if (pair == 3) return invalid("voxel_order '" + stored.substr(0, 4) + "': must be three of R L, A P, S I");
    std::size_t axis = 0;
    while (pair_of(image[axis]) != pair) ++axis;
    if (taken[axis]) return invalid("voxel_order '" + stored.substr(0, 4) + "': names an axis twice");
    taken[axis] = true;
    map.to[d] = axis;
    map.turned[d] = image[axis] != stored[d];
  }
  return map;
}

class TrkReader final : public TractogramReader {
 public:
  explicit TrkReader(ObjectSource source) : source_(std::move(source)) {}

  Status begin() {
    if (source_.size_bytes() < kHeaderBytes)
      return Error(ErrorCode::corrupt_data,
                   "has " + std::to_string(source_.size_bytes()) + " bytes; the header alone has 1000");
    std::array<std::byte, kHeaderBytes> bytes = {};
    PENSTOCK_TRY(source_.read(bytes));
    const Fields little(bytes, false);
    if (!little.text(0, 6).starts_with("TRACK")) return invalid("id_string: does not begin with TRACK");
    swapped_ = little.get<std::int32_t>(996) != static_cast<std::int32_t>(kHeaderBytes);
    const Fields f(bytes, swapped_);
    if (f.get<std::int32_t>(996) != static_cast<std::int32_t>(kHeaderBytes))
      return invalid("hdr_size: is " + std::to_string(little.get<std::int32_t>(996)) + ", must be 1000");
    head_.format = "TRK";
    head_.number_type = "float32";
    PENSTOCK_TRY(read_counts(f));
    return read_grid(f);
  }

  Status next(StreamlineBlock& block) override {
    block = {};
    while (block.points.size() < kBlockPoints && block.lengths.size() < kBlockPoints) {
      if (head_.streamlines ? done_ == *head_.streamlines : source_.left() == 0) break;
      PENSTOCK_TRY_IN(read_line(block), "streamline " + std::to_string(done_) +
                                            (head_.streamlines ? " of " + std::to_string(*head_.streamlines) : ""));
      ++done_;
    }
    return {};
  }

 private:
  Status read_counts(const Fields& f) {
    const auto named = [&](std::size_t at, std::size_t names, std::int32_t& count) -> Status {
      count = f.get<std::int16_t>(at);
      if (count < 0 || count > kMaxNamed) return invalid("n_scalars, n_properties: must not be negative");
      for (std::int32_t i = 0; i < std::min(count, 10); ++i)
        head_.names.push_back(f.text(names + 20 * static_cast<std::size_t>(i), 20));
      return {};
    };
    PENSTOCK_TRY(named(36, 38, scalars_));
    PENSTOCK_TRY(named(238, 240, properties_));
    const auto count = f.get<std::int32_t>(988);
    if (count < 0) return invalid("n_count: is " + std::to_string(count));
    if (count > 0) head_.streamlines = static_cast<std::uint64_t>(count);
    // Each streamline has at least its number of points.
    if (static_cast<std::uint64_t>(count) > source_.left() / 4)
      return Error(ErrorCode::corrupt_data, "n_count: " + std::to_string(count) + " streamlines in " +
                                                std::to_string(source_.left()) + " bytes");
    return {};
  }

  Status read_grid(const Fields& f) {
    ImageGrid grid;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto extent = f.get<std::int16_t>(6 + 2 * d);
      grid.dims[d] = static_cast<std::uint64_t>(std::max<std::int16_t>(extent, 0));
      size_[d] = static_cast<double>(f.get<float>(12 + 4 * d));
      if (!std::isfinite(size_[d]) || !(size_[d] > 0)) return invalid("voxel_size: must be above 0");
    }
    // Without a transformation (version 1) the axes are those of the world, as NiBabel takes it.
    const bool said = f.get<std::int32_t>(992) >= 2 && f.get<float>(440 + 60) != 0;
    for (std::size_t i = 0; said && i < 12; ++i)
      grid.world_from_voxel.rows[i] = static_cast<double>(f.get<float>(440 + 4 * i));
    PENSTOCK_TRY(check_grid(grid));
    std::string order = f.text(948, 4);
    if (order.empty()) order = "LPS";
    PENSTOCK_ASSIGN(axes_, match_axes(order, orientation_of(grid.world_from_voxel)));
    for (std::size_t d = 0; d < 3; ++d) stored_dims_[d] = static_cast<double>(grid.dims[d]);
    const auto dims = grid.dims;
    for (std::size_t d = 0; d < 3; ++d) grid.dims[axes_.to[d]] = dims[d];
    head_.grid = grid;
    return {};
  }

  Status read_line(StreamlineBlock& block) {
    std::int32_t n = 0;
    PENSTOCK_TRY(source_.read(std::as_writable_bytes(std::span(&n, 1))));
    if (swapped_) n = std::bit_cast<std::int32_t>(__builtin_bswap32(std::bit_cast<std::uint32_t>(n)));
    const std::uint64_t columns = 3 + static_cast<std::uint64_t>(scalars_);
    const auto points = static_cast<std::uint64_t>(std::max(n, 0));
    if (n < 0 || points > source_.left() / (4 * columns))
      return Error(ErrorCode::corrupt_data, "says it has " + std::to_string(n) + " points; " +
                                                std::to_string(source_.left()) + " bytes are left");
    if (points > kMaxLinePoints) return Error(ErrorCode::unsupported, "has " + std::to_string(n) + " points");
    row_.resize(columns);
    for (std::uint64_t i = 0; i < points; ++i) {
      PENSTOCK_TRY(source_.read(std::as_writable_bytes(std::span(row_))));
      block.points.push_back(world(row_));
    }
    row_.resize(static_cast<std::size_t>(properties_));
    PENSTOCK_TRY(source_.read(std::as_writable_bytes(std::span(row_))));
    block.lengths.push_back(static_cast<std::uint32_t>(points));
    return {};
  }

  /// Stored points are millimetres from the corner of the first voxel, along axes in the order of voxel_order.
  std::array<float, 3> world(std::vector<float>& row) const {
    std::array<double, 3> voxel = {};
    for (std::size_t d = 0; d < 3; ++d) {
      float value = row[d];
      if (swapped_) value = std::bit_cast<float>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
      const double at = static_cast<double>(value) / size_[d] - 0.5;
      voxel[axes_.to[d]] = axes_.turned[d] ? stored_dims_[d] - 1 - at : at;
    }
    std::array<float, 3> out = {};
    const auto& m = head_.grid->world_from_voxel.rows;
    for (std::size_t i = 0; i < 3; ++i)
      out[i] =
          static_cast<float>(m[4 * i] * voxel[0] + m[4 * i + 1] * voxel[1] + m[4 * i + 2] * voxel[2] + m[4 * i + 3]);
    return out;
  }

  ObjectSource source_;
  bool swapped_ = false;
  std::int32_t scalars_ = 0, properties_ = 0;
  std::array<double, 3> size_ = {}, stored_dims_ = {};
  AxisMap axes_;
  std::uint64_t done_ = 0;
  std::vector<float> row_;
};

}  // namespace

Result<std::unique_ptr<TractogramReader>> read_trk(ObjectSource source) {
  auto reader = std::make_unique<TrkReader>(std::move(source));
  PENSTOCK_TRY(reader->begin());
  return std::unique_ptr<TractogramReader>(std::move(reader));
}

}  // namespace penstock::tracto
