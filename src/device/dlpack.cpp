// Tensors to and from DLPack.  What comes in is another library's word: every number of it is checked before use.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/checked.hpp"
#include "device/dlpack_abi.hpp"
#include "penstock/tensor.hpp"

namespace penstock {
namespace {

Error bad(std::string why) { return {ErrorCode::invalid_argument, "DLPack: " + std::move(why)}; }
Error unsupported(std::string why) { return {ErrorCode::unsupported, "DLPack: " + std::move(why)}; }

Result<DType> dtype_of(const DLDataType& type) {
  const auto named = [&] { return fmt::format("data type (code {}, {} bits)", type.code, type.bits); };
  if (type.lanes != 1) return unsupported(fmt::format("{} in vectors of {}", named(), type.lanes));
  const std::uint32_t bytes = type.bits / 8;
  const bool is_int = type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64;
  switch (type.code) {
    case dlpack::kInt:
      if (is_int) return DType::integer(bytes, Kind::signed_int);
      break;
    case dlpack::kUnsigned:
      if (is_int) return DType::integer(bytes, Kind::unsigned_int);
      break;
    case dlpack::kFloat:
      if (is_int && bytes > 1) return DType{Kind::floating, bytes, {}, 1, {}};
      break;
    case dlpack::kBfloat:
      if (type.bits == 16) return DType::bfloat16();
      break;
    case dlpack::kComplex:
      if (type.bits == 64 || type.bits == 128) return DType{Kind::complex, bytes, {}, 1, {}};
      break;
    case dlpack::kBool:
      if (type.bits == 8) return DType::boolean();
      break;
    default: break;
  }
  return unsupported(named());
}

Result<DLDataType> type_of(const DType& dtype) {
  const auto made = [&](dlpack::TypeCode code) {
    return DLDataType{code, static_cast<std::uint8_t>(dtype.size_bytes * 8), 1};
  };
  switch (dtype.kind) {
    case Kind::boolean: return made(dlpack::kBool);
    case Kind::signed_int: return made(dlpack::kInt);
    case Kind::unsigned_int: return made(dlpack::kUnsigned);
    case Kind::floating: return made(dlpack::kFloat);
    case Kind::bfloat: return made(dlpack::kBfloat);
    case Kind::complex: return made(dlpack::kComplex);
    default: return unsupported("there is no data type for " + dtype.name());
  }
}

Result<Device> device_of(const DLDevice& device) {
  const bool host = device.device_type == dlpack::kCpu || device.device_type == dlpack::kCudaHost;
  if (host) return Device{};
  if (device.device_type != dlpack::kCuda && device.device_type != dlpack::kCudaManaged)
    return unsupported(fmt::format("device type {}; known are the CPU and CUDA", device.device_type));
  if (device.device_id < 0) return bad(fmt::format("device number {}", device.device_id));
  return Device{Device::Type::cuda, device.device_id};
}

Status read_extents(const DLTensor& from, TensorView& to) {
  if (from.ndim < 0 || from.ndim > static_cast<std::int32_t>(kMaxRank))
    return unsupported(fmt::format("{} dimensions; 0 to {} are understood", from.ndim, kMaxRank));
  const auto rank = static_cast<std::size_t>(from.ndim);
  if (rank > 0 && from.shape == nullptr) return bad("there are dimensions, but no shape");
  for (std::size_t d = 0; d < rank; ++d) {
    if (from.shape[d] < 0) return bad(fmt::format("dimension {} has extent {}", d, from.shape[d]));
    to.shape.push_back(static_cast<std::uint64_t>(from.shape[d]));
  }
  if (from.strides == nullptr) {
    PENSTOCK_ASSIGN_IN(to.strides_bytes, c_strides(to.shape, to.dtype.size_bytes), "DLPack");
    return {};
  }
  to.strides_bytes.resize(rank);
  const bool empty = std::ranges::find(to.shape, 0u) != to.shape.end();
  for (std::size_t d = 0; d < rank; ++d)
    if (__builtin_mul_overflow(from.strides[d], static_cast<std::int64_t>(to.dtype.size_bytes), &to.strides_bytes[d])) {
      if (!empty && to.shape[d] > 1) return Error(ErrorCode::out_of_range, "DLPack: a stride does not fit in 63 bits");
      to.strides_bytes[d] = 0;  // of one element or none: not used
    }
  return {};
}

Result<TensorView> view_of(const DLTensor& from, const Stream& stream) {
  TensorView view;
  PENSTOCK_ASSIGN(view.dtype, dtype_of(from.dtype));
  PENSTOCK_ASSIGN(view.device, device_of(from.device));
  view.stream = stream;
  PENSTOCK_TRY(read_extents(from, view));
  PENSTOCK_ASSIGN_IN(const std::uint64_t bytes, view.bytes(), "DLPack");
  if (bytes > 0) {  // else nothing is ever looked at, and there may be no memory
    if (from.data == nullptr) return bad("there are elements, but no memory");
    std::uintptr_t at = 0;
    if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(from.data), from.byte_offset, &at))
      return Error(ErrorCode::out_of_range, "DLPack: the byte offset does not fit in the address space");
    view.data = reinterpret_cast<void*>(at);
  }
  PENSTOCK_TRY_IN(view.check(), "DLPack");
  return view;
}

