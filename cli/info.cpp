// penstock info
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/describe.hpp"
#include "cli/list.hpp"
#include "cli/table.hpp"
#include "cli/walk.hpp"
#include "core/units.hpp"
#include "format/format.hpp"

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
  std::string store_;
  bool size_ = false;
  bool json_ = false;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Shows shape, type, chunks, codecs and fill value of an array, the levels of an OME-NGFF image, or the members "
        "of a group. The stored size is shown for up to 1,000 objects.");
    usage.argument("STORE", store_, "array or group: a directory, a zip, or a path into one (vol.zarr/0)");
    usage.flag("--size", size_, "count the stored objects however long it takes");
    words_.declare_links(usage);
    usage.flag("--json", json_, "print JSON");
    usage.example("penstock info brain.ome.zarr", "an image and its levels");
    usage.example("penstock info --json vol.zarr/0 | jq .shape", "for a program");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Node node, open_node(store_, how));
    Status done;
    if (const auto* array = std::get_if<Array>(&node))
      done = json_ ? array_json(session, *array) : array_text(session, *array);
    else
      done = group(session, std::get<Group>(node));
    if (!done) return done.error();
    return 0;
  }

 private:
  Result<std::optional<Stored>> stored(const Array& array) const {
    return count_stored(*array.store_ptr(), array.path(), size_ ? kPatient : kQuick);
  }

  Result<Json> with_stored(const Array& array) const {
    PENSTOCK_ASSIGN(Json document, dataset_json(array.dataset()));
    PENSTOCK_ASSIGN(const auto counted, stored(array));
    document["stored_objects"] = counted ? Json(counted->objects) : Json();
    document["stored_bytes"] = counted ? Json(counted->bytes) : Json();
    return document;
  }

  Status array_json(Session& session, const Array& array) const {
    PENSTOCK_ASSIGN(const Json document, with_stored(array));
    session.out.json(document);
    return {};
  }

  Status array_text(Session& session, const Array& array) const {
    const Dataset dataset = array.dataset();
    PENSTOCK_ASSIGN(const std::string chunks, chunks_text(dataset));
    PENSTOCK_ASSIGN(const auto counted, stored(array));
    std::string fill = "none (zeros)";
    if (!dataset.fill.empty() || dataset.dtype.is_vlen()) {
      PENSTOCK_ASSIGN(fill, fill_to_json(dataset.dtype, dataset.fill));
    }
    Table table("ll");
    table.row({"shape", shape_text(dataset)});
    table.row({"type", fmt::format("{}, {}", dataset.dtype.name(), size_text(dataset))});
    table.row({"chunks", chunks.substr(std::string_view("chunks ").size())});
    table.row({"codecs", codecs_text(dataset.codecs)});
    table.row({"fill", fill});
    table.row({"stored", counted ? stored_text(*counted, dataset) : "not counted; --size counts"});
    if (const auto attributes = parse_json(dataset.attributes); attributes && !attributes->empty())
      table.row({"attributes", dump_json(*attributes)});
    session.out.print(fmt::format("{}    Zarr v{} array\n", store_, dataset.zarr_format));
    session.out.print(table.text());
    return {};
  }

  Status group(Session& session, const Group& group) const {
    PENSTOCK_ASSIGN(const auto images, group.multiscales());
    if (json_) return group_json(session, group, images);
    if (images.empty()) return plain_group_text(session, group);
    for (const Multiscale& image : images) PENSTOCK_TRY(image_text(session, group, image));
    PENSTOCK_ASSIGN(const auto members, group.members());
    for (const Group::Member& member : members) {
      if (member.is_array || member.name != "labels") continue;
      PENSTOCK_ASSIGN(const Group labels, Group::open(group.store_ptr(), joined(group.path(), "labels")));
      PENSTOCK_ASSIGN(const auto names, parse_ngff_labels(labels.info().attributes));
      for (const std::string& name : names) session.out.print(fmt::format(" labels/{}\n", name));
    }
    return {};
  }

  Status image_text(Session& session, const Group& group, const Multiscale& image) const {
    session.out.print(fmt::format("{}    OME-NGFF {}, {} level{}{}\n", store_, image.version, image.levels.size(),
                                  image.levels.size() == 1 ? "" : "s", creator(group.info().attributes)));
    for (const ImageLevel& level : image.levels) {
      PENSTOCK_ASSIGN_IN(const Array array, Array::open(group.store_ptr(), joined(group.path(), level.path)),
                         level.path);
      const Dataset dataset = array.dataset();
      PENSTOCK_ASSIGN(const std::string chunks, chunks_text(dataset));
      PENSTOCK_ASSIGN(const auto counted, stored(array));
      session.out.print(fmt::format(" {}   {}   {}   {}   {}\n", level.path, shape_text(dataset), dataset.dtype.name(),
                                    size_text(dataset), scale_text(image, level)));
      session.out.print(fmt::format(" {:<{}}   {}    {}{}{}\n", "", level.path.size(), chunks,
                                    codecs_text(dataset.codecs), counted ? "    " : "",
                                    counted ? stored_text(*counted, dataset) : ""));
    }
    return {};
  }

  Status plain_group_text(Session& session, const Group& group) const {
    PENSTOCK_ASSIGN(const auto members, group.members());
    session.out.print(fmt::format("{}    Zarr v{} group, {} member{}\n", store_, group.info().zarr_format,
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

  Status group_json(Session& session, const Group& group, const std::vector<Multiscale>& images) const {
    PENSTOCK_ASSIGN(const auto members, group.members());
    PENSTOCK_ASSIGN_IN(Json attributes, parse_json(group.info().attributes), "attributes");
    Json document = {{"node_type", "group"},
                     {"zarr_format", group.info().zarr_format},
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
    session.out.json(document);
    return {};
  }
};

}  // namespace

std::unique_ptr<Command> make_info() { return std::make_unique<Info>(); }

}  // namespace penstock::cli
