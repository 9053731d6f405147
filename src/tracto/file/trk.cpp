#include "tracto/file/trk.hpp"

#include <Eigen/LU>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
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

  Result<std::unique_ptr<PointSink>> begin(const StreamlineBatch& batch) override {
    count_ += batch.lengths.size();
    if (count_ > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
      return Error(ErrorCode::unsupported, "TRK counts no more than 2^31 - 1 streamlines; TRX does");
    auto sink = std::make_unique<Sink>(*this, end_, batch);
    for (const std::uint32_t length : batch.lengths)
      end_ += sizeof(float) * (std::uint64_t{3} * length + (numbered_ ? 3 : 2));
    return std::unique_ptr<PointSink>(std::move(sink));
  }

  Status finish(const std::function<Status()>& check) override {
    PENSTOCK_TRY(check());
    PENSTOCK_TRY(file_.writer->write_at(0, header()));
    return file_.writer->commit();
  }

  [[nodiscard]] std::string_view format() const override { return "TRK"; }

 private:
  /// Each streamline as its number of points, the points, and what is said of it.
  class Sink final : public PointSink {
   public:
    Sink(TrkWriter& file, std::uint64_t at, const StreamlineBatch& batch)
        : file_(file),
          at_(at),
          lengths_(batch.lengths.begin(), batch.lengths.end()),
          lengths_mm_(batch.lengths_mm.begin(), batch.lengths_mm.end()) {
      if (file.numbered_) numbers_.assign(batch.seed_numbers.begin(), batch.seed_numbers.end());
    }
    Status write(ByteView points, PointType) override {
      out_.clear();
      std::array<float, 3> world = {};
      for (std::size_t at = 0; at < points.size(); at += sizeof world) {
        std::memcpy(world.data(), points.data() + at, sizeof world);
        if (done_ == 0) begin_line();
        const Eigen::Vector3d from = Eigen::Vector3d(world[0], world[1], world[2]) - file_.origin_;
        const Eigen::Vector3d voxel = file_.voxel_from_world_ * from;
        for (int d = 0; d < 3; ++d) out_.push_back(static_cast<float>((voxel[d] + 0.5) * file_.size_[d]));
        if (++done_ == lengths_[line_]) end_line();
      }
      return put();
    }
    Status end() override {
      out_.clear();
      end_lines_without_points();
      return put();
    }

   private:
    void begin_line() {
      end_lines_without_points();
      put_count();
    }
    void put_count() {
      float count = 0;
      const auto n = static_cast<std::int32_t>(lengths_[line_]);
      std::memcpy(&count, &n, sizeof n);
      out_.push_back(count);
    }
    void end_line() {
      if (file_.numbered_) out_.push_back(static_cast<float>(numbers_[line_]));
      out_.push_back(lengths_mm_[line_++]);
      done_ = 0;
    }
    void end_lines_without_points() {
      while (line_ < lengths_.size() && lengths_[line_] == 0) {
        put_count();
        end_line();
      }
    }
    Status put() {
      const ByteView bytes = std::as_bytes(std::span(out_));
      const std::uint64_t at = std::exchange(at_, at_ + bytes.size());
      return file_.file_.writer->write_at(at, bytes);
    }
    TrkWriter& file_;
    std::uint64_t at_;
    std::vector<std::uint32_t> lengths_;
    std::vector<float> lengths_mm_;
    std::vector<std::uint64_t> numbers_;
    std::size_t line_ = 0;    ///< the streamline that comes
    std::uint32_t done_ = 0;  ///< points of it
    std::vector<float> out_;
  };

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
  std::uint64_t count_ = 0, end_ = kHeaderBytes;
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
