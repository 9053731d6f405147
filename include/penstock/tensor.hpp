// Elements in memory of the host or of a device: what reads give and writes take, and how other libraries share them.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/device.hpp"
#include "penstock/dtype.hpp"
#include "penstock/error.hpp"
#include "penstock/region.hpp"

// DLPack's own structures (https://dmlc.github.io/dlpack/latest/c_api.html), as dlpack.h declares them.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace penstock {

/// Whether elements may be changed.
enum class Access : std::uint8_t { read_write, read_only };

/// Elements in memory of somebody else, with how they lie.  It owns nothing.
struct PENSTOCK_API TensorView {
  void* data = nullptr;   ///< element [0, 0, ...]; nullptr only where there are no elements
  DType dtype;            ///< native byte order
  Shape shape;            ///< at most kMaxRank extents
  Strides strides_bytes;  ///< one for each extent, any sign
  Device device;
  Stream stream;  ///< of `device`; work on the elements is ordered on it
  Access access = Access::read_write;

  TensorView() = default;  // no aggregate: `{data, strides}` shall stay a Target
  /// Elements that follow each other in C order, on the stream's device.  Errors: out_of_range (size).
  static Result<TensorView> packed(void* data, DType dtype, Shape shape, const Stream& stream = {});

  /// Product of the extents, and the bytes of so many elements.  Errors: out_of_range.
  [[nodiscard]] Result<std::uint64_t> elements() const;
  [[nodiscard]] Result<std::uint64_t> bytes() const;
  /// Whether the elements follow each other in C order.
  [[nodiscard]] bool is_contiguous() const;
  /// Some of the elements, by one index for each of the first dimensions, with NumPy's rules: an integer drops its
  /// dimension, a negative step walks backwards.  Nothing is copied.
  /// Errors: out_of_range (an integer outside, too many indices), invalid_argument (step 0).
  [[nodiscard]] Result<TensorView> slice(const std::vector<Index>& indices) const;
  /// Whether it is one at all.  Errors: invalid_argument (ranks differ, no memory, the stream of another device),
  /// out_of_range (the elements' addresses do not fit in 64 bits).
  [[nodiscard]] Status check() const;
};

/// Elements with what keeps their memory alive.  Copies and slices share the memory; it is freed with the last of them,
/// in the order of the stream it was made on.
class PENSTOCK_API Tensor {
 public:
  Tensor() = default;
  /// New memory in C order on the stream's device, not initialised; `memory`: where it comes from (nullptr: penstock's
  /// own).  Errors: out_of_memory, out_of_range (size), invalid_argument (`memory` is of another device).
  static Result<Tensor> empty(const DType& dtype, const Shape& shape, const Stream& stream = {},
                              const std::shared_ptr<Memory>& memory = nullptr);
  /// Takes the memory over; `view` is a view of it.
  static Tensor own(Buffer buffer, TensorView view);
  /// Memory of somebody else; `owner` is let go with the last copy or slice.
  static Tensor share(std::shared_ptr<const void> owner, TensorView view);

  [[nodiscard]] const TensorView& view() const { return view_; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
  /// As TensorView::slice; shares the memory.
  [[nodiscard]] Result<Tensor> slice(const std::vector<Index>& indices) const;
  /// Itself where the elements follow each other in C order, else a copy in new memory.  Errors: those of `empty`,
  /// device_error.
  [[nodiscard]] Result<Tensor> contiguous(const std::shared_ptr<Memory>& memory = nullptr) const;
  /// Itself where it is on the stream's device, else a copy there, in C order: in the stream's order for a device,
  /// complete for the host.  Errors: those of `empty`, device_error, unsupported (variable-length elements live in host
  /// memory only).
  [[nodiscard]] Result<Tensor> to(const Stream& stream, const std::shared_ptr<Memory>& memory = nullptr) const;

  /// Takes over what another library gives, without a copy.  `stream`: of its device, on which the elements are ready;
  /// for the host none.  After an error `managed` is still the caller's.  Read-only memory stays so (version 1).
  /// Errors: invalid_argument (null, negative extents, the stream of another device), out_of_range (sizes),
  /// unsupported (version, rank, device or data type, by name).
  static Result<Tensor> from_dlpack(DLManagedTensorVersioned* managed, const Stream& stream = {});
  static Result<Tensor> from_dlpack(DLManagedTensor* managed, const Stream& stream = {});
  /// Gives the elements to another library, without a copy; its deleter must be called once.  The memory lives until
  /// then.  The consumer orders its work after the view's stream.
  /// Errors: unsupported (a data type or strides that DLPack does not have; in the form without version also read-only
  /// memory).
  [[nodiscard]] Result<DLManagedTensorVersioned*> to_dlpack() const;
  [[nodiscard]] Result<DLManagedTensor*> to_dlpack_unversioned() const;

 private:
  std::shared_ptr<const void> owner_;
  TensorView view_;
};

/// Calls the deleter of what a consumer did not take, or is done with.
PENSTOCK_API void give_back(DLManagedTensorVersioned* managed);
PENSTOCK_API void give_back(DLManagedTensor* managed);

/// Copies elements between views of the same shape and data type on any devices: in the order of `to.stream` (of
/// `from.stream` where only that is a device), complete on return where one of them is the host.  They must not
/// overlap. Errors: invalid_argument (they differ, `to` is read-only), unsupported (variable-length elements on a
/// device), out_of_memory, device_error.
PENSTOCK_API Status copy_elements(const TensorView& from, const TensorView& to);

}  // namespace penstock
