// Data of several characters and LZ4 blocks of it, for the tests of the decoder.
#pragma once
#include <lz4.h>
#include <lz4hc.h>

#include <cstdint>
#include <random>
#include <vector>

namespace penstock::test {

using Data = std::vector<std::uint8_t>;
inline constexpr int kDataKinds = 7;

inline std::uint8_t data_byte(const Data& data, std::size_t i, int kind, std::mt19937& random) {
  switch (kind) {
    case 0: return static_cast<std::uint8_t>(random());
    case 1: return 0;
    case 2: return static_cast<std::uint8_t>("the quick brown fox "[i % 20] + (random() % 19 == 0));
    case 3:  // u16 with a quiet high byte
      return static_cast<std::uint8_t>(i % 2 ? 1 : 40 + random() % 12);
    case 4:  // period 3
      return i < 3 ? static_cast<std::uint8_t>(random()) : data[i - 3];
    case 5:  // far matches
      return random() % 97 == 0 || i < 700 ? static_cast<std::uint8_t>(random()) : data[i - 700];
    default:  // long literals and long matches
      return i / 4096 % 2 ? static_cast<std::uint8_t>(random()) : std::uint8_t{9};
  }
}

inline Data make_data(int kind, std::size_t n, std::mt19937& random) {
  Data data(n);
  for (std::size_t i = 0; i < n; ++i) data[i] = data_byte(data, i, kind, random);
  return data;
}

inline Data compress(const Data& data, bool high) {
  Data out(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(data.size()))));
  const char* from = reinterpret_cast<const char*>(data.data());
  char* to = reinterpret_cast<char*>(out.data());
  const int n = static_cast<int>(data.size()), room = static_cast<int>(out.size());
  const int made = high ? LZ4_compress_HC(from, to, n, room, 9) : LZ4_compress_default(from, to, n, room);
  out.resize(static_cast<std::size_t>(made));
  return out;
}

}  // namespace penstock::test
