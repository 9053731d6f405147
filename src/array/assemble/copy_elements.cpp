// Copies between views of memory, on one device or between two.
#include <fmt/format.h>

#include "array/assemble/place.hpp"
#include "penstock/tensor.hpp"

namespace penstock {
namespace {

bool is_host(const TensorView& view) { return view.device.type == Device::Type::cpu; }

Status check_pair(const TensorView& from, const TensorView& to) {
  PENSTOCK_TRY_IN(from.check(), "source");
  PENSTOCK_TRY_IN(to.check(), "target");
  const auto bad = [](std::string why) { return Error(ErrorCode::invalid_argument, std::move(why)); };
  if (to.access == Access::read_only) return bad("the target is read-only");
  if (from.shape != to.shape)
    return bad(fmt::format("source of shape {}, target of {}", to_string(from.shape), to_string(to.shape)));
  if (from.dtype != to.dtype) return bad(fmt::format("source of {}, target of {}", from.dtype.name(), to.dtype.name()));
  if (from.dtype.is_vlen() && !(is_host(from) && is_host(to)))
    return Error(ErrorCode::unsupported, "variable-length elements live in host memory only");
  return {};
}

/// Later work of `stream` comes after what is in `first` now.
Status wait_for(const Stream& first, const Stream& stream) {
  if (first.device() == stream.device() && first.native() == stream.native()) return {};
  PENSTOCK_ASSIGN(const Event mark, Event::record(first));
  return mark.wait_on(stream);
}

/// On one device, in the order of `stream`.
Status place_elements(const TensorView& from, const TensorView& to, const Stream& stream) {
  const Region part = whole(from.shape);
  PlaceItem item;
  item.source = static_cast<const std::byte*>(from.data);
  item.source_strides = from.strides_bytes;
  item.part = part;
  item.target = static_cast<std::byte*>(to.data);
  item.target_strides = to.strides_bytes;
  item.item_bytes = from.dtype.size_bytes;
  return is_host(to) ? place_cpu(item) : place_cuda({&item, 1}, stream);
}

/// A packed copy on the same device.
Result<Tensor> packed_copy(const TensorView& from, const std::shared_ptr<Memory>& memory) {
  PENSTOCK_ASSIGN(Tensor made, Tensor::empty(from.dtype, from.shape, from.stream, memory));
  PENSTOCK_TRY(copy_elements(from, made.view()));
  return made;
}

/// Between two devices: packed on both sides, since only that goes over a bus at speed.
Status carry(const TensorView& from, const TensorView& to, const Stream& stream) {
  Tensor packed_from, packed_to;
  TensorView source = from, target = to;
  if (!from.is_contiguous()) {
    PENSTOCK_ASSIGN(packed_from, packed_copy(from, nullptr));
    source = packed_from.view();
  }
  if (!to.is_contiguous()) {
    PENSTOCK_ASSIGN(packed_to, Tensor::empty(to.dtype, to.shape, to.stream));
    target = packed_to.view();
  }
  PENSTOCK_ASSIGN(const std::uint64_t bytes, source.bytes());
  Status copied = [&]() -> Status {
    if (!is_host(from)) PENSTOCK_TRY(wait_for(source.stream, stream));
    PENSTOCK_TRY(copy_async(target.data, target.device, source.data, source.device, bytes, stream));
    if (!is_host(from)) PENSTOCK_TRY(wait_for(stream, source.stream));  // before a packed source is freed
    if (!to.is_contiguous() && !is_host(to)) PENSTOCK_TRY(place_elements(target, to, stream));
    return {};
  }();
  // Host memory is the caller's again when the call returns, also after an error.
  if (is_host(from) || is_host(to)) PENSTOCK_TRY(stream.synchronize());
  PENSTOCK_TRY(std::move(copied));
  return !to.is_contiguous() && is_host(to) ? place_elements(target, to, stream) : Status();
}

}  // namespace

Status copy_elements(const TensorView& from, const TensorView& to) {
  PENSTOCK_TRY(check_pair(from, to));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, from.bytes());
  if (bytes == 0) return {};
  const Stream& stream = is_host(to) ? from.stream : to.stream;
  if (!is_host(from)) PENSTOCK_TRY(wait_for(from.stream, stream));
  PENSTOCK_TRY(from.device == to.device ? place_elements(from, to, stream) : carry(from, to, stream));
  // The source may be changed or freed in the order of its own stream.
  return is_host(from) ? Status() : wait_for(stream, from.stream);
}

Result<Tensor> Tensor::contiguous(const std::shared_ptr<Memory>& memory) const {
  if (view_.is_contiguous()) return *this;
  PENSTOCK_ASSIGN(Tensor made, packed_copy(view_, memory));
  if (!view_.dtype.is_vlen()) return made;
  // The elements point into memory of the first owner.
  auto both = std::make_shared<std::pair<Tensor, std::shared_ptr<const void>>>(made, owner_);
  return share(std::move(both), made.view());
}

Result<Tensor> Tensor::to(const Stream& stream, const std::shared_ptr<Memory>& memory) const {
  if (view_.device == stream.device()) return *this;
  PENSTOCK_ASSIGN(Tensor made, empty(view_.dtype, view_.shape, stream, memory));
  PENSTOCK_TRY(copy_elements(view_, made.view()));
  return made;
}

}  // namespace penstock
