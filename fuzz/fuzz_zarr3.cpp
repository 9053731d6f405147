// Bytes as zarr.json: what parses is written and parses to the same.
#include "fuzz_format.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = parse_zarr3(text);
  if (!node) {
    fuzz::demand(!node.error().message().empty());
    return 0;
  }
  if (const auto* group = std::get_if<GroupInfo>(&*node)) {
    const auto written = write_zarr3(*group);
    fuzz::demand(written.has_value());
    const auto again = parse_zarr3(*written);
    fuzz::demand(again && std::holds_alternative<GroupInfo>(*again));
    fuzz::demand(std::get<GroupInfo>(*again).attributes == group->attributes);
    fuzz::demand(std::get<GroupInfo>(*again).format.extra == group->format.extra);
    fuzz::check_images(group->attributes, 3);
    return 0;
  }
  const auto& dataset = std::get<Dataset>(*node);
  fuzz::check_dataset(dataset);
  const auto written = write_zarr3(dataset);
  fuzz::demand(written.has_value());
  const auto again = parse_zarr3(*written);
  fuzz::demand(again && std::holds_alternative<Dataset>(*again));
  fuzz::demand(fuzz::describe(std::get<Dataset>(*again)) == fuzz::describe(dataset));
  return 0;
}
