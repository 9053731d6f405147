// Array::read and write with tensors: what memory says of itself is compared with the array and the region.
#include <fmt/format.h>

#include "penstock/array.hpp"

namespace penstock {
namespace {

/// Errors: invalid_argument, out_of_range.
Result<Target> target_of(const Array& array, const Region& region, const TensorView& view) {
  PENSTOCK_TRY(view.check());
  const Dataset dataset = array.dataset();
  const auto bad = [](std::string why) { return Error(ErrorCode::invalid_argument, std::move(why)); };
  if (view.dtype != dataset.dtype)
    return bad(fmt::format("the memory holds {}, the array {}: they must be the same", view.dtype.name(),
                           dataset.dtype.name()));
  if (const Shape shape = shape_of(region); view.shape != shape)
    return bad(fmt::format("the memory has shape {}, the region {}", to_string(view.shape), to_string(shape)));
  return Target{view.data, view.strides_bytes, view.device, view.stream};
}

Status check_writable(const TensorView& view) {
  if (view.access == Access::read_only) return Error(ErrorCode::invalid_argument, "the memory is read-only");
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] > 1 && view.strides_bytes[d] == 0)
      return Error(ErrorCode::invalid_argument,
                   fmt::format("the {} elements of dimension {} share one place: their stride is 0", view.shape[d], d));
  return {};
}

/// What keeps elements of variable length alive.
struct WithArena {
  Arena arena;
  Tensor elements;
};

}  // namespace

Result<Report> Array::read(const Region& region, const TensorView& target, const Options& options, Arena* arena) const {
  PENSTOCK_ASSIGN(const Target memory, target_of(*this, region, target));
  PENSTOCK_TRY(check_writable(target));
  return read(region, memory, options, arena);
}

Result<Tensor> Array::read(const Region& region, const Options& options, const Stream& stream, Report* report) const {
  const Dataset now = dataset();
  PENSTOCK_TRY(check_region(region, now.shape));
  const auto owner = std::make_shared<WithArena>();
  PENSTOCK_ASSIGN(owner->elements, Tensor::empty(now.dtype, shape_of(region), stream, options.memory));
  const TensorView& view = owner->elements.view();
  PENSTOCK_ASSIGN(Report done, read(region, view, options, &owner->arena));
  if (report != nullptr) *report = std::move(done);
  return now.dtype.is_vlen() ? Tensor::share(owner, view) : owner->elements;
}

Result<Report> Array::write(const Region& region, const TensorView& source, const Options& options) {
  PENSTOCK_ASSIGN(const Target memory, target_of(*this, region, source));
  return write(region, memory, options);
}

}  // namespace penstock
