#include "tracto/file/trx.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "core/json.hpp"

namespace penstock::tracto {

/// A member that grows.
struct TrxWriter::Spool {
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

TrxWriter::TrxWriter() = default;
TrxWriter::~TrxWriter() = default;

Result<std::unique_ptr<TrxWriter>> TrxWriter::begin(const std::string& path, const TrxGrid& grid, bool replace) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return Error(ErrorCode::is_directory, path + ": is a directory");
  if (!replace && std::filesystem::exists(path, code))
    return Error(ErrorCode::already_exists, path + ": is there already").set_hint("--force replaces it.");
  std::unique_ptr<TrxWriter> out(new TrxWriter);
  out->path_ = path;
  out->grid_ = grid;
  if (std::filesystem::exists(path, code)) {
    PENSTOCK_ASSIGN(out->replaced_, zip::open_source(path));
  }
  PENSTOCK_ASSIGN(out->zip_, zip::Writer::begin(path));
  for (const char* name : {"positions.3.float32", "offsets.uint64"}) {
    out->members_.push_back(std::make_unique<Spool>());
    out->members_.back()->name = name;
    PENSTOCK_TRY(out->members_.back()->begin());
  }
  return out;
}

Status TrxWriter::add_dps(std::string name) {
  members_.push_back(std::make_unique<Spool>());
  members_.back()->name = "dps/" + std::move(name);
  return members_.back()->begin();
}

Status TrxWriter::append(ByteView points, std::span<const std::uint32_t> lengths, std::span<const ByteView> dps) {
  if (dps.size() + 2 != members_.size()) return Error(ErrorCode::internal, "TRX: data per streamline do not fit");
  PENSTOCK_TRY_IN(members_[0]->write(points), path_);
  std::vector<std::uint64_t> offsets(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    offsets[i] = points_;
    points_ += lengths[i];
  }
  streamlines_ += lengths.size();
  PENSTOCK_TRY_IN(members_[1]->write(std::as_bytes(std::span(offsets))), path_);
  for (std::size_t i = 0; i < dps.size(); ++i) PENSTOCK_TRY_IN(members_[2 + i]->write(dps[i]), path_);
  return {};
}

Status TrxWriter::finish(const std::function<Status()>& check) {
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
  PENSTOCK_TRY_IN(members_[1]->write(std::as_bytes(std::span(&last, 1))), path_);
  zip::Members members;
  const std::string text = dump_json(header);
  const ByteView bytes = as_bytes(text);
  PENSTOCK_ASSIGN(zip::Member member, zip_->append("header.json", {&bytes, 1}));
  members.emplace("header.json", member);
  for (const auto& spool : members_) {
    if (std::fflush(spool->file) != 0) return errno_error(errno, path_ + ": the temporary file of " + spool->name);
    PENSTOCK_ASSIGN(member, zip_->append_file(spool->name, fileno(spool->file), spool->bytes, check));
    members.emplace(spool->name, member);
  }
  return zip_->finish(members, replaced_.get(), Durable::none);
}

}  // namespace penstock::tracto
