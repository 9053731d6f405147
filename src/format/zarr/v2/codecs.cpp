// order, filters and compressor of zarr v2 <-> a chain of codecs as v3 has it.
//
// v2 passes a chunk, flattened in its memory order, through the filters and the compressor; byte order is part of the
// data type.  So the chain is: transpose (order F), filters that make elements, `bytes` with the byte order, filters
// that make bytes, compressor.
#include <fmt/format.h>

#include <algorithm>

#include "codec/list.hpp"
#include "core/json.hpp"
#include "core/json_text.hpp"
#include "core/numpy_dtype.hpp"
#include "format/members.hpp"
#include "format/zarr/v2/zarr2.hpp"

namespace penstock::zarr2 {
namespace {

using metadata::invalid;
using metadata::shown;
using metadata::unsupported;

Json reversed_axes(std::size_t rank) {
  Json order = Json::array();
  for (std::size_t i = rank; i-- > 0;) order.push_back(i);
  return order;
}

/// Whether the codec is this one, also by an alias.
bool is_codec(const CodecSpec& spec, std::string_view name) {
  const CodecEntry* entry = find_codec(spec.name);
  return entry != nullptr && entry->name == name;
}

/// A codec chain while it is walked from the chunk to its bytes.
class Walk {
 public:
  Walk(const Dataset& dataset) : chunk_{dataset.chunk_shape, dataset.dtype, dataset.fill} {}  // NOLINT
  enum class Kind : std::uint8_t { elements, to_bytes, bytes };

  /// Kind of the next codec; remembers what it makes.  Errors: unknown codec, wrong parameters, wrong order.
  Result<Kind> step(const CodecSpec& spec) {
    const CodecEntry* entry = find_codec(spec.name);
    if (entry == nullptr) return unknown_codec(spec.name);
    PENSTOCK_ASSIGN(const Json config, parse_json(spec.configuration));
    PENSTOCK_ASSIGN(const AnyCodec codec, entry->make(config, chunk_));
    const auto kind = static_cast<Kind>(codec.index());
    if (kind != Kind::bytes && made_bytes_)
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("\"{}\" works on elements but stands after a codec that makes bytes", spec.name));
    if (kind == Kind::elements) chunk_ = std::get<std::unique_ptr<ArrayToArray>>(codec)->encoded();
    if (kind == Kind::to_bytes) made_bytes_ = true;
    return kind;
  }
  [[nodiscard]] const ChunkSpec& chunk() const { return chunk_; }
  [[nodiscard]] bool made_bytes() const { return made_bytes_; }
  void make_bytes() { made_bytes_ = true; }

 private:
  ChunkSpec chunk_;
  bool made_bytes_ = false;
};

CodecSpec bytes_codec(const Json& endian) {
  Json config = Json::object();
  if (!endian.is_null()) config["endian"] = endian;
  return {"bytes", dump_json(config)};
}

/// Byte order of a type that a filter's configuration names; null where it means nothing.
Result<Json> order_of(const Json& filter, std::string_view key) {
  PENSTOCK_ASSIGN(const std::string text, string_member(filter, key));
  PENSTOCK_ASSIGN(const StoredType type, parse_dtype(Json(text), key));
  return Json(type.endian);
}

/// Follows the byte order through a filter: it is part of the types that its configuration names.
Status follow_order(const Json& filter, Json& endian) {
  for (const std::string_view key : {"dtype", "decode_dtype"}) {
    if (!filter.contains(key)) continue;
    PENSTOCK_ASSIGN(const Json order, order_of(filter, key));
    if (!order.is_null() && !endian.is_null() && order != endian)
      return unsupported(key,
                         fmt::format("{} in a chain whose elements are {}-endian", shown(filter.at(std::string(key))),
                                     endian.is_string() ? endian.get<std::string>() : "mixed"));
  }
  for (const std::string_view key : {"astype", "encode_dtype"}) {
    if (!filter.contains(key) || filter.at(std::string(key)).is_null()) continue;
    PENSTOCK_ASSIGN(endian, order_of(filter, key));
  }
  return {};
}

/// Refuses a filter's types of big-endian order in a chain that is to be written: the order is that of `bytes`.
Status need_little(const Json& filter) {
  for (const std::string_view key : {"dtype", "decode_dtype", "astype", "encode_dtype"}) {
    if (!filter.contains(key) || !filter.at(std::string(key)).is_string()) continue;
    PENSTOCK_ASSIGN(const Json order, order_of(filter, key));
    if (is_text(order, "big"))
      return unsupported(key, fmt::format("{}; give it little-endian, zarr v2 stores it in the order of \"bytes\"",
                                          shown(filter.at(std::string(key)))));
  }
  return {};
}

/// Gives the types in a filter's configuration another byte order.
Status set_order(Json& filter, const Json& endian) {
  for (const char* key : {"dtype", "decode_dtype", "astype", "encode_dtype"}) {
    const auto it = filter.find(key);
    if (it == filter.end() || !it->is_string()) continue;
    PENSTOCK_ASSIGN(const StoredType type, parse_dtype(*it, key));
    PENSTOCK_ASSIGN(*it, write_dtype(type.dtype, endian));
  }
  return {};
}

/// Builds the chain.
class Chain {
 public:
  Chain(const Dataset& dataset, Json endian) : walk_(dataset), endian_(std::move(endian)) {}

