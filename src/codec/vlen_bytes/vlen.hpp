// Variable-length elements, as numcodecs and zarr v3 store them: "vlen-utf8" and "vlen-bytes".
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kVlenUtf8Codec;
extern const CodecEntry kVlenBytesCodec;

/// Number of elements, then length and bytes of each; all numbers are 32-bit little-endian (vlen_bytes/cpu.cpp).
/// `in`: VlenRef each.  Errors: out_of_range (an element or the count from 2^32 on), out_of_memory.
Status encode_vlen(ByteView in, Bytes& out);
/// `out`: room for one VlenRef each; their bytes are copied once, into one block of `arena`.
/// Errors: corrupt_data naming the element and the byte.
Status decode_vlen(ByteView in, ByteSpan out, Arena& arena);

/// corrupt_data naming the first element that is not UTF-8 and the byte in it.  `elements`: VlenRef each.
Status check_utf8(ByteView elements, ErrorCode code);
}  // namespace penstock
