// The codec "numcodecs.shuffle": the first bytes of all elements, then the second bytes, ...
#pragma once
#include "codec/entry.hpp"

namespace penstock {
extern const CodecEntry kShuffleCodec;

/// out[j * n + i] = in[i * size + j] for n elements of `size` bytes (shuffle/cpu.cpp).
void shuffle_bytes(const std::byte* in, std::byte* out, std::size_t n, std::size_t size);
/// Whether elements of `size` bytes are shuffled in this processor's vectors.
bool shuffles_in_vectors(std::size_t size);
/// The reverse: out[i * size + j] = in[j * n + i].
void unshuffle_bytes(const std::byte* in, std::byte* out, std::size_t n, std::size_t size);
}  // namespace penstock
