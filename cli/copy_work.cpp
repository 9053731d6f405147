#include "cli/copy_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/describe.hpp"
#include "cli/walk.hpp"
#include "core/units.hpp"
#include "format/consolidated.hpp"
#include "format/format.hpp"
#include "format/xarray.hpp"

namespace penstock::cli {
namespace {

/// Adds what one array's copy did.
void add(Report& total, const Report& one) {
  total.wall_seconds += one.wall_seconds;
  total.merge(one);
}

/// Attributes of a group as the other zarr version wants them: OME-NGFF 0.4 goes with v2, 0.5 with v3.
Result<GroupInfo> copied_group(const GroupInfo& info, std::optional<int> zarr_format) {
  GroupInfo copy = info;
  if (!zarr_format || *zarr_format == info.zarr_format) return copy;
  copy.zarr_format = *zarr_format;
  PENSTOCK_ASSIGN(auto images, parse_ngff(info.attributes, info.zarr_format));
  PENSTOCK_ASSIGN(const auto labels, parse_ngff_labels(info.attributes));
  if (images.empty() && labels.empty()) return copy;
  PENSTOCK_ASSIGN(Json attributes, parse_json(info.attributes));
  for (const char* old : {"ome", "multiscales", "labels"}) attributes.erase(old);
  copy.attributes = dump_json(attributes);
  for (Multiscale& image : images) image.version = *zarr_format == 2 ? "0.4" : "0.5";
  if (!images.empty()) {
    PENSTOCK_ASSIGN(copy.attributes, write_ngff(copy.attributes, images));
  }
  if (!labels.empty()) {
    PENSTOCK_ASSIGN(copy.attributes, write_ngff_labels(copy.attributes, labels, *zarr_format));
  }
  return copy;
}

class Copier {
 public:
  Copier(const CopyJob& job, std::shared_ptr<Store> store) : job_(job), store_(std::move(store)) {
    total_.operation = "copy";
  }

  Status array(const Array& from, const std::string& to_path) {
    PENSTOCK_ASSIGN(const CopyChanges changes, job_.changes(from.dataset()));
    PENSTOCK_ASSIGN(Report report, copy(from, store_, to_path, changes, job_.force, job_.resume, job_.options));
    add(total_, report);
    return {};
  }

  Status group(const Group& from, const std::string& to_path, int depth) {
    constexpr int kMaxDepth = 64;
    if (depth > kMaxDepth) return Error(ErrorCode::invalid_metadata, "groups nested deeper than 64");
    PENSTOCK_ASSIGN(const auto members, from.members());
    for (const Group::Member& member : members) {
      const std::string path = joined(from.path(), member.name);
      const std::string to = joined(to_path, member.name);
      if (member.is_array) {
        PENSTOCK_ASSIGN_IN(const Array below, Array::open(from.store_ptr(), path), path);
        PENSTOCK_TRY_IN(array(below, to), path);
      } else {
        PENSTOCK_ASSIGN_IN(const Group below, Group::open(from.store_ptr(), path), path);
        PENSTOCK_TRY(group(below, to, depth + 1));
      }
    }
    PENSTOCK_ASSIGN(const GroupInfo info, copied_group(from.info(), job_.zarr_format));
    // What is below has just been written: the group is added, nothing is removed.
    PENSTOCK_ASSIGN(const bool consolidated, has_consolidated(*from.store_ptr(), from.path()));
    PENSTOCK_TRY(write_node(*store_, to_path, info));
    return consolidated ? write_consolidated(*store_, to_path) : Status();
  }

  Status pyramid(const Array& level0, const PyramidOptions& options, const std::string& to_path) {
    const std::string path = joined(to_path, "0");
    PENSTOCK_TRY(array(level0, path));
    PENSTOCK_ASSIGN(const Array written, Array::open(store_, path));
    PENSTOCK_ASSIGN(Report report, write_pyramid(written, store_, to_path, options, job_.force, job_.options));
    add(total_, report);
    return {};
  }

  Report total() && { return std::move(total_); }

