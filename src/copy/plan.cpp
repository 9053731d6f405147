// What a copy will write, before anything is written.
#include <fmt/format.h>

#include "array/places.hpp"
#include "array/raster/attributes.hpp"
#include "copy/pyramid.hpp"
#include "copy/tree.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"
#include "format/members.hpp"
#include "format/zarr/consolidated.hpp"
#include "format/zarr/xarray.hpp"
#include "penstock/raster.hpp"

namespace penstock {
namespace {

constexpr int kMaxDepth = 64;  // a hierarchy that is deeper is a loop of links

Result<CopyChanges> changes_of(const Dataset& dataset, const CopyOptions& how) {
  return how.changes ? how.changes(dataset) : CopyChanges();
}

/// Puts a node's name in front of an error; the copy itself has none.
template <class T>
Result<T> in_node(const std::string& name, Result<T> result) {
  if (!result && !name.empty()) result.error().add_context(name);
  return result;
}

/// Puts a node and all that is below it into a plan.
class Planner {
 public:
  Planner(const CopyOptions& how, TreePlan& plan) : how_(how), plan_(plan) {}

  Status array(const Array& from, const std::string& to) {
    const Dataset source = from.dataset();
    PENSTOCK_ASSIGN(const CopyChanges changes, in_node(to, changes_of(source, how_)));
    PENSTOCK_ASSIGN(Dataset dataset, in_node(to, copied_dataset(source, changes)));
    const Region region = changes.region.value_or(whole(source.shape));
    if (is_raster(source)) PENSTOCK_TRY(tell_raster(from, region, dataset));
    plan_.nodes.push_back({to, std::move(dataset), from, region});
    return {};
  }

  Status group(const Group& from, const std::string& to, int depth) {
    if (depth > kMaxDepth)
      return Error(ErrorCode::invalid_metadata, fmt::format("{}: groups nested deeper than {}", to, kMaxDepth));
    PENSTOCK_ASSIGN(const auto members, from.members());
    for (const Group::Member& member : members) {
      const std::string path = joined(from.path(), member.name), name = joined(to, member.name);
      if (member.is_array) {
        PENSTOCK_ASSIGN_IN(const Array below, Array::open(from.store_ptr(), path), path);
        PENSTOCK_TRY(array(below, name));
      } else {
        PENSTOCK_ASSIGN_IN(const Group below, Group::open(from.store_ptr(), path), path);
        PENSTOCK_TRY(group(below, name, depth + 1));
      }
    }
    PENSTOCK_ASSIGN(GroupInfo info, in_node(to, as_zarr(from.info(), how_.zarr_format)));
    PENSTOCK_ASSIGN(const bool consolidated, has_consolidated(*from.store_ptr(), from.path()));
    plan_.nodes.push_back({to, std::move(info), std::nullopt, {}, consolidated});
    return {};
  }

  /// The array itself, or the finest level of an image with its axes and scale, and the levels made of it.
  Status pyramid(const Node& from) {
    PyramidOptions options = *how_.pyramid;
    const auto* level0 = std::get_if<Array>(&from);
    std::optional<Array> finest = level0 != nullptr ? std::optional(*level0) : std::nullopt;
    if (!finest) {
      const auto& group = std::get<Group>(from);
      PENSTOCK_ASSIGN(const auto images, group.multiscales());
      if (images.empty() || images[0].levels.empty())
        return Error(ErrorCode::invalid_argument, "a pyramid needs an array or an OME-NGFF image");
      PENSTOCK_ASSIGN(finest, Array::open(group.store_ptr(), joined(group.path(), images[0].levels[0].path)));
      options.axes = images[0].axes;
      options.scale = images[0].levels[0].scale;
      options.name = images[0].name;
    }
    PENSTOCK_TRY(array(*finest, "0"));
    auto& first = std::get<Dataset>(plan_.nodes.back().info);
    PENSTOCK_ASSIGN(PyramidPlan levels, plan_pyramid(first, options));
    first = levels.levels[0];
    for (std::size_t k = 1; k < levels.levels.size(); ++k)
      plan_.nodes.push_back({std::to_string(k), levels.levels[k], std::nullopt, {}});
    GroupInfo info{{"zarr", levels.levels[0].format.version}, "{}"};
    PENSTOCK_ASSIGN(info.attributes, write_ngff(info.attributes, {levels.image}));
    plan_.nodes.push_back({"", std::move(info), std::nullopt, {}});
    plan_.factors = levels.factors;
    plan_.how = levels.how;
    return {};
  }

