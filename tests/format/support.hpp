// Helpers of the format tests.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "penstock/dataset.hpp"

namespace penstock::test {

/// Bytes of a value in native order.
template <class T>
std::vector<std::byte> bytes_of(T value) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);
  return {p, p + sizeof(T)};
}
inline std::vector<std::byte> bytes_of_text(std::string_view text) {
  const ByteView v = as_bytes(text);
  return {v.begin(), v.end()};
}

/// Everything that a Dataset says, for comparing two of them and for messages.
inline std::string describe(const Dataset& d) {
  std::string text = "zarr " + std::to_string(d.format.version) + " shape " + to_string(d.shape) + " chunks " +
                     to_string(d.chunk_shape) + " dtype " + d.dtype.name() + " keys " +
                     (d.keys()->kind == KeyEncoding::Kind::v2 ? "v2" : "default") + d.keys()->separator + " fill";
  for (const std::byte b : d.fill) text += " " + std::to_string(std::to_integer<int>(b));
  for (const CodecSpec& c : d.codecs) text += "\n  " + c.name + " " + c.configuration;
  for (const auto& n : d.dimension_names()) text += "\n  dim " + (n ? "'" + *n + "'" : std::string("null"));
  return text + "\n  attributes " + d.attributes + "\n  extra " + d.format.extra;
}

/// `document` with the text `from` replaced by `to`; the text must be there.
inline std::string with(std::string document, std::string_view from, std::string_view to) {
  const std::size_t at = document.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) document.replace(at, from.size(), to);
  return document;
}

}  // namespace penstock::test