 private:
  const CopyJob& job_;
  std::shared_ptr<Store> store_;
  Report total_;
};

/// What a pyramid is made of: the array itself, or the finest level of an image with its axes and scale.
struct PyramidSource {
  Array level0;
  PyramidOptions options;
};
Result<PyramidSource> pyramid_source(const CopyJob& job, const Node& from) {
  PyramidOptions options = *job.pyramid;
  if (const auto* array = std::get_if<Array>(&from)) return PyramidSource{*array, options};
  const auto& group = std::get<Group>(from);
  PENSTOCK_ASSIGN(const auto images, group.multiscales());
  if (images.empty() || images[0].levels.empty())
    return Error(ErrorCode::invalid_argument, "--pyramid needs an array or an OME-NGFF image");
  PENSTOCK_ASSIGN(Array level0, Array::open(group.store_ptr(), joined(group.path(), images[0].levels[0].path)));
  options.axes = images[0].axes;
  options.scale = images[0].levels[0].scale;
  options.name = images[0].name;
  return PyramidSource{std::move(level0), std::move(options)};
}

}  // namespace

Result<CopyPlan> plan_copy(const CopyJob& job, const Node& from) {
  CopyPlan plan{"", Json::array(), ""};
  const auto one = [&](const std::string& name, const Array& array) -> Status {
    PENSTOCK_ASSIGN(const CopyChanges changes, job.changes(array.dataset()));
    auto changed = copied_dataset(array.dataset(), changes);
    if (!changed && !name.empty()) changed.error().add_context(name);
    PENSTOCK_ASSIGN(const Dataset dataset, std::move(changed));
    if (const std::string lost = lost_for_xarray(array.dataset(), dataset.zarr_format); !lost.empty())
      plan.losses += fmt::format("penstock copy: {}: {}\n", name.empty() ? array.path() : name, lost);
    PENSTOCK_ASSIGN(const std::string chunks, chunks_text(dataset));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, decoded_bytes(dataset));
    PENSTOCK_ASSIGN(const std::uint64_t objects, element_count(dataset.grid_shape()));
    plan.text +=
        fmt::format(" would write {}{}Zarr v{}  {}  {}  {}  {}  in up to {} objects, {} before encoding\n", name,
                    name.empty() ? "" : "  ", dataset.zarr_format, shape_text(dataset), dataset.dtype.name(), chunks,
                    codecs_text(dataset.codecs), format_count(objects), format_bytes(bytes));
    PENSTOCK_ASSIGN(Json entry, dataset_json(dataset));
    entry["path"] = name;
    entry["objects"] = objects;
    plan.json.push_back(std::move(entry));
    return {};
  };
  if (job.pyramid) {
    PENSTOCK_ASSIGN(const PyramidSource source, pyramid_source(job, from));
    PENSTOCK_TRY(one("0", source.level0));
    plan.text += " and the coarser levels of an OME-NGFF image\n";
  } else if (const auto* array = std::get_if<Array>(&from)) {
    PENSTOCK_TRY(one("", *array));
  } else {
    PENSTOCK_TRY(walk(std::get<Group>(from), 64, [&](const std::string& name, const Node& node, int, bool) {
      const auto* below = std::get_if<Array>(&node);
      return below ? one(name, *below) : Status();
    }));
  }
  return plan;
}

Result<Report> run_copy(const CopyJob& job, const Node& from, const TargetNode& to) {
  PENSTOCK_ASSIGN(auto store, open_store(to.store_url, StoreMode::create, job.store));
  if (job.force == Array::IfExists::overwrite) PENSTOCK_TRY(store->erase_prefix(to.path));
  Copier copier(job, store);
  const auto* array = std::get_if<Array>(&from);
  if (array != nullptr && !job.pyramid) {
    PENSTOCK_TRY(copier.array(*array, to.path));
  } else {
    // Until the root's metadata is there, this says what the arrays without it are.  A zip is not there until the end.
    const std::string marker = joined(to.path, ".penstock-copies.json");
    const bool mark = !to.store_url.ends_with(".zip");
    if (mark) PENSTOCK_TRY(store->set(marker, as_bytes("{}\n")));
    if (job.pyramid) {
      PENSTOCK_ASSIGN(const PyramidSource source, pyramid_source(job, from));
      PENSTOCK_TRY(copier.pyramid(source.level0, source.options, to.path));
    } else {
      PENSTOCK_TRY(copier.group(std::get<Group>(from), to.path, 0));
    }
    if (mark) PENSTOCK_TRY(store->erase(marker));
  }
  PENSTOCK_TRY(store->flush());
  return std::move(copier).total();
}

}  // namespace penstock::cli
