// The structures by which libraries share arrays, written from the specification of DLPack 1.1:
// https://dmlc.github.io/dlpack/latest/c_api.html and https://dmlc.github.io/dlpack/latest/python_spec.html
#pragma once
#include <cstdint>

namespace penstock::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1, kMinorVersion = 1;

/// DLDeviceType, those that are understood.
enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
/// DLDataTypeCode, those that are understood.
enum TypeCode : std::uint8_t { kInt = 0, kUnsigned = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
/// Bit of DLManagedTensorVersioned::flags.
inline constexpr std::uint64_t kReadOnly = 1;

}  // namespace penstock::dlpack

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // elements; nullptr: C order
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