 private:
  const CopyOptions& how_;
  TreePlan& plan_;
};

/// The documents of a node by name, as text.
Result<Json> documents_of(const NodeInfo& node) {
  Json documents = Json::object();
  PENSTOCK_ASSIGN(const std::vector<Document> all, zarr_documents(node));
  for (const Document& document : all) documents[document.name] = document.text;
  return documents;
}

/// The first member in which documents of a node differ.  A document that is not there has no members.
Result<std::string> documents_difference(const Json& asked, const Json& there) {
  if (asked.contains("zarr.json") != there.contains("zarr.json"))
    return fmt::format("it is zarr v{0} there, v{1} was asked for", there.contains("zarr.json") ? 3 : 2,
                       asked.contains("zarr.json") ? 3 : 2);
  const auto parsed = [](const Json& documents, const std::string& name) -> Result<Json> {
    const auto text = documents.find(name);
    return text == documents.end() || !text->is_string() ? Json(Json::object()) : parse_json(text->get<std::string>());
  };
  for (const Json* names : {&asked, &there})
    for (const auto& [name, text] : names->items()) {
      PENSTOCK_ASSIGN(const Json a, parsed(asked, name));
      PENSTOCK_ASSIGN(const Json b, parsed(there, name));
      for (const Json* members : {&a, &b})
        for (const auto& [key, value] : members->items()) {
          const Json x = a.value(key, Json()), y = b.value(key, Json());
          if (x != y)
            return fmt::format("{} is {} there, {} was asked for", key, metadata::shown(y), metadata::shown(x));
        }
    }
  return std::string();
}

std::string named(const std::string& path, const std::string& difference) {
  return path.empty() || difference.empty() ? difference : path + ": " + difference;
}

}  // namespace

std::string joined(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::string(a.empty() ? b : a);
  return fmt::format("{}/{}", a, b);
}

Result<TreePlan> plan_tree(const Node& from, const CopyOptions& how) {
  TreePlan plan;
  plan.source = std::visit([](const auto& node) { return place_of(*node.store_ptr(), node.path()); }, from);
  Planner planner(how, plan);
  if (how.pyramid) {
    PENSTOCK_TRY(planner.pyramid(from));
  } else if (const auto* array = std::get_if<Array>(&from)) {
    PENSTOCK_TRY(planner.array(*array, ""));
  } else {
    PENSTOCK_TRY(planner.group(std::get<Group>(from), "", 0));
  }
  return plan;
}

Result<std::vector<PlannedArray>> plan_copy(const Node& from, const CopyOptions& how) {
  PENSTOCK_ASSIGN(const TreePlan plan, plan_tree(from, how));
  std::vector<PlannedArray> arrays;
  for (const PlannedNode& node : plan.nodes) {
    const auto* dataset = std::get_if<Dataset>(&node.info);
    if (dataset == nullptr) continue;
    std::string lost;
    if (node.from) {
      const Dataset source = node.from->dataset();
      lost = is_raster(source) ? left_of_raster(source) : lost_for_xarray(source, dataset->format.version);
    }
    arrays.push_back({node.path, *dataset, !node.from, std::move(lost)});
  }
  return arrays;
}

Result<std::uint64_t> TreePlan::total_bytes() const {
  std::uint64_t total = 0;
  for (const PlannedNode& node : nodes) {
    const auto* dataset = std::get_if<Dataset>(&node.info);
    if (dataset == nullptr) continue;
    PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(dataset->shape));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(elements, dataset->dtype.size_bytes));
    PENSTOCK_ASSIGN(total, checked_add(total, bytes));
  }
  return total;
}

Result<std::string> TreePlan::marker(std::string_view run) const {
  Json all = Json::object();
  for (const PlannedNode& node : nodes) {
    PENSTOCK_ASSIGN(Json documents, documents_of(node.info));
    Json entry = {{"documents", std::move(documents)}};
    if (node.from) {
      const Dataset from = node.from->dataset();
      entry["from"] = {{"region", to_string(node.region)}, {"shape", from.shape}, {"data_type", from.dtype.name()}};
    }
    all[node.path] = std::move(entry);
  }
  Json document = {{"copy_of", source}, {"nodes", std::move(all)}};
  if (!run.empty()) document["run"] = run;
  return dump_json(document, 1);
}

Result<std::string> TreePlan::difference_from(std::string_view text) const {
  PENSTOCK_ASSIGN(const std::string own, marker(""));
  PENSTOCK_ASSIGN(const Json asked, parse_json(own));
  auto there = parse_json(text);
  if (there && there->is_object()) there->erase("run");
  if (there && *there == asked) return std::string();
  const Json nodes_there = there && there->is_object() ? there->value("nodes", Json()) : Json();
  if (!nodes_there.is_object()) return std::string("what is there does not say what it is a copy of");
  if (there->value("copy_of", Json()) != asked["copy_of"])
    return fmt::format("it is a copy of {}", metadata::shown(there->value("copy_of", Json())));
  for (const auto& [path, entry] : asked["nodes"].items()) {
    if (!nodes_there.contains(path)) return named(path, "is not among what is copied there");
    const Json& other = nodes_there[path];
    if (!other.is_object()) return named(path, "what is there does not say what it is a copy of");
    for (const char* member : {"region", "shape", "data_type"}) {
      const Json x = entry.value("from", Json::object()).value(member, Json());
      const Json from = other.value("from", Json(Json::object()));
      const Json y = from.is_object() ? from.value(member, Json()) : Json();
      if (x != y)
        return named(path, fmt::format("the {} of the source is {} there, {} was asked for", member, metadata::shown(y),
                                       metadata::shown(x)));
    }
    PENSTOCK_ASSIGN(const std::string difference,
                    documents_difference(entry["documents"], other.value("documents", Json(Json::object()))));
    if (!difference.empty()) return named(path, difference);
  }
  for (const auto& [path, ignored] : nodes_there.items())
    if (!asked["nodes"].contains(path)) return named(path, "is copied there too");
  return std::string("it was begun by another version of penstock");
}

Result<std::string> node_difference(const NodeInfo& asked, const NodeInfo& there) {
  PENSTOCK_ASSIGN(const Json a, documents_of(asked));
  NodeInfo standing = there;
  if (auto* group = std::get_if<GroupInfo>(&standing)) {
    PENSTOCK_ASSIGN(*group, without_consolidated(std::move(*group)));
  }
  PENSTOCK_ASSIGN(const Json b, documents_of(standing));
  return documents_difference(a, b);
}

}  // namespace penstock
