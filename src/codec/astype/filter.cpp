#include "codec/astype/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/checked.hpp"
#include "core/json.hpp"
#include "core/json_text.hpp"
#include "core/numpy_dtype.hpp"

namespace penstock {

ScalarType device_scalar(Number number) {
  const bool is_signed = number == Number::i1 || number == Number::i2 || number == Number::i4 || number == Number::i8;
  return {static_cast<std::uint8_t>(size_of(number)), is_signed, is_float(number), number == Number::b1};
}

Result<FilterType> filter_type(const Json& configuration, std::string_view key, const DType& fallback) {
  FilterType out{fallback, {}, {}};
  const auto it = configuration.find(std::string(key));
  if (it == configuration.end() || it->is_null()) {
    out.text = fallback.numpy();
  } else {
    PENSTOCK_ASSIGN(out.text, string_member(configuration, key));
    PENSTOCK_ASSIGN_IN(NumpyDType parsed, parse_numpy_dtype(out.text), fmt::format("\"{}\"", key));
    if (parsed.is_object) return Error(ErrorCode::unsupported, fmt::format("\"{}\": filters take no objects", key));
    out.foreign_order =
        parsed.dtype.swap_unit() > 1 && parsed.big_endian == (std::endian::native == std::endian::little);
    out.dtype = std::move(parsed.dtype);
  }
  // np.view('<M8[ns]') and the like are integers to a filter.
  if (out.dtype.kind == Kind::datetime || out.dtype.kind == Kind::timedelta) out.dtype = DType::int64();
  const auto scalars = scalars_of(out.dtype);
  if (!scalars)
    return Error(ErrorCode::unsupported, fmt::format("\"{}\" is '{}': filters take plain numbers only", key, out.text));
  out.scalars = *scalars;
  return out;
}

Result<ChunkSpec> view_as(const ChunkSpec& chunk, const DType& type) {
  if (chunk.dtype == type) return chunk;
  const auto refused = [&] {
    return Error(ErrorCode::unsupported,
                 fmt::format("elements of type {} cannot be seen as {}", chunk.dtype.name(), type.name()))
        .set_hint("the filter's dtype must be that of the array");
  };
  if (chunk.dtype.is_vlen() || chunk.dtype.swap_unit() != type.swap_unit()) return refused();
  ChunkSpec out{chunk.shape, type, chunk.fill};
  if (chunk.dtype.size_bytes == type.size_bytes) return out;
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(chunk.shape));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, chunk.dtype.size_bytes));
  if (bytes % type.size_bytes != 0) return refused();
  out.shape = {bytes / type.size_bytes};
  out.fill.clear();
  if (std::any_of(chunk.fill.begin(), chunk.fill.end(), [](std::byte b) { return b != std::byte{0}; }))
    return refused();
  return out;
}

Result<ChunkSpec> with_dtype(const ChunkSpec& chunk, const DType& type) {
  ChunkSpec out{chunk.shape, type, {}};
  const auto from = scalars_of(chunk.dtype);
  const auto to = scalars_of(type);
  if (chunk.fill.empty()) return out;
  if (!from || !to || from->count != to->count || chunk.fill.size() != chunk.dtype.size_bytes)
    return Error(ErrorCode::unsupported,
                 fmt::format("the fill value cannot be converted from {} to {}", chunk.dtype.name(), type.name()));
  out.fill.resize(type.size_bytes);
  cast_function(from->number, to->number)(chunk.fill.data(), out.fill.data(), from->count);
  return out;
}

void take_stored_order(std::string_view filter, const CodecSpec& behind, Json& configuration) {
  const char* const key = filter == "numcodecs.astype"                                            ? "encode_dtype"
                          : filter == "numcodecs.delta" || filter == "numcodecs.fixedscaleoffset" ? "astype"
                                                                                                  : nullptr;
  if (key == nullptr || behind.name != "bytes" || !configuration.contains(key) || !configuration[key].is_string())
    return;
  const auto bytes = parse_json(behind.configuration);
  const Json endian = bytes && bytes->is_object() ? bytes->value("endian", Json()) : Json();
  auto text = configuration[key].get<std::string>();
  const char stored = is_text(endian, "big") ? '>' : is_text(endian, "little") ? '<' : '\0';
  if (text.empty() || text.front() != stored) return;
  text.front() = std::endian::native == std::endian::little ? '<' : '>';
  configuration[key] = text;
}

Status need_native_order(const FilterType& type, std::string_view key) {
  if (!type.foreign_order) return {};
  return Error(ErrorCode::unsupported,
               fmt::format("\"{}\" is '{}', of the other byte order than the elements: zarr-python does not read back "
                           "what it stores so",
                           key, type.text))
      .set_hint("a filter's types are of the machine's order; how the chunk is stored is said by \"bytes\"");
}

Status expect_size(std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return {};
  return Error(ErrorCode::corrupt_data, fmt::format("{} bytes expected, {} found", expected, found));
}

}  // namespace penstock
