#include "tracto/file/trx.hpp"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <vector>

#include "core/json.hpp"
#include "penstock/store.hpp"
#include "store/posix.hpp"
#include "store/zip/writer.hpp"
#include "tracto/file/whole_folder.hpp"

namespace penstock::tracto {
namespace {

/// A member that grows beside the file.
struct Spool {
  std::string name;
  std::FILE* file = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;

  ~Spool() {
    if (file != nullptr) std::fclose(file);
  }
  Status begin() {
    file = std::tmpfile();
    if (file == nullptr) return errno_error(errno, "a temporary file for " + name);
    return {};
  }
  Status write(ByteView more) {
    if (more.empty()) return {};
    if (std::fwrite(more.data(), 1, more.size(), file) != more.size())
      return errno_error(errno, "the temporary file of " + name);
    bytes += more.size();
    crc32 = libdeflate_crc32(crc32, more.data(), more.size());
    return {};
  }
};

/// Bytes of the points that were written, with their checksum.
struct Part {
  std::uint64_t begin = 0, bytes = 0;
  std::uint32_t crc32 = 0;
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define PENSTOCK_HALF_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define PENSTOCK_HALF_CLONES
#endif
/// Compiled for processors that have the conversion too; it has one result.
PENSTOCK_HALF_CLONES void to_halves(const float* from, std::size_t n, _Float16* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<_Float16>(from[i]);
}

class TrxWriter final : public TractogramWriter {
 public:
  TrxWriter(std::string path, const ImageGrid& grid, const PerStreamline& says, PointType points)
      : path_(std::move(path)), grid_(grid), says_(says), type_(points) {
    while (path_.ends_with('/')) {
      is_folder_ = true;
      path_.pop_back();
    }
  }
  TrxWriter(const TrxWriter&) = delete;
  TrxWriter& operator=(const TrxWriter&) = delete;

  Status begin() {
    std::error_code code;
    if (!is_folder_ && std::filesystem::exists(path_, code)) {
      PENSTOCK_ASSIGN(replaced_, zip::open_source(path_));
    }
    const std::string positions = "positions.3." + std::string(point_type_name(type_));
    if (is_folder_) {
      PENSTOCK_ASSIGN(folder_, WholeFolder::begin(path_));
      PENSTOCK_ASSIGN(column_, folder_->store().writer(positions));
    } else {
      PENSTOCK_ASSIGN(zip_, zip::Writer::begin(path_));
      PENSTOCK_ASSIGN(growing_, zip_->begin_growing(positions));
    }
    std::vector<const char*> names = {"offsets.uint64", "dps/length_mm.float32"};
    if (says_.seed_points) names.push_back("dps/seed.3.float32");
    if (says_.seed_numbers) names.push_back("dps/seed_index.uint64");
    if (says_.reasons) names.push_back("dps/reason.2.uint8");
    for (const char* name : names) {
      members_.push_back(std::make_unique<Spool>());
      members_.back()->name = name;
      PENSTOCK_TRY(members_.back()->begin());
    }
    return {};
  }

  Result<std::unique_ptr<PointSink>> begin(const StreamlineBatch& batch) override {
    const std::uint64_t first = points_;
    std::vector<std::uint64_t> offsets(batch.lengths.size());
    for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
      offsets[i] = points_;
      points_ += batch.lengths[i];
    }
    streamlines_ += batch.lengths.size();
    std::vector<ByteView> parts = {std::as_bytes(std::span(offsets)), std::as_bytes(batch.lengths_mm)};
    if (says_.seed_points) parts.push_back(std::as_bytes(batch.seed_points));
    if (says_.seed_numbers) parts.push_back(std::as_bytes(batch.seed_numbers));
    if (says_.reasons) parts.push_back(std::as_bytes(batch.reasons));
    for (std::size_t i = 0; i < members_.size(); ++i) PENSTOCK_TRY_IN(members_[i]->write(parts[i]), path_);
    return std::unique_ptr<PointSink>(std::make_unique<Sink>(*this, first * point_bytes()));
  }

  Status finish(const std::function<Status()>& check) override {
    Json affine = Json::array();
    for (std::size_t i = 0; i < 3; ++i) {
      Json row = Json::array();
      for (std::size_t k = 0; k < 4; ++k) row.push_back(grid_.world_from_voxel.rows[4 * i + k]);
      affine.push_back(std::move(row));
    }
    affine.push_back(Json::array({0.0, 0.0, 0.0, 1.0}));
    Json header = Json::object();
    header["VOXEL_TO_RASMM"] = std::move(affine);
    header["DIMENSIONS"] = Json::array({grid_.dims[0], grid_.dims[1], grid_.dims[2]});
    header["NB_STREAMLINES"] = streamlines_;
    header["NB_VERTICES"] = points_;
    const std::uint64_t last = points_;
    PENSTOCK_TRY_IN(members_[0]->write(std::as_bytes(std::span(&last, 1))), path_);
    const std::string text = dump_json(header);
    return is_folder_ ? finish_folder(text, check) : finish_zip(text, check);
  }

  [[nodiscard]] std::string_view format() const override { return "TRX"; }

