// Data types of array elements, as they are in memory (always native byte order).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Families of element types.
enum class Kind : std::uint8_t {
  boolean,     ///< one byte, 0 or 1
  signed_int,  ///< 1, 2, 4, 8 bytes, two's complement
  unsigned_int,
  floating,    ///< IEEE 754, 2, 4, 8 bytes
  bfloat,      ///< bfloat16, 2 bytes
  complex,     ///< two floats: 8 or 16 bytes
  opaque,      ///< `r*`: opaque bytes
  bytes,       ///< fixed-length bytes, zero padded (NumPy S)
  utf32,       ///< fixed-length text, 4 bytes a code point, zero padded (NumPy U)
  datetime,    ///< int64 count of units since 1970; INT64_MIN is not-a-time
  timedelta,   ///< int64 count of units; INT64_MIN is not-a-time
  structure,   ///< named fields
  vlen_utf8,   ///< variable-length text; element = VlenRef; host memory only
  vlen_bytes,  ///< variable-length bytes; element = VlenRef; host memory only
};

struct Field;

/// A data type.  `size_bytes` is the size of one element in memory (16, a VlenRef, for the variable-length kinds).
struct PENSTOCK_API DType {
  Kind kind = Kind::unsigned_int;
  std::uint32_t size_bytes = 1;
  std::string unit;  ///< datetime, timedelta: "ns", "us", "ms", "s", "m", "h", "D", "W", "M", "Y", "generic", ...
  std::uint32_t unit_count = 1;  ///< datetime, timedelta: number of units in one step
  std::vector<Field> fields;     ///< structure only

  [[nodiscard]] bool is_vlen() const { return kind == Kind::vlen_utf8 || kind == Kind::vlen_bytes; }
  /// Bytes that are swapped together when the byte order changes: 1 for bytes, half the size for complex, 4 for utf32.
  /// 0 for structures (each field has its own).
  [[nodiscard]] std::uint32_t swap_unit() const;
  /// zarr v3 name where there is one ("uint16", "r24", "string"), else a readable one ("S10", "datetime64[ns]").
  [[nodiscard]] std::string name() const;
  /// NumPy type string in native order ("<u2", "|b1", "<M8[ns]", "|V3"); "|O" for variable length.
  [[nodiscard]] std::string numpy() const;

  bool operator==(const DType& other) const;

  /// The numeric types by name.  `integer` is any of one kind and size.
  static DType boolean();
  static DType integer(std::uint32_t size_bytes, Kind kind);
  static DType uint8();
  static DType uint16();
  static DType uint32();
  static DType uint64();
  static DType int8();
  static DType int16();
  static DType int32();
  static DType int64();
  static DType float16();
  static DType bfloat16();
  static DType float32();
  static DType float64();
  static DType complex64();
  static DType complex128();
};

/// One field of a structure: `name` at `offset_bytes`, repeated over `shape` (empty: a scalar).
struct Field {
  std::string name;
  DType dtype;
  std::uint32_t offset_bytes = 0;
  std::vector<std::uint64_t> shape;
  bool operator==(const Field& other) const = default;
};

// Here and not in the class: a DType can be made only where Field is complete.
inline DType DType::boolean() { return {Kind::boolean, 1, {}, 1, {}}; }
inline DType DType::integer(std::uint32_t size_bytes, Kind kind) { return {kind, size_bytes, {}, 1, {}}; }
inline DType DType::uint8() { return integer(1, Kind::unsigned_int); }
inline DType DType::uint16() { return integer(2, Kind::unsigned_int); }
inline DType DType::uint32() { return integer(4, Kind::unsigned_int); }
inline DType DType::uint64() { return integer(8, Kind::unsigned_int); }
inline DType DType::int8() { return integer(1, Kind::signed_int); }
inline DType DType::int16() { return integer(2, Kind::signed_int); }
inline DType DType::int32() { return integer(4, Kind::signed_int); }
inline DType DType::int64() { return integer(8, Kind::signed_int); }
inline DType DType::float16() { return {Kind::floating, 2, {}, 1, {}}; }
inline DType DType::bfloat16() { return {Kind::bfloat, 2, {}, 1, {}}; }
inline DType DType::float32() { return {Kind::floating, 4, {}, 1, {}}; }
inline DType DType::float64() { return {Kind::floating, 8, {}, 1, {}}; }
inline DType DType::complex64() { return {Kind::complex, 8, {}, 1, {}}; }
inline DType DType::complex128() { return {Kind::complex, 16, {}, 1, {}}; }

/// Reads the names of core types: "bool", "int8".."uint64", "float16/32/64", "bfloat16", "complex64/128", "r16",
/// "string", "bytes" (variable length).  Errors: invalid_argument, naming what was given.
PENSTOCK_API Result<DType> parse_dtype_name(std::string_view name);

}  // namespace penstock
