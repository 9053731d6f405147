// Cases of the codecs that change elements before they become bytes, and of variable-length elements.
#include <fmt/format.h>

#include "contract/cases.hpp"

namespace penstock::contract {
namespace {

CodecSpec little() { return {"bytes", R"({"endian":"little"})"}; }

/// An array codec before `bytes`.
Case before_bytes(std::string codec, std::string label, std::string configuration, bool lossless) {
  CodecSpec spec{codec, std::move(configuration)};
  return {std::move(codec), std::move(label),
          [spec](const ChunkSpec&) { return std::vector<CodecSpec>{spec, little()}; }, false,
          [lossless](const DType&) { return lossless; }};
}

/// An array->bytes codec alone.
Case alone(std::string codec, std::string label, std::string configuration, bool lossless = true) {
  CodecSpec spec{codec, std::move(configuration)};
  return {std::move(codec), std::move(label), [spec](const ChunkSpec&) { return std::vector<CodecSpec>{spec}; }, false,
          [lossless](const DType&) { return lossless; }};
}

}  // namespace

void add_array_filters(std::vector<Case>& cases) {
  cases.push_back(before_bytes("numcodecs.delta", "delta", "{}", true));
  cases.push_back(before_bytes("numcodecs.delta", "delta stored as int16", R"({"astype":"<i2"})", false));
  cases.push_back(before_bytes("numcodecs.delta", "delta stored as float32", R"({"astype":"<f4"})", false));
  cases.push_back(before_bytes("numcodecs.fixedscaleoffset", "fixedscaleoffset", R"({"offset":2,"scale":4})", false));
  cases.push_back(before_bytes("numcodecs.fixedscaleoffset", "fixedscaleoffset to float16",
                               R"({"offset":2.5,"scale":0.1,"astype":"<f2"})", false));
  cases.push_back(before_bytes("numcodecs.quantize", "quantize", R"({"digits":3})", false));
  cases.push_back(
      before_bytes("numcodecs.quantize", "quantize stored as float32", R"({"digits":3,"astype":"<f4"})", false));
  cases.push_back(before_bytes("bitround", "bitround", R"({"keepbits":7})", false));
  cases.push_back(before_bytes("numcodecs.astype", "astype", R"({"encode_dtype":"<f8"})", false));
  cases.push_back(before_bytes("numcodecs.astype", "astype stored as uint16", R"({"encode_dtype":"<u2"})", false));
  cases.push_back(
      {"numcodecs.packbits", "packbits (numcodecs)",
       [](const ChunkSpec&) { return std::vector<CodecSpec>{{"numcodecs.packbits", "{}"}, {"bytes", "{}"}}; }, false,
       [](const DType& dtype) { return dtype.kind == Kind::boolean; }});
}

void add_serializer_filters(std::vector<Case>& cases) {
  cases.push_back(alone("vlen-utf8", "vlen-utf8", "{}"));
  cases.push_back(
      {"vlen-utf8", "vlen-utf8 + zstd",
       [](const ChunkSpec&) { return std::vector<CodecSpec>{{"vlen-utf8", "{}"}, {"zstd", R"({"checksum":true})"}}; },
       true});
  cases.push_back(alone("vlen-bytes", "vlen-bytes", "{}"));
  cases.push_back(alone("packbits", "packbits", "{}"));
  cases.push_back(alone("packbits", "packbits padding first", R"({"padding_encoding":"first_byte"})"));
  cases.push_back(alone("packbits", "packbits padding last", R"({"padding_encoding":"last_byte"})"));
  cases.push_back(alone("packbits", "packbits bits 1 to 5",
                        R"({"padding_encoding":"last_byte","first_bit":1,"last_bit":5})", false));
  for (const auto& [codec, mode] :
       {std::pair("zfp", R"({"mode":"reversible"})"), {"numcodecs.zfpy", R"({"mode":5})"}}) {
    cases.push_back(alone(codec, fmt::format("{} reversible", codec), mode));
    cases.back().padded = true;
  }
  for (const int predictor : {2, 3})
    for (const char* endian : {"little", "big"})
      cases.push_back(alone("tiff.predictor", fmt::format("tiff predictor {}, {} endian", predictor, endian),
                            fmt::format(R"({{"predictor":{},"samples":1,"endian":"{}"}})", predictor, endian)));
}

void add_byte_filters(std::vector<Case>& cases) {
  cases.push_back({"numcodecs.shuffle", "shuffle", [](const ChunkSpec& chunk) {
                     return std::vector<CodecSpec>{
                         little(),
                         {"numcodecs.shuffle", fmt::format(R"({{"elementsize":{}}})", chunk.dtype.size_bytes)}};
                   }});
  for (const char* codec : {"tiff.lzw", "tiff.packbits"}) {
    cases.push_back(
        {codec, codec, [codec](const ChunkSpec&) { return std::vector<CodecSpec>{little(), {codec, "{}"}}; }});
    cases.back().padded = true;  // what follows the last byte that is wanted is not looked at
  }
}

}  // namespace penstock::contract
