#include "codec/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "codec/adler32/adler32.hpp"
#include "codec/astype/astype.hpp"
#include "codec/bitround/bitround.hpp"
#include "codec/blosc/blosc.hpp"
#include "codec/bytes/bytes.hpp"
#include "codec/bz2/bz2.hpp"
#include "codec/crc32/crc32.hpp"
#include "codec/crc32c/crc32c.hpp"
#include "codec/delta/delta.hpp"
#include "codec/fixedscaleoffset/fixedscaleoffset.hpp"
#include "codec/fletcher32/fletcher32.hpp"
#include "codec/gzip/gzip.hpp"
#include "codec/jenkins_lookup3/jenkins_lookup3.hpp"
#include "codec/lz4/lz4.hpp"
#include "codec/lzma/lzma.hpp"
#include "codec/packbits/packbits.hpp"
#include "codec/quantize/quantize.hpp"
#include "codec/refused.hpp"
#include "codec/sharding/sharding.hpp"
#include "codec/shuffle/shuffle.hpp"
#include "codec/support.hpp"
#include "codec/tiff_bits/tiff_bits.hpp"
#include "codec/tiff_deflate/tiff_deflate.hpp"
#include "codec/tiff_fill_order/tiff_fill_order.hpp"
#include "codec/tiff_jpeg/tiff_jpeg.hpp"
#include "codec/tiff_lzw/tiff_lzw.hpp"
#include "codec/tiff_packbits/tiff_packbits.hpp"
#include "codec/tiff_predictor/tiff_predictor.hpp"
#include "codec/tiff_zstd/tiff_zstd.hpp"
#include "codec/transpose/transpose.hpp"
#include "codec/vlen_bytes/vlen.hpp"
#include "codec/zfp/zfp.hpp"
#include "codec/zlib/zlib.hpp"
#include "codec/zstd/zstd.hpp"
#include "core/json.hpp"
#include "core/suggest.hpp"

