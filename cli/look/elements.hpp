// Elements as text.
#pragma once
#include <string>

#include "cli/kit/output.hpp"
#include "penstock/dtype.hpp"
#include "penstock/region.hpp"

namespace penstock::cli {

/// How elements are set out.
enum class Layout : std::uint8_t {
  text,   ///< a line for each row of the last axis, an empty line between planes
  json,   ///< nested arrays
  lines,  ///< one JSON value a line
};

/// Writes the elements of an array of `shape` that come slice by slice in C order.  Values are JSON as zarr v3 writes
/// fill values, but points in time are ISO 8601 in `text` and `json`; in `text` numbers have no quotes (NaN, Infinity).
class ElementWriter {
 public:
  ElementWriter(Output& out, Layout layout, DType dtype, Shape shape);
  /// Elements in native order, dtype.size_bytes each.
  Status write(ByteView elements);
  /// After the last element.
  void finish();

 private:
  [[nodiscard]] Result<std::string> text_of(const std::byte* element) const;
  void before();
  void after();
  Output& out_;
  Layout layout_;
  DType dtype_;
  Shape shape_;
  Shape index_;  ///< of the next element
  bool empty_ = false;
};

}  // namespace penstock::cli
