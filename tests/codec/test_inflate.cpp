// DEFLATE by one thread, several symbols at a look, against zlib; and which streams it is for.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <random>

#include "codec/deflate/inflate.hpp"
#include "codec/deflate_maker.hpp"
#include "codec/zlib_streams.hpp"
#include "support.hpp"

using namespace penstock;
using namespace penstock::test;
using deflate::inflate_whole;
using deflate::Streams;

namespace {

ByteView view(const Data& data) { return {reinterpret_cast<const std::byte*>(data.data()), data.size()}; }
ByteSpan span(Data& data) { return {reinterpret_cast<std::byte*>(data.data()), data.size()}; }

/// Bytes that zlib takes to make exactly out.size() of them; 0: it does not.
std::size_t by_zlib(const Data& in, Data& out) {
  z_stream z{};
  EXPECT_EQ(inflateInit2(&z, -15), Z_OK);
  Data room(out.size() + 1), given(in);
  given.push_back(0);  // never an empty vector's pointer
  z.next_in = given.data();
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = room.data();
  z.avail_out = static_cast<uInt>(room.size());
  const bool ok = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == out.size();
  const std::size_t used = z.total_in;
  inflateEnd(&z);
  std::copy_n(room.begin(), out.size(), out.begin());
  return ok ? used : 0;
}

/// Whether both take it; they make the same then.
bool expect_as_zlib(const Data& in, std::size_t wanted) {
  Data expected(wanted), made(wanted);
  const std::size_t used = by_zlib(in, expected);
  const auto mine = inflate_whole(view(in), span(made), Streams::all);
  EXPECT_EQ(mine.value_or(0), used);
  if (mine) {
    EXPECT_EQ(made, expected);
  }
  return mine.has_value();
}

/// What predictor 2 leaves of an image of `Item` with noise.
template <class Item>
Data differences(std::size_t items, double noise) {
  std::mt19937 random(7);
  std::normal_distribution<double> each(0, noise);
  Data out;
  for (std::size_t i = 0; i < items; ++i)
    put_little(out, static_cast<Item>(static_cast<int>(each(random))), sizeof(Item));
  return out;
}

}  // namespace

TEST(Inflate, TakesWhatZlibTakes) {
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    Choices choices(seed);
    DeflateMaker maker(choices);
    maker.add(deflate::Container::headerless, choices.chance() % (seed % 8 == 0 ? 200'000 : 3000));
    Data made(maker.content.size());
    const auto used = inflate_whole(view(maker.stream), span(made), Streams::all);
    ASSERT_EQ(used, maker.stream.size()) << seed;
    ASSERT_EQ(made, maker.content) << seed;
    maker.stream.push_back(0x55);  // what follows is not looked at
    EXPECT_EQ(inflate_whole(view(maker.stream), span(made), Streams::all), maker.stream.size() - 1) << seed;
  }
}

TEST(Inflate, EveryOtherSizeIsRefused) {
  const Data content = differences<std::uint16_t>(700, 20), stream = pack(content, deflate::Container::headerless, 6);
  ASSERT_TRUE(expect_as_zlib(stream, content.size()));
  for (const std::size_t wanted : {content.size() - 1, content.size() + 1, std::size_t{0}})
    EXPECT_FALSE(expect_as_zlib(stream, wanted)) << wanted;
  for (std::size_t n = 0; n < stream.size(); ++n)
    EXPECT_FALSE(expect_as_zlib(Data(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(n)), content.size()))
        << n;
}

TEST(Inflate, DamagedStreamsAreRefusedWhereZlibDoes) {
  std::size_t taken = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    Choices choices(seed);
    DeflateMaker maker(choices);
    maker.add(deflate::Container::headerless, 1 + choices.chance() % 4000);
    for (int flips = 0; flips < 12; ++flips) {
      Data damaged = maker.stream;
      damaged[choices.chance() % damaged.size()] ^= static_cast<std::uint8_t>(1U << choices.chance() % 8);
      taken += expect_as_zlib(damaged, maker.content.size()) ? 1 : 0;
      if (HasFailure()) FAIL() << "seed " << seed << ", flip " << flips;
    }
  }
  EXPECT_GT(taken, 100U);  // another literal, say
}

TEST(Inflate, StreamsThatGain) {
  const auto gains = [](const Data& content, int level) {
    Data made(content.size());
    return inflate_whole(view(pack(content, deflate::Container::headerless, level)), span(made), Streams::that_gain)
               .has_value() &&
           made == content;
  };
  EXPECT_TRUE(gains(differences<std::uint16_t>(65536, 35), 6));
  EXPECT_TRUE(gains(differences<std::uint8_t>(65536, 5), 6));
  EXPECT_FALSE(gains(differences<std::uint32_t>(65536, 1e9), 6));  // noise: nothing to join
  EXPECT_FALSE(gains(Data(65536, 7), 6));                          // few and long matches
  EXPECT_TRUE(gains(differences<std::uint32_t>(65536, 1e9), 0));   // stored: no codes to look at
}

TEST(Inflate, TheCodecLooksAtSizeAndChecksum) {
  const Data content = differences<std::uint8_t>(65536, 5);
  const auto gray = ChunkSpec{{256, 256}, DType::uint8(), {}};
  for (const char* const name : {"numcodecs.zlib", "tiff.deflate"}) {
    const CodecChain chain = make_chain({{"bytes", R"({"endian":"little"})"}, {name, R"({"level":6})"}}, gray);
    ScratchBuffers scratch;
    Bytes stream;
    ASSERT_TRUE(chain.encode(view(content), stream, scratch));
    Data out(content.size());
    ASSERT_TRUE(inflate_whole(stream.view().subspan(2), span(out), Streams::that_gain)) << "not what is tested here";
    ASSERT_TRUE(chain.decode(stream.view(), span(out), scratch, {})) << name;
    EXPECT_EQ(out, content);
    Data bad(reinterpret_cast<const std::uint8_t*>(stream.data()),
             reinterpret_cast<const std::uint8_t*>(stream.data()) + stream.size());
    bad.back() ^= 1;
    const Status done = chain.decode(view(bad), span(out), scratch, {});
    ASSERT_FALSE(done) << name << ": another checksum";
    EXPECT_EQ(done.error().code(), ErrorCode::corrupt_data) << name;
    bad.back() ^= 1;
    bad.push_back(0);  // TIFF files have bytes behind a stream
    EXPECT_EQ(chain.decode(view(bad), span(out), scratch, {}).has_value(), name == std::string("tiff.deflate"));
  }
}
