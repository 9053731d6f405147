// DEFLATE streams as zlib makes them.
#pragma once
#include <gtest/gtest.h>
#include <zlib.h>

#include "codec/deflate/decode.hpp"
#include "codec/lz_maker.hpp"

namespace penstock::test {

/// zlib's word for a container.
inline int window_bits(deflate::Container container) {
  constexpr int kBits[] = {-15, 15, 31};
  return kBits[static_cast<int>(container)];
}

inline Data pack(const Data& data, deflate::Container container, int level, int strategy = Z_DEFAULT_STRATEGY) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, level, Z_DEFLATED, window_bits(container), 8, strategy), Z_OK);
  Data out(deflateBound(&z, data.size()) + 64);
  Data in = data;
  in.push_back(0);  // never an empty vector's pointer
  z.next_in = in.data();
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace penstock::test
