// The small files of a reconstruction, by the first byte: info.txt, shifts_xy.csv, .npy.  What is accepted keeps to its
// bounds, and what is written of it is read again.
#include <cmath>

#include "fuzz.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/shifts.hpp"
#include "oct/raw/info.hpp"

using namespace penstock;
using fuzz::demand;

namespace {

void check_info(std::string_view text) {
  const auto info = oct::parse_info(text);
  if (!info) return demand(!info.error().message().empty());
  demand(info->nx > 0 && info->ny > 0 && info->bottom_z >= info->top_z && info->depth() <= (1u << 20) + 1);
  demand(std::isfinite(info->width_um) && info->width_um > 0 && std::isfinite(info->height_um) && info->height_um > 0);
}

void check_shifts(std::string_view text) {
  const auto shifts = oct::parse_shifts(text);
  if (!shifts) return demand(!shifts.error().message().empty());
  for (const oct::Shift& s : *shifts) demand(std::isfinite(s.x_mm) && std::isfinite(s.y_mm));
  const auto again = oct::parse_shifts(oct::shifts_text(*shifts, 1));
  demand(again && again->size() == shifts->size());
  std::vector<std::uint64_t> slices = {0, 1, 2, 7};
  const auto at = oct::chain_shifts(*shifts, slices, [](std::uint64_t) { return true; });
  demand(!at || at->size() == slices.size());
}

void check_npy(std::string_view text) {
  const auto array = oct::parse_npy(as_bytes(text));
  if (!array) return demand(!array.error().message().empty());
  demand(element_count(array->shape).value() == array->values.size());
  const auto again = oct::parse_npy(as_bytes(oct::npy_text(array->shape, array->values)));
  demand(again && again->shape == array->shape);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'i') check_info(text);
  if (data[0] == 's') check_shifts(text);
  if (data[0] == 'n') check_npy(text);
  return 0;
}