/// Lets the producer have its own back with the last owner.
template <class Managed>
std::shared_ptr<const void> owner_of(Managed* managed) {
  return {managed, [](Managed* m) { give_back(m); }};
}

/// What the structure that we give away points to.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::vector<std::int64_t> shape, strides;
};

template <class Managed>
Result<Managed*> export_tensor(const Tensor& tensor) {
  const TensorView& view = tensor.view();
  PENSTOCK_TRY(view.check());
  auto made = std::make_unique<Exported<Managed>>();
  made->tensor = tensor;
  DLTensor& out = made->managed.dl_tensor;
  PENSTOCK_ASSIGN(out.dtype, type_of(view.dtype));
  const auto item = static_cast<std::int64_t>(view.dtype.size_bytes);
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return Error(ErrorCode::out_of_range, "DLPack: an extent does not fit in 63 bits");
    if (view.shape[d] > 1 && view.strides_bytes[d] % item != 0)
      return unsupported(
          fmt::format("a stride of {} bytes is no multiple of the {} of an element", view.strides_bytes[d], item));
    made->shape.push_back(static_cast<std::int64_t>(view.shape[d]));
    made->strides.push_back(view.strides_bytes[d] / item);
  }
  out.data = view.data;
  out.device = {view.device.type == Device::Type::cpu ? dlpack::kCpu : dlpack::kCuda, view.device.index};
  out.ndim = static_cast<std::int32_t>(view.shape.size());
  out.shape = made->shape.data();
  out.strides = made->strides.data();
  made->managed.manager_ctx = made.get();
  made->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->manager_ctx); };
  return &made.release()->managed;
}

}  // namespace

void give_back(DLManagedTensorVersioned* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

void give_back(DLManagedTensor* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

Result<Tensor> Tensor::from_dlpack(DLManagedTensorVersioned* managed, const Stream& stream) {
  if (managed == nullptr) return bad("there is no tensor");
  if (managed->version.major != dlpack::kMajorVersion)  // what follows may lie elsewhere
    return unsupported(fmt::format("version {}.{}; version {} is understood", managed->version.major,
                                   managed->version.minor, dlpack::kMajorVersion));
  PENSTOCK_ASSIGN(TensorView view, view_of(managed->dl_tensor, stream));
  if ((managed->flags & dlpack::kReadOnly) != 0) view.access = Access::read_only;
  return share(owner_of(managed), std::move(view));
}

Result<Tensor> Tensor::from_dlpack(DLManagedTensor* managed, const Stream& stream) {
  if (managed == nullptr) return bad("there is no tensor");
  PENSTOCK_ASSIGN(TensorView view, view_of(managed->dl_tensor, stream));
  return share(owner_of(managed), std::move(view));
}

Result<DLManagedTensorVersioned*> Tensor::to_dlpack() const {
  PENSTOCK_ASSIGN(DLManagedTensorVersioned * managed, export_tensor<DLManagedTensorVersioned>(*this));
  managed->version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  managed->flags = view_.access == Access::read_only ? dlpack::kReadOnly : 0;
  return managed;
}

Result<DLManagedTensor*> Tensor::to_dlpack_unversioned() const {
  if (view_.access == Access::read_only)
    return unsupported("read-only memory can be given away since version 1 only, which the consumer did not ask for");
  return export_tensor<DLManagedTensor>(*this);
}

}  // namespace penstock
