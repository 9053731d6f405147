// The loops of the CPU that find digits; included once for each set of instructions (ops/isa.hpp), so it has no guard.
namespace penstock::select::PENSTOCK_ISA {

template <class T>
void keys_of(const T* __restrict in, std::size_t n, Key<T>* __restrict keys) {
  for (std::size_t i = 0; i < n; ++i) keys[i] = key_of(in[i]);
}

/// The digits above `shift`, of 16 bits.
template <class K>
void digits_of(const K* __restrict keys, std::size_t n, std::uint32_t shift, std::uint16_t* __restrict digits) {
  for (std::size_t i = 0; i < n; ++i) digits[i] = static_cast<std::uint16_t>(keys[i] >> shift);
}

/// Which keys begin as one of a few: 1, else 0.
template <class K>
void mark(const K* __restrict keys, std::size_t n, std::uint32_t shift, const K* beginnings, std::size_t count,
          std::uint8_t* __restrict marked) {
  for (std::size_t i = 0; i < n; ++i) marked[i] = 0;
  for (std::size_t b = 0; b < count; ++b) {
    const K beginning = beginnings[b];
    for (std::size_t i = 0; i < n; ++i) marked[i] |= (keys[i] >> shift) == beginning ? 1 : 0;
  }
}

}  // namespace penstock::select::PENSTOCK_ISA
#undef PENSTOCK_ISA
