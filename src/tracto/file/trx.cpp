#include "tracto/file/trx.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "core/json.hpp"
#include "penstock/store.hpp"
#include "store/posix.hpp"
#include "store/zip/writer.hpp"

namespace penstock::tracto {
namespace {

/// A member that grows.
struct Spool {
  std::string name;
  std::FILE* file = nullptr;
  std::uint64_t bytes = 0;

  ~Spool() {
    if (file != nullptr) std::fclose(file);
  }
  Status begin() {
    file = std::tmpfile();
    if (file == nullptr) return errno_error(errno, "a temporary file for " + name);
    return {};
  }
  Status write(ByteView more) {
    if (std::fwrite(more.data(), 1, more.size(), file) != more.size())
      return errno_error(errno, "the temporary file of " + name);
    bytes += more.size();
    return {};
  }
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
      folder_ = true;
      path_.pop_back();
    }
  }

  Status begin() {
    std::error_code code;
    if (!folder_ && std::filesystem::exists(path_, code)) {
      PENSTOCK_ASSIGN(replaced_, zip::open_source(path_));
    }
    const std::string positions = "positions.3." + std::string(point_type_name(type_));
    if (folder_) {
      PENSTOCK_TRY(begin_spool(positions, positions_));
    } else {
      PENSTOCK_ASSIGN(zip_, zip::Writer::begin(path_));
      PENSTOCK_ASSIGN(growing_, zip_->begin_growing(positions));
    }
    std::vector<const char*> names = {"offsets.uint64", "dps/length_mm.float32"};
    if (says_.seed_points) names.push_back("dps/seed.3.float32");
    if (says_.seed_numbers) names.push_back("dps/seed_index.uint64");
    if (says_.reasons) names.push_back("dps/reason.2.uint8");
    for (const char* name : names) PENSTOCK_TRY(begin_spool(name, members_.emplace_back()));
    return {};
  }

  Status append(const StreamlineBatch& batch) override {
    std::vector<std::uint64_t> offsets(batch.lengths.size());
    for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
      offsets[i] = points_;
      points_ += batch.lengths[i];
    }
    streamlines_ += batch.lengths.size();
    PENSTOCK_TRY_IN(write_points(batch.points), path_);
    std::vector<ByteView> parts = {std::as_bytes(std::span(offsets)), std::as_bytes(batch.lengths_mm)};
    if (says_.seed_points) parts.push_back(std::as_bytes(batch.seed_points));
    if (says_.seed_numbers) parts.push_back(std::as_bytes(batch.seed_numbers));
    if (says_.reasons) parts.push_back(std::as_bytes(batch.reasons));
    for (std::size_t i = 0; i < members_.size(); ++i) PENSTOCK_TRY_IN(members_[i]->write(parts[i]), path_);
    return {};
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
    return folder_ ? finish_folder(text, check) : finish_zip(text, check);
  }

  [[nodiscard]] std::string_view format() const override { return "TRX"; }

 private:
  static Status begin_spool(std::string name, std::unique_ptr<Spool>& spool) {
    spool = std::make_unique<Spool>();
    spool->name = std::move(name);
    return spool->begin();
  }
  Status write_points(std::span<const std::array<float, 3>> points) {
    ByteView bytes = std::as_bytes(points);
    if (type_ == PointType::float16) {
      halves_.resize(3 * points.size());
      to_halves(reinterpret_cast<const float*>(points.data()), halves_.size(), halves_.data());
      bytes = std::as_bytes(std::span(halves_));
    }
    return folder_ ? Status(positions_->write(bytes)) : zip_->grow(growing_, bytes);
  }
  Status finish_zip(const std::string& text, const std::function<Status()>& check) {
    zip::Members members;
    const ByteView bytes = as_bytes(text);
    PENSTOCK_ASSIGN(zip::Member member, zip_->end_growing(growing_));
    members.emplace(growing_.name, member);
    PENSTOCK_ASSIGN(member, zip_->append("header.json", {&bytes, 1}));
    members.emplace("header.json", member);
    for (const auto& spool : members_) {
      if (std::fflush(spool->file) != 0) return errno_error(errno, path_ + ": the temporary file of " + spool->name);
      PENSTOCK_ASSIGN(member, zip_->append_file(spool->name, fileno(spool->file), spool->bytes, check));
      members.emplace(spool->name, member);
    }
    return zip_->finish(members, replaced_.get(), Durable::none);
  }

  /// Under another name until all of it is there.
  Status finish_folder(const std::string& text, const std::function<Status()>& check) {
    namespace fs = std::filesystem;
    const std::string part = path_ + ".penstock-" + std::to_string(::getpid()) + ".part";
    std::error_code code;
    const auto made = [&]() -> Status {
      PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(part, StoreMode::create));
      PENSTOCK_TRY(store->set("header.json", as_bytes(text)));
      PENSTOCK_TRY(copy_spool(*positions_, *store, check));
      for (const auto& spool : members_) PENSTOCK_TRY(copy_spool(*spool, *store, check));
      fs::remove_all(path_, code);
      fs::rename(part, path_, code);
      return code ? Status(errno_error(code.value(), path_)) : Status();
    };
    const Status status = made();
    if (!status) fs::remove_all(part, code);
    return status;
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
  bool folder_ = false;
  ImageGrid grid_;
  PerStreamline says_;
  PointType type_;
  std::vector<_Float16> halves_;
  std::unique_ptr<zip::Writer> zip_;
  zip::Writer::Growing growing_;
  std::unique_ptr<Spool> positions_;  // of a folder
  std::shared_ptr<const zip::FileSource> replaced_;
  std::vector<std::unique_ptr<Spool>> members_;
  std::uint64_t streamlines_ = 0, points_ = 0;
};

}  // namespace

Result<std::unique_ptr<TractogramWriter>> begin_trx(const std::string& path, const ImageGrid& grid,
                                                    const PerStreamline& says, PointType points) {
  auto writer = std::make_unique<TrxWriter>(path, grid, says, points);
  PENSTOCK_TRY(writer->begin());
  return std::unique_ptr<TractogramWriter>(std::move(writer));
}

}  // namespace penstock::tracto
