#include "array/device/request.hpp"

#include <fmt/format.h>

#include "array/read/region_reader.hpp"
#include "exec/budget.hpp"

namespace penstock::device_read {

Result<Request> make_request(const ReadItem& item, const Options& options) {
  Request r;
  r.state = ArrayAccess::share(*item.array);
  r.view = r.state->current();
  const Dataset& dataset = r.view->dataset;
  PENSTOCK_TRY(check_region(item.region, dataset.shape));
  r.chain = &innermost(r.view->chain);
  r.region = item.region;
  r.device = item.target.device;
  r.target = static_cast<std::byte*>(item.target.data);
  r.strides = item.target.strides;
  r.item_bytes = dataset.dtype.size_bytes;
  if (r.strides.empty()) {
    PENSTOCK_ASSIGN(r.strides, c_strides(shape_of(item.region), r.item_bytes));
  } else if (r.strides.size() != item.region.size()) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{} strides for {} dimensions", r.strides.size(), item.region.size()));
  }
  if (item.target.stream.device() != r.device)
    return Error(ErrorCode::invalid_argument, "the stream of a device target must be one of that device");
  r.swaps = swap_runs(dataset.dtype);
  PENSTOCK_ASSIGN(r.fill, fill_element(dataset, nullptr));
  r.stream = item.target.stream;
  PENSTOCK_ASSIGN(r.begin, Event::record(r.stream));
  PENSTOCK_ASSIGN(r.ring, shared_pinned_ring(r.device.type));
  PENSTOCK_ASSIGN(r.memory, working_memory(r.device, options));
  r.reads_pinned = find_backend(r.device.type)->reads_pinned(r.device.index);  // the ring has found it
  r.on_error = options.on_error;
  return r;
}

Status place(std::span<const PlaceItem> items, const Stream& stream) {
  if (stream.device().type != Device::Type::cpu) return place_cuda(items, stream);
  for (const PlaceItem& item : items) PENSTOCK_TRY(place_cpu(item));
  return {};
}

}  // namespace penstock::device_read
