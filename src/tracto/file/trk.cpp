#include "tracto/file/trk.hpp"

#include <Eigen/LU>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tracto/file/object_file.hpp"

namespace penstock::tracto {
namespace {

constexpr std::size_t kHeaderBytes = 1000;

class TrkWriter final : public TractogramWriter {
 public:
  TrkWriter(ObjectFile file, const ImageGrid& grid, bool numbered)
      : file_(std::move(file)), grid_(grid), numbered_(numbered) {
    const auto& m = grid.world_from_voxel.rows;
    Eigen::Matrix3d rotation;
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) rotation(i, k) = m[static_cast<std::size_t>(4 * i + k)];
      origin_[i] = m[static_cast<std::size_t>(4 * i + 3)];
    }
    size_ = rotation.colwise().norm();
    voxel_from_world_ = rotation.inverse();
  }

  Status begin() { return file_.writer->append(header()); }

  Status append(const StreamlineBatch& batch) override {
    std::vector<float> out;
    out.reserve(batch.points.size() * 3 + batch.lengths.size() * 3);
    std::size_t at = 0;
    for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
      float count = 0;
      const auto n = static_cast<std::int32_t>(batch.lengths[i]);
      std::memcpy(&count, &n, sizeof n);
      out.push_back(count);
      for (std::uint32_t p = 0; p < batch.lengths[i]; ++p, ++at) {
        const auto& world = batch.points[at];
        const Eigen::Vector3d voxel = voxel_from_world_ * (Eigen::Vector3d(world[0], world[1], world[2]) - origin_);
        for (int d = 0; d < 3; ++d) out.push_back(static_cast<float>((voxel[d] + 0.5) * size_[d]));
      }
      if (numbered_) out.push_back(static_cast<float>(batch.seed_numbers[i]));
      out.push_back(batch.lengths_mm[i]);
    }
    count_ += batch.lengths.size();
    if (count_ > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
      return Error(ErrorCode::unsupported, "TRK counts no more than 2^31 - 1 streamlines; TRX does");
    return file_.writer->append(std::as_bytes(std::span(out)));
  }

  Status finish(const std::function<Status()>& check) override {
    PENSTOCK_TRY(check());
    PENSTOCK_TRY(file_.writer->write_at(0, header()));
    return file_.writer->commit();
  }

  [[nodiscard]] std::string_view format() const override { return "TRK"; }

 private:
  ByteView header() {
    head_ = {};
    const auto put = [&](std::size_t at, auto value) { std::memcpy(head_.data() + at, &value, sizeof value); };
    std::memcpy(head_.data(), "TRACK", 5);
    for (std::size_t d = 0; d < 3; ++d) {
      put(6 + 2 * d, static_cast<std::int16_t>(grid_.dims[d]));
      put(12 + 4 * d, static_cast<float>(size_[static_cast<Eigen::Index>(d)]));
    }
    put(238, std::int16_t{static_cast<std::int16_t>(numbered_ ? 2 : 1)});  // properties
    if (numbered_) std::memcpy(head_.data() + 240, "seed_index", 10);
    std::memcpy(head_.data() + (numbered_ ? 260 : 240), "length_mm", 9);
    for (std::size_t i = 0; i < 12; ++i) put(440 + 4 * i, static_cast<float>(grid_.world_from_voxel.rows[i]));
    put(440 + 4 * 15, 1.0f);
    const std::array<char, 3> orientation = orientation_of(grid_.world_from_voxel);
    std::memcpy(head_.data() + 948, orientation.data(), 3);
    put(988, static_cast<std::int32_t>(count_));
    put(992, std::int32_t{2});
    put(996, static_cast<std::int32_t>(kHeaderBytes));
    return head_;
  }

  ObjectFile file_;
  ImageGrid grid_;
  bool numbered_;
  Eigen::Matrix3d voxel_from_world_;
  Eigen::Vector3d origin_, size_;
  std::array<std::byte, kHeaderBytes> head_ = {};
  std::uint64_t count_ = 0;
};

}  // namespace

std::array<char, 3> orientation_of(const Affine& affine) {
  const auto& m = affine.rows;
  std::array<char, 3> out = {};
  std::array<bool, 3> taken = {}, named = {};
  for (int round = 0; round < 3; ++round) {  // the clearest axis first
    std::size_t axis = 0, to = 0;
    double most = -1;
    for (std::size_t k = 0; k < 3; ++k) {
      const double size = std::sqrt(m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]);
      for (std::size_t i = 0; i < 3 && !named[k]; ++i) {
        if (taken[i] || std::abs(m[4 * i + k]) / size <= most) continue;
        most = std::abs(m[4 * i + k]) / size;
        axis = k;
        to = i;
      }
    }
    taken[to] = named[axis] = true;
    out[axis] = m[4 * to + axis] < 0 ? "LPI"[to] : "RAS"[to];
  }
  return out;
}

Result<std::unique_ptr<TractogramWriter>> begin_trk(const std::string& path, const ImageGrid& grid,
                                                    const PerStreamline& says) {
  for (const std::uint64_t extent : grid.dims)
    if (extent > 32767)
      return Error(ErrorCode::invalid_argument, path + ": TRK says no more than 32767 voxels an axis");
  PENSTOCK_ASSIGN(ObjectFile file, ObjectFile::begin(path));
  auto writer = std::make_unique<TrkWriter>(std::move(file), grid, says.seed_numbers);
  PENSTOCK_TRY(writer->begin());
  return std::unique_ptr<TractogramWriter>(std::move(writer));
}

}  // namespace penstock::tracto