  Status transpose(std::size_t rank) {
    Json config = Json::object();
    config["order"] = reversed_axes(rank);
    specs_.push_back({"transpose", dump_json(config)});
    return walk_.step(specs_.back()) ? Status() : Error(ErrorCode::internal, "transpose of order F");
  }
  Status add(const Json& stored) {
    if (!stored.is_object())
      return Error(ErrorCode::invalid_metadata, fmt::format("must be an object with an id, is {}", shown(stored)));
    PENSTOCK_ASSIGN(CodecSpec spec, codec_from_v2(stored, walk_.chunk().dtype));
    // From here on the order is said by `bytes` alone.
    PENSTOCK_ASSIGN(Json config, parse_json(spec.configuration));
    PENSTOCK_TRY(set_order(config, "little"));
    spec.configuration = dump_json(config);
    PENSTOCK_ASSIGN(const Walk::Kind kind, walk_.step(spec));
    if (kind == Walk::Kind::elements) PENSTOCK_TRY(follow_order(stored, endian_));
    if (kind == Walk::Kind::bytes) PENSTOCK_TRY(finish_elements());
    specs_.push_back(std::move(spec));
    return {};
  }
  /// Puts `bytes` where elements become bytes, unless a filter has done it.
  Status finish_elements() {
    if (walk_.made_bytes()) return {};
    const bool has_order = endian_.is_array() || walk_.chunk().dtype.swap_unit() != 1;
    specs_.push_back(bytes_codec(has_order ? endian_ : Json()));
    PENSTOCK_TRY(walk_.step(specs_.back()));
    return {};
  }
  std::vector<CodecSpec> take() { return std::move(specs_); }

 private:
  Walk walk_;
  Json endian_;
  std::vector<CodecSpec> specs_;
};

/// Whether the codec reverses the axes.
Result<bool> is_f_order(const CodecSpec& spec, std::size_t rank) {
  if (!is_codec(spec, "transpose")) return false;
  PENSTOCK_ASSIGN(const Json config, parse_json(spec.configuration));
  const Json order = config.is_object() ? config.value("order", Json()) : Json();
  return is_text(order, "F") || order == reversed_axes(rank);
}

Result<Json> endian_of(const CodecSpec& spec) {
  PENSTOCK_ASSIGN(const Json config, parse_json(spec.configuration));
  return config.is_object() ? config.value("endian", Json()) : Json();
}

/// The byte order that the chain's `bytes` codec states.
Result<Json> find_endian(const std::vector<CodecSpec>& codecs) {
  for (const CodecSpec& spec : codecs)
    if (is_codec(spec, "bytes")) return endian_of(spec);
  return Json();
}

}  // namespace

Result<std::vector<CodecSpec>> parse_codecs(const Json& zarray, const Dataset& dataset, const Json& endian) {
  Chain chain(dataset, endian);
  PENSTOCK_ASSIGN(const std::string order, string_member(zarray, "order"));
  if (order != "C" && order != "F") return invalid("order", fmt::format("must be \"C\" or \"F\", is \"{}\"", order));
  if (order == "F" && dataset.rank() > 1) PENSTOCK_TRY(chain.transpose(dataset.rank()));
  const Json filters = zarray.value("filters", Json());
  if (!filters.is_null() && !filters.is_array())
    return invalid("filters", fmt::format("must be a list or null, is {}", shown(filters)));
  for (std::size_t i = 0; i < filters.size(); ++i)
    PENSTOCK_TRY_IN(chain.add(filters[i]), fmt::format("filters[{}]", i));
  const Json compressor = zarray.value("compressor", Json());
  if (!compressor.is_null()) PENSTOCK_TRY_IN(chain.add(compressor), "compressor");
  PENSTOCK_TRY_IN(chain.finish_elements(), "dtype");
  return chain.take();
}

Result<StoredCodecs> write_codecs(const Dataset& dataset) {
  StoredCodecs stored;
  PENSTOCK_ASSIGN_IN(stored.endian, find_endian(dataset.codecs), "codecs");
  Walk walk(dataset);
  Json list = Json::array();
  bool last_makes_bytes = false;
  for (std::size_t i = 0; i < dataset.codecs.size(); ++i) {
    const CodecSpec& spec = dataset.codecs[i];
    const std::string where = fmt::format("codecs[{}]", i);
    PENSTOCK_ASSIGN_IN(const bool f_order, is_f_order(spec, dataset.rank()), where);
    const ChunkSpec before = walk.chunk();
    PENSTOCK_ASSIGN_IN(const Walk::Kind kind, walk.step(spec), where);
    if (is_codec(spec, "transpose")) {
      if (!f_order || i != 0) return unsupported(where, "zarr v2 has no transpose but order F");
      stored.f_order = dataset.rank() > 1;
      continue;
    }
    if (is_codec(spec, "bytes")) continue;
    PENSTOCK_ASSIGN_IN(Json item, codec_to_v2(spec, before.dtype), where);
    if (kind == Walk::Kind::elements) {
      PENSTOCK_TRY_IN(need_little(item), where);
      PENSTOCK_TRY_IN(set_order(item, stored.endian), where);
    }
    last_makes_bytes = kind == Walk::Kind::bytes;
    list.push_back(std::move(item));
  }
  if (!walk.made_bytes()) return invalid("codecs", "no codec makes bytes of the elements");
  if (last_makes_bytes) {
    stored.compressor = list.back();
    list.erase(list.size() - 1);
  }
  if (!list.empty()) stored.filters = std::move(list);
  return stored;
}

}  // namespace penstock::zarr2
