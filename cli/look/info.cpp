// penstock info
#include <fmt/format.h>

#include <fmt/ranges.h>
#include <cstdio>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/table.hpp"
#include "cli/nodes/describe.hpp"
#include "cli/nodes/walk.hpp"
#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/fill.hpp"
#include "penstock/ngff.hpp"

namespace penstock::cli {
namespace {

/// Counting objects must not make a quick command slow; --size counts them all.
constexpr CountLimit kQuick{1000, std::chrono::milliseconds(500)};
constexpr CountLimit kPatient{UINT64_MAX, std::chrono::hours(24)};

std::string size_text(const Dataset& dataset) {
  if (dataset.dtype.is_vlen()) return "variable length";
  const auto bytes = decoded_bytes(dataset);
  return bytes ? format_bytes(*bytes) : "too large to count";
}

/// "3 x 0.5 x 0.5 um" of a level.
std::string scale_text(const Multiscale& image, const ImageLevel& level) {
  if (level.scale.empty()) return "";
  std::string unit;
  for (const ImageAxis& axis : image.axes)
    if (axis.type == "space") unit = axis.unit;
  if (unit == "micrometer") unit = "um";
  if (unit == "nanometer") unit = "nm";
  if (unit == "millimeter") unit = "mm";
  return fmt::format("{:.6g}{}{}", fmt::join(level.scale, " x "), unit.empty() ? "" : " ", unit);
}

/// What wrote the image, where it says so.
std::string creator(const std::string& attributes) {
  const auto json = parse_json(attributes);
  if (!json || !json->is_object()) return "";
  const Json* holder = json->contains("ome") && (*json)["ome"].is_object() ? &(*json)["ome"] : &*json;
  const auto it = holder->find("_creator");
  if (it == holder->end() || !it->is_object()) return "";
  const auto text = [&](const char* key) {
    return it->contains(key) && (*it)[key].is_string() ? (*it)[key].get<std::string>() : "";
  };
  return fmt::format("    created by {} {}", text("name"), text("version"));
}

class Info : public Command {
  std::vector<std::string> stores_;
  bool size_ = false;
  bool json_ = false;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Shows shape, type, chunks, codecs and fill value of an array, the levels of an OME-NGFF image, or the members "
        "of a group. The stored size is shown for up to 1,000 objects.");
    usage.argument("STORE", stores_, "array or group: a directory, a zip, or a path into one (vol.zarr/0)")
        .at_least_one = true;
    usage.flag("--size", size_, "count the stored objects however long it takes");
    words_.declare(usage);
    usage.flag("--json", json_, "print JSON; of several a list");
    usage.example("penstock info brain.ome.zarr", "an image and its levels");
    usage.example("penstock info *.zarr", "a block for each");
    usage.example("penstock info --json vol.zarr/0 | jq .shape", "for a program");
  }

  Result<int> run(Session& session) override {
    Json list = Json::array();
    int exit_code = 0;  // that of the last one that cannot be read; the others are shown
    for (const std::string& store : stores_) {
      if (!json_ && &store != &stores_.front()) session.out.print("\n");
      const Status done = one(session, list, store);
      if (done) continue;
      if (stores_.size() == 1) return done.error();
      exit_code = error_exit_code(done.error().code());
      if (json_)
        list.push_back({{"path", store}, {"error", done.error().message()}});
      else
        session.out.print(fmt::format("{}    cannot be read: {}\n", store, done.error().message()));
    }
    if (json_) session.out.json(stores_.size() == 1 ? list[0] : list);
    return exit_code;
  }

