#include "cli/demo/source.hpp"

#include <climits>

#include "cli/nodes/describe.hpp"
#include "cli/nodes/walk.hpp"
#include "core/checked.hpp"

namespace penstock::cli {
namespace {

/// Bytes of an array of 3 to 5 dimensions of numbers; 0 for all others.
std::uint64_t usable_bytes(const Dataset& dataset) {
  const Kind kind = dataset.dtype.kind;
  if (dataset.rank() < 3 || dataset.rank() > 5) return 0;
  if (kind != Kind::signed_int && kind != Kind::unsigned_int && kind != Kind::floating) return 0;
  const auto count = element_count(dataset.shape);
  const auto bytes = count ? checked_mul(*count, dataset.dtype.size_bytes) : count;
  return bytes ? *bytes : 0;
}

Result<DemoSource> finest_level(const std::string& url, const Group& group, const Multiscale& image) {
  const ImageLevel& finest = image.levels[0];
  DemoSource source{joined(url, finest.path), {}, {}};
  PENSTOCK_ASSIGN(source.array, Array::open(group.store_ptr(), joined(group.path(), finest.path)));
  source.image.axes = image.axes;
  source.image.scale = finest.scale;
  source.image.name = image.name;
  return source;
}

Result<DemoSource> largest_array(const std::string& url, const Group& group) {
  DemoSource source;
  std::uint64_t largest = 0;
  const auto look = [&](const std::string& name, const Node& node, int, bool) -> Status {
    const auto* array = std::get_if<Array>(&node);
    const std::uint64_t bytes = array != nullptr ? usable_bytes(array->dataset()) : 0;
    if (bytes > largest) {
      largest = bytes;
      source = {joined(url, name), *array, {}};
    }
    return {};
  };
  const auto pass_over = [](const std::string&, const Error&, int, bool) -> Status { return {}; };
  PENSTOCK_TRY(walk(group, INT_MAX, look, pass_over));
  if (largest > 0) return source;
  return Error(ErrorCode::invalid_argument, url + ": a group without an array that the demo takes")
      .set_hint("It takes 3 to 5 dimensions of numbers; `penstock tree` lists what is there.");
}

}  // namespace

Result<DemoSource> open_demo_source(const std::string& url, const StoreOptions& options) {
  PENSTOCK_ASSIGN(const Node node, open_node(url, options));
  if (const Array* array = std::get_if<Array>(&node)) return DemoSource{url, *array, {}};
  const Group& group = std::get<Group>(node);
  PENSTOCK_ASSIGN(const std::vector<Multiscale> images, group.multiscales());
  if (!images.empty() && !images[0].levels.empty()) return finest_level(url, group, images[0]);
  return largest_array(url, group);
}

}  // namespace penstock::cli
