// Bytes as .zarray, a zero byte, .zattrs: what parses is written and parses to the same.
#include "fuzz_format.hpp"

using namespace penstock;

namespace {

std::string text_of(const std::vector<Document>& documents, std::string_view name) {
  for (const Document& document : documents)
    if (document.name == name) return document.text;
  return "";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  const std::string_view zarray = text.substr(0, zero);
  const std::string_view zattrs = zero == std::string_view::npos ? "" : text.substr(zero + 1);
  if (const auto group = parse_zarr2_group(zarray, zattrs)) fuzz::check_images(group->attributes, 2);
  const auto dataset = parse_zarr2_array(zarray, zattrs);
  if (!dataset) {
    fuzz::demand(!dataset.error().message().empty());
    return 0;
  }
  fuzz::check_dataset(*dataset);
  const auto written = write_zarr2(*dataset);
  fuzz::demand(written.has_value());
  const auto again = parse_zarr2_array(text_of(*written, ".zarray"), text_of(*written, ".zattrs"));
  fuzz::demand(again.has_value());
  fuzz::demand(fuzz::describe(*again) == fuzz::describe(*dataset));
  return 0;
}