 private:
  Status one(Session& session, Json& list, const std::string& store) const {
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Node node, open_node(store, how));
    const auto* array = std::get_if<Array>(&node);
    if (!json_) return array ? array_text(session, store, *array) : group_text(session, store, std::get<Group>(node));
    PENSTOCK_ASSIGN(Json document, array ? with_stored(*array) : group_json(std::get<Group>(node)));
    if (stores_.size() > 1) document["path"] = store;
    list.push_back(std::move(document));
    return {};
  }

  Result<std::optional<Stored>> stored(const Array& array) const {
    auto counted = count_stored(array, size_ ? kPatient : kQuick);
    const bool does_not_list = !counted && counted.error().code() == ErrorCode::unsupported;
    return does_not_list && !size_ ? std::optional<Stored>() : std::move(counted);
  }

  Result<Json> with_stored(const Array& array) const {
    PENSTOCK_ASSIGN(Json document, dataset_json(array.dataset()));
    PENSTOCK_ASSIGN(const std::vector<Dimension> dims, image_dimensions(array));
    document["dims"] = dimensions_json(dims);
    PENSTOCK_ASSIGN(const auto counted, stored(array));
    document["stored_objects"] = counted ? Json(counted->objects) : Json();
    document["stored_bytes"] = counted ? Json(counted->bytes) : Json();
    return document;
  }

  Status array_text(Session& session, const std::string& store, const Array& array) const {
    const Dataset dataset = array.dataset();
    PENSTOCK_ASSIGN(const std::string chunks, chunks_text(dataset));
    PENSTOCK_ASSIGN(const auto counted, stored(array));
    std::string fill = "none (zeros)";
    if (!dataset.fill.empty() || dataset.dtype.is_vlen()) {
      PENSTOCK_ASSIGN(fill, fill_to_json(dataset.dtype, dataset.fill));
    }
    PENSTOCK_ASSIGN(const std::vector<Dimension> dims, image_dimensions(array));
    const std::string spacing = spacing_text(dims);
    Table table("ll");
    table.row({"shape", shape_text(dataset)});
    if (!spacing.empty()) table.row({"dims", spacing});
    table.row({"type", fmt::format("{}, {}", dataset.dtype.name(), size_text(dataset))});
    table.row({"chunks", chunks.substr(std::string_view("chunks ").size())});
    table.row({"codecs", codecs_text(dataset)});
    table.row({"fill", fill});
    if (dataset.nodata) {
      PENSTOCK_ASSIGN(const std::string nodata, fill_to_json(dataset.dtype, *dataset.nodata));
      table.row({"nodata", nodata});
    }
    table.row({"stored", counted ? stored_text(*counted, dataset) : "not counted; --size counts"});
    if (const auto attributes = parse_json(dataset.attributes); attributes && !attributes->empty())
      table.row({"attributes", dump_json(*attributes)});
    session.out.print(fmt::format("{}    {} array\n", store, format_title(dataset.format)));
    session.out.print(table.text());
    return {};
  }

  /// A group and its arrays can be read also where its images are of a version that is not known.
  [[nodiscard]] static Result<std::vector<Multiscale>> understood_images(const std::string& store, const Group& group) {
    auto images = group.multiscales();
    if (images || images.error().code() != ErrorCode::unsupported) return images;
    std::fputs(
        fmt::format("penstock: {}: its images are not understood: {}\n", store, images.error().message()).c_str(),
        stderr);
    return std::vector<Multiscale>();
  }

  Status group_text(Session& session, const std::string& store, const Group& group) const {
    PENSTOCK_ASSIGN(const auto images, understood_images(store, group));
    if (images.empty()) return plain_group_text(session, store, group);
    for (const Multiscale& image : images) PENSTOCK_TRY(image_text(session, store, group, image));
    PENSTOCK_ASSIGN(const auto members, group.members());
    for (const Group::Member& member : members) {
      if (member.is_array || member.name != "labels") continue;
      PENSTOCK_ASSIGN(const Group labels, Group::open(group.store_ptr(), joined(group.path(), "labels")));
      PENSTOCK_ASSIGN(const auto names, parse_ngff_labels(labels.info().attributes));
      for (const std::string& name : names) session.out.print(fmt::format(" labels/{}\n", name));
    }
    return {};
  }

  Status image_text(Session& session, const std::string& store, const Group& group, const Multiscale& image) const {
    session.out.print(fmt::format("{}    OME-NGFF {}, {} level{}{}\n", store, image.version, image.levels.size(),
                                  image.levels.size() == 1 ? "" : "s", creator(group.info().attributes)));
    for (const ImageLevel& level : image.levels) {
      PENSTOCK_ASSIGN_IN(const Array array, Array::open(group.store_ptr(), joined(group.path(), level.path)),
                         level.path);
      const Dataset dataset = array.dataset();
      PENSTOCK_ASSIGN(const std::string chunks, chunks_text(dataset));
      PENSTOCK_ASSIGN(const auto counted, stored(array));
      session.out.print(fmt::format(" {}   {}   {}   {}   {}\n", level.path, shape_text(dataset), dataset.dtype.name(),
                                    size_text(dataset), scale_text(image, level)));
      session.out.print(fmt::format(" {:<{}}   {}    {}{}{}\n", "", level.path.size(), chunks, codecs_text(dataset),
                                    counted ? "    " : "", counted ? stored_text(*counted, dataset) : ""));
    }
    return {};
  }

  Status plain_group_text(Session& session, const std::string& store, const Group& group) const {
    PENSTOCK_ASSIGN(const auto members, group.members());
    session.out.print(fmt::format("{}    Zarr v{} group, {} member{}\n", store, group.info().format.version,
                                  members.size(), members.size() == 1 ? "" : "s"));
    Table table("llll");
    for (const Group::Member& member : members) {
      if (!member.is_array) {
        table.row({member.name, "group", "", ""});
        continue;
      }
      const auto array = Array::open(group.store_ptr(), joined(group.path(), member.name));
      if (!array) {
        table.row({member.name, "cannot be read: " + array.error().message(), "", ""});
        continue;
      }
      const Dataset dataset = array->dataset();
      table.row({member.name, shape_text(dataset), dataset.dtype.name(), size_text(dataset)});
    }
    session.out.print(table.text());
    return {};
  }

  Result<Json> group_json(const Group& group) const {
    PENSTOCK_ASSIGN(const auto images, understood_images(group.store_ptr()->url(), group));
    PENSTOCK_ASSIGN(const auto members, group.members());
    PENSTOCK_ASSIGN_IN(Json attributes, parse_json(group.info().attributes), "attributes");
    Json document = {{"node_type", "group"},
                     {"zarr_format", group.info().format.version},
                     {"attributes", std::move(attributes)},
                     {"members", Json::array()},
                     {"images", Json::array()}};
    for (const Group::Member& m : members)
      document["members"].push_back({{"name", m.name}, {"node_type", m.is_array ? "array" : "group"}});
    for (const Multiscale& image : images) {
      Json shown = {
          {"version", image.version}, {"name", image.name}, {"axes", Json::array()}, {"levels", Json::array()}};
      for (const ImageAxis& axis : image.axes)
        shown["axes"].push_back({{"name", axis.name}, {"type", axis.type}, {"unit", axis.unit}});
      for (const ImageLevel& level : image.levels) {
        PENSTOCK_ASSIGN_IN(const Array array, Array::open(group.store_ptr(), joined(group.path(), level.path)),
                           level.path);
        PENSTOCK_ASSIGN(Json entry, with_stored(array));
        entry["path"] = level.path;
        entry["scale"] = level.scale;
        entry["translation"] = level.translation;
        shown["levels"].push_back(std::move(entry));
      }
      document["images"].push_back(std::move(shown));
    }
    return document;
  }
};

}  // namespace

std::unique_ptr<Command> make_info() { return std::make_unique<Info>(); }

}  // namespace penstock::cli
