#include "array/parents.hpp"

#include <fmt/format.h>

#include "format/format.hpp"

namespace penstock {

Status make_parents(Store& store, const std::string& path, int zarr_format) {
  for (std::size_t cut = path.rfind('/'); !path.empty();
       cut = cut == std::string::npos || cut == 0 ? std::string::npos : path.rfind('/', cut - 1)) {
    const std::string parent = cut == std::string::npos ? "" : path.substr(0, cut);
    const auto there = read_node(store, parent);
    if (there && std::holds_alternative<Dataset>(*there))
      return Error(ErrorCode::already_exists, fmt::format("{} is an array; nothing can be put below it",
                                                          parent.empty() ? store.url() : store.url() + "/" + parent));
    if (there) return {};
    if (there.error().code() != ErrorCode::not_found) return there.error();
    PENSTOCK_TRY(write_node(store, parent, GroupInfo{{"zarr", zarr_format}, "{}"}));
    if (cut == std::string::npos) break;
  }
  return {};
}

}  // namespace penstock
