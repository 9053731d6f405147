#include "tracto/file/tractogram.hpp"

#include <filesystem>

#include "tracto/file/tck.hpp"
#include "tracto/file/trk.hpp"
#include "tracto/file/trx.hpp"

namespace penstock::tracto {

Status TractogramWriter::append(const StreamlineBatch& batch, std::span<const std::array<float, 3>> points) {
  PENSTOCK_ASSIGN(const std::unique_ptr<PointSink> sink, begin(batch));
  PENSTOCK_TRY(sink->write(std::as_bytes(points), PointType::float32));
  return sink->end();
}

Status check_tractogram_name(const std::string& name, bool replace, PointType points) {
  std::string path = name;
  while (path.ends_with('/')) path.pop_back();
  const bool as_folder = path.size() < name.size() && path.ends_with(".trx");  // NAME.trx/
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".trx" && ending != ".trk" && ending != ".tck")
    return Error(ErrorCode::invalid_argument, path + ": the name must end in .trx, .trk or .tck");
  if (points != PointType::float32 && ending != ".trx")
    return Error(ErrorCode::invalid_argument,
                 path + ": points of " + std::string(point_type_name(points)) + ": only .trx has them");
  std::error_code code;
  if (!as_folder && std::filesystem::is_directory(path, code))
    return Error(ErrorCode::is_directory, path + ": is a directory");
  if (!replace && std::filesystem::exists(path, code))
    return Error(ErrorCode::already_exists, path + ": is there already").set_hint("--force replaces it.");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, code))
    return Error(ErrorCode::not_found, path + ": there is no folder " + folder.string());
  return {};
}

Result<std::unique_ptr<TractogramWriter>> begin_tractogram(const std::string& path, const ImageGrid& grid,
                                                           const PerStreamline& says, bool replace, PointType points) {
  PENSTOCK_TRY(check_tractogram_name(path, replace, points));
  if (path.ends_with(".trk")) return begin_trk(path, grid, says);
  if (path.ends_with(".tck")) return begin_tck(path);
  return begin_trx(path, grid, says, points);
}

}  // namespace penstock::tracto