namespace penstock {

// Every codec, in the order in which docs/support.md lists them.  To add one: its entry here and its files in
// CMakeLists.txt.
std::span<const CodecEntry> codec_list() {
  static const CodecEntry list[] = {
      // array -> array
      kTransposeCodec,
      kDeltaCodec,
      kFixedScaleOffsetCodec,
      kQuantizeCodec,
      kBitroundCodec,
      kAstypeCodec,
      kNumcodecsPackbitsCodec,
      // array -> bytes
      kBytesCodec,
      kShardingCodec,
      kVlenUtf8Codec,
      kVlenBytesCodec,
      kPackbitsCodec,
      kZfpCodec,
      kZfpyCodec,
      // bytes -> bytes: compressors
      kZstdCodec,
      kGzipCodec,
      kBloscCodec,
      kLz4Codec,
      kZlibCodec,
      kBz2Codec,
      kLzmaCodec,
      // bytes -> bytes: filters
      kShuffleCodec,
      // bytes -> bytes: checksums
      kCrc32cCodec,
      kCrc32Codec,
      kAdler32Codec,
      kFletcher32Codec,
      kJenkinsCodec,
  };
  return list;
}

std::span<const CodecEntry> file_codec_list() {
  static const CodecEntry list[] = {
      kTiffPredictorCodec, kTiffBitsCodec, kTiffJpegCodec,     kTiffLzwCodec,
      kTiffDeflateCodec,   kTiffZstdCodec, kTiffPackbitsCodec, kTiffFillOrderCodec,
  };
  return list;
}

const CodecEntry* find_file_codec(std::string_view name) {
  const auto found = std::ranges::find(file_codec_list(), name, &CodecEntry::name);
  return found == file_codec_list().end() ? nullptr : &*found;
}

const CodecEntry* find_codec(std::string_view name) {
  for (const CodecEntry& entry : codec_list())
    if (entry.name == name || std::ranges::find(entry.aliases, name) != entry.aliases.end()) return &entry;
  return nullptr;
}

const CodecEntry* find_codec_v2(std::string_view id) {
  for (const CodecEntry& entry : codec_list())
    if (!entry.v2_id.empty() && entry.v2_id == id) return &entry;
  return nullptr;
}

Result<CodecSpec> codec_from_v2(const Json& v2, const DType& dtype) {
  PENSTOCK_ASSIGN(const std::string id, string_member(v2, "id"));
  const CodecEntry* entry = find_codec_v2(id);
  if (entry == nullptr) return unknown_codec(id);
  if (entry->from_v2 != nullptr) {
    PENSTOCK_ASSIGN_IN(CodecSpec spec, entry->from_v2(v2, dtype), "codec " + id);
    return spec;
  }
  Json configuration = v2;
  configuration.erase("id");
  return CodecSpec{std::string(entry->name), dump_json(configuration)};
}

Result<Json> codec_to_v2(const CodecSpec& spec, const DType& dtype) {
  const CodecEntry* entry = find_codec(spec.name);
  if (entry == nullptr) return unknown_codec(spec.name);
  const std::string where = "codec " + spec.name;
  if (entry->v2_id.empty())
    return Error(ErrorCode::unsupported, where + ": zarr v2 has no such codec").set_hint("write zarr v3 instead");
  auto made = entry->to_v2 != nullptr ? entry->to_v2(spec, dtype) : v2_object(entry->v2_id, spec);
  PENSTOCK_ASSIGN_IN(Json object, std::move(made), where);
  return object;
}

Result<std::vector<CodecSpec>> codecs_from_json(const Json& list) {
  if (!list.is_array()) return bad_configuration(fmt::format("a list of codecs is needed, not {}", list.type_name()));
  std::vector<CodecSpec> specs;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& item = list[i];
    const std::string where = fmt::format("codecs[{}]", i);
    CodecSpec spec;
    if (item.is_string()) {
      spec.name = item.get<std::string>();
    } else {
      PENSTOCK_TRY_IN(only_members(item, {"name", "configuration", "must_understand"}), where);
      PENSTOCK_ASSIGN_IN(spec.name, string_member(item, "name"), where);
      if (const auto it = item.find("configuration"); it != item.end()) {
        if (!it->is_object()) return bad_configuration(where + ": \"configuration\" must be an object");
        spec.configuration = dump_json(*it);
      }
    }
    if (find_file_codec(spec.name) != nullptr) return unknown_codec(spec.name);
    specs.push_back(std::move(spec));
  }
  return specs;
}

Result<Json> codecs_to_json(std::span<const CodecSpec> specs) {
  Json list = Json::array();
  for (const CodecSpec& spec : specs) {
    PENSTOCK_ASSIGN_IN(Json configuration, configuration_of(spec), "codec " + spec.name);
    Json item = Json::object();
    item["name"] = spec.name;
    // zarr-python asks for the member, also empty, except where it leaves it out itself.
    if (!configuration.empty() || (spec.name != "bytes" && spec.name != "crc32c"))
      item["configuration"] = std::move(configuration);
    list.push_back(std::move(item));
  }
  return list;
}

Error unknown_codec(std::string_view name) {
  if (auto refused = refused_codec(name)) return *std::move(refused);
  std::string known;
  std::string_view nearest;
  std::size_t distance = 3;  // further away is no misspelling
  const auto consider = [&](std::string_view candidate) {
    const std::size_t d = edit_distance(name, candidate);
    if (d < distance) {
      distance = d;
      nearest = candidate;
    }
  };
  for (const CodecEntry& entry : codec_list()) {
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
    consider(entry.name);
    for (const std::string_view alias : entry.aliases) consider(alias);
  }
  std::string text = fmt::format("no codec '{}'", name.substr(0, 100));
  if (!nearest.empty()) text += fmt::format("; did you mean {}?", nearest);
  return Error(ErrorCode::unsupported, std::move(text)).set_hint("known codecs: " + known);
}

}  // namespace penstock