 private:
  class Sink final : public PointSink {
   public:
    Sink(TrxWriter& file, std::uint64_t begin) : file_(file) { part_.begin = begin; }
    Status write(ByteView points, PointType type) override {
      if (type == file_.type_) return put(points);
      halves_.resize(points.size() / sizeof(float));
      to_halves(reinterpret_cast<const float*>(points.data()), halves_.size(), halves_.data());
      return put(std::as_bytes(std::span(halves_)));
    }
    Status end() override {
      const std::scoped_lock lock(file_.mutex_);
      file_.parts_.push_back(part_);
      return {};
    }

   private:
    Status put(ByteView bytes) {
      const std::uint64_t at = part_.begin + part_.bytes;
      part_.bytes += bytes.size();
      if (file_.is_folder_) return file_.column_->write_at(at, bytes);
      part_.crc32 = bytes.empty() ? part_.crc32 : libdeflate_crc32(part_.crc32, bytes.data(), bytes.size());
      PENSTOCK_TRY_IN(file_.zip_->write_growing(file_.growing_, at, bytes), file_.path_);
      return {};
    }
    TrxWriter& file_;
    Part part_;
    std::vector<_Float16> halves_;
  };

  [[nodiscard]] std::uint64_t point_bytes() const { return type_ == PointType::float16 ? 6 : 12; }

  /// The checksum of all points, of those of the parts.
  Result<std::uint32_t> whole_crc32() {
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
      return a.begin < b.begin || (a.begin == b.begin && a.bytes < b.bytes);
    });
    uLong crc = 0;
    std::uint64_t end = 0;
    for (const Part& part : parts_) {
      if (part.begin != end) return Error(ErrorCode::internal, path_ + ": points of a batch are missing");
      crc = crc32_combine(crc, part.crc32, static_cast<z_off_t>(part.bytes));
      end += part.bytes;
    }
    if (end != points_ * point_bytes()) return Error(ErrorCode::internal, path_ + ": points of a batch are missing");
    return static_cast<std::uint32_t>(crc);
  }
  Status finish_zip(const std::string& text, const std::function<Status()>& check) {
    zip::Members members;
    const ByteView bytes = as_bytes(text);
    PENSTOCK_ASSIGN(const std::uint32_t crc, whole_crc32());
    PENSTOCK_ASSIGN(zip::Member member, zip_->end_growing(growing_, points_ * point_bytes(), crc));
    members.emplace(growing_.name, member);
    PENSTOCK_ASSIGN(member, zip_->append("header.json", {&bytes, 1}));
    members.emplace("header.json", member);
    for (const auto& spool : members_) {
      if (std::fflush(spool->file) != 0) return errno_error(errno, path_ + ": the temporary file of " + spool->name);
      PENSTOCK_ASSIGN(member, zip_->append_file(spool->name, fileno(spool->file), spool->bytes, check, spool->crc32));
      members.emplace(spool->name, member);
    }
    return zip_->finish(members, replaced_.get(), Durable::none);
  }

  Status finish_folder(const std::string& text, const std::function<Status()>& check) {
    PENSTOCK_TRY(column_->commit());
    column_.reset();
    PENSTOCK_TRY(folder_->store().set("header.json", as_bytes(text)));
    for (const auto& spool : members_) PENSTOCK_TRY(copy_spool(*spool, folder_->store(), check));
    return folder_->commit();
  }
  Status copy_spool(Spool& spool, Store& store, const std::function<Status()>& check) const {
    std::rewind(spool.file);
    PENSTOCK_ASSIGN(const auto writer, store.writer(spool.name));
    std::vector<std::byte> piece(std::size_t{1} << 20);
    for (std::uint64_t left = spool.bytes; left > 0;) {
      PENSTOCK_TRY(check());
      const std::size_t n = std::min<std::uint64_t>(left, piece.size());
      if (std::fread(piece.data(), 1, n, spool.file) != n)
        return errno_error(errno, path_ + ": the temporary file of " + spool.name);
      PENSTOCK_TRY(writer->append(ByteView(piece).first(n)));
      left -= n;
    }
    return writer->commit();
  }

  std::string path_;
  bool is_folder_ = false;
  ImageGrid grid_;
  PerStreamline says_;
  PointType type_;
  // Of a zip.
  std::unique_ptr<zip::Writer> zip_;
  zip::Writer::Growing growing_;
  std::shared_ptr<const zip::FileSource> replaced_;
  // Of a folder.
  std::unique_ptr<WholeFolder> folder_;
  std::unique_ptr<ObjectWriter> column_;  ///< the points

  std::vector<std::unique_ptr<Spool>> members_;
  std::uint64_t streamlines_ = 0, points_ = 0;
  std::mutex mutex_;  ///< of parts_
  std::vector<Part> parts_;
};

}  // namespace

Result<std::unique_ptr<TractogramWriter>> begin_trx(const std::string& path, const ImageGrid& grid,
                                                    const PerStreamline& says, PointType points) {
  auto writer = std::make_unique<TrxWriter>(path, grid, says, points);
  PENSTOCK_TRY(writer->begin());
  return std::unique_ptr<TractogramWriter>(std::move(writer));
}

}  // namespace penstock::tracto
