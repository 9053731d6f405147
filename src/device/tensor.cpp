// Views of memory, and what owns it.  Copies are in array/place/copy_elements.cpp, DLPack in dlpack.cpp.
#include "penstock/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/checked.hpp"
#include "device/staging.hpp"

namespace penstock {
namespace {

constexpr std::size_t kAlign = 256;  // what device kernels like best; host memory gets a cache line by it too

/// Whether the addresses of all elements exist; there are some.  Errors: out_of_range.
Status check_addresses(const TensorView& view) {
  const auto too_far = [] { return Error(ErrorCode::out_of_range, "the elements do not fit in the address space"); };
  std::int64_t low = 0, high = view.dtype.size_bytes;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    std::int64_t last = 0;
    if (__builtin_mul_overflow(view.shape[d] - 1, view.strides_bytes[d], &last) ||
        __builtin_add_overflow(last < 0 ? low : high, last, last < 0 ? &low : &high))
      return too_far();
  }
  const auto at = reinterpret_cast<std::uintptr_t>(view.data);
  std::uintptr_t end = 0;
  if (at < std::uint64_t{0} - static_cast<std::uint64_t>(low) ||
      __builtin_add_overflow(at, static_cast<std::uint64_t>(high), &end) ||
      end > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return too_far();
  return {};
}

}  // namespace

Result<TensorView> TensorView::packed(void* data, DType dtype, Shape shape, const Stream& stream) {
  TensorView view;
  PENSTOCK_ASSIGN(view.strides_bytes, c_strides(shape, dtype.size_bytes));
  view.data = data;
  view.dtype = std::move(dtype);
  view.shape = std::move(shape);
  view.device = stream.device();
  view.stream = stream;
  PENSTOCK_TRY(view.bytes());
  return view;
}

Result<std::uint64_t> TensorView::elements() const { return element_count(shape); }

Result<std::uint64_t> TensorView::bytes() const {
  PENSTOCK_ASSIGN(const std::uint64_t count, elements());
  return checked_mul(count, dtype.size_bytes);
}

bool TensorView::is_contiguous() const {
  if (std::ranges::find(shape, 0u) != shape.end()) return true;
  std::uint64_t step = dtype.size_bytes;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] > 1 && static_cast<std::uint64_t>(strides_bytes[d]) != step) return false;
    step *= shape[d];
  }
  return true;
}

Result<TensorView> TensorView::slice(const std::vector<Index>& indices) const {
  if (indices.size() > shape.size())
    return Error(ErrorCode::out_of_range, fmt::format("{} indices for {} dimensions", indices.size(), shape.size()));
  TensorView part = *this;
  part.shape.clear();
  part.strides_bytes.clear();
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Index index = d < indices.size() ? indices[d] : Index(Slice());
    PENSTOCK_ASSIGN(const Range range, range_of(index, shape[d], d));
    if (range.count > 0) offset += static_cast<std::int64_t>(range.start) * strides_bytes[d];
    if (std::holds_alternative<std::int64_t>(index)) continue;
    part.shape.push_back(range.count);
    // Where there is one element or none its stride means nothing, and the product might not fit.
    part.strides_bytes.push_back(range.count > 1 ? range.step * strides_bytes[d] : strides_bytes[d]);
  }
  PENSTOCK_ASSIGN(const std::uint64_t left, part.elements());
  if (left > 0) part.data = static_cast<std::byte*>(data) + offset;
  return part;
}

Status TensorView::check() const {
  const auto bad = [](std::string why) { return Error(ErrorCode::invalid_argument, std::move(why)); };
  if (shape.size() > kMaxRank) return bad(fmt::format("{} dimensions; at most {} are read", shape.size(), kMaxRank));
  if (strides_bytes.size() != shape.size())
    return bad(fmt::format("{} strides for {} dimensions", strides_bytes.size(), shape.size()));
  if (stream.device() != device)
    return bad(fmt::format("memory of {} with a stream of {}", device.name(), stream.device().name()));
  PENSTOCK_ASSIGN(const std::uint64_t size, bytes());
  if (size == 0) return {};
  if (data == nullptr) return bad("there are elements, but no memory");
  return check_addresses(*this);
}

Result<Tensor> Tensor::empty(const DType& dtype, const Shape& shape, const Stream& stream,
                             const std::shared_ptr<Memory>& memory) {
  if (memory && memory->device() != stream.device())
    return Error(ErrorCode::invalid_argument, fmt::format("memory of {} was given for elements on {}",
                                                          memory->device().name(), stream.device().name()));
  PENSTOCK_ASSIGN(TensorView view, TensorView::packed(nullptr, dtype, shape, stream));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, view.bytes());
  std::shared_ptr<Memory> from = memory;
  if (!from) {
    PENSTOCK_ASSIGN(from, result_memory(stream.device()));
  }
  PENSTOCK_ASSIGN(Buffer buffer, from->allocate(bytes, kAlign, stream));
  view.data = buffer.data();
  return own(std::move(buffer), std::move(view));
}

Tensor Tensor::own(Buffer buffer, TensorView view) {
  return share(std::make_shared<Buffer>(std::move(buffer)), std::move(view));
}

Tensor Tensor::share(std::shared_ptr<const void> owner, TensorView view) {
  Tensor tensor;
  tensor.owner_ = std::move(owner);
  tensor.view_ = std::move(view);
  return tensor;
}

Result<Tensor> Tensor::slice(const std::vector<Index>& indices) const {
  PENSTOCK_ASSIGN(TensorView part, view_.slice(indices));
  return share(owner_, std::move(part));
}

}  // namespace penstock
