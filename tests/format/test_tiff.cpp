// TIFF directories as the specifications describe them, and as they should not be.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "array/index/table_index.hpp"
#include "core/json.hpp"
#include "format/format.hpp"
#include "format/tiff/tiff.hpp"
#include "format/tiff_maker.hpp"

using namespace penstock;

namespace {

using Source = test::TiffSource;
using Made = test::MadeTiff;

Result<Dataset> parsed(const std::vector<std::byte>& bytes) {
  Source source(bytes);
  return tiff::parse(source, "x.tif");
}

std::string error_of(const std::vector<std::byte>& bytes) {
  const auto dataset = parsed(bytes);
  return dataset ? "none" : dataset.error().message();
}

TEST(Tiff, StripsInEveryHeader) {
  for (const std::endian order : {std::endian::little, std::endian::big})
    for (const bool big : {false, true}) {
      const auto dataset = parsed(Made(order, big).bytes());
      ASSERT_TRUE(dataset) << dataset.error().message();
      EXPECT_EQ(dataset->shape, (Shape{1, 3, 5}));
      EXPECT_EQ(dataset->chunk_shape, (Shape{1, 2, 5}));
      EXPECT_EQ(dataset->dtype, DType::uint8());
      EXPECT_EQ(format_title(dataset->format), big ? "BigTIFF" : "TIFF");
      const auto& table = std::get<ChunkTable>(dataset->placement);
      EXPECT_EQ(table.byte_order, order);
      EXPECT_EQ(table.cropped_at_edges, (std::vector<bool>{false, true, false}));
      EXPECT_EQ(table.offsets.item_bytes, 4U);
    }
}

TEST(Tiff, SamplesOfAPixelAreBands) {
  Made made;
  made.set(277, 3, {3}).set(258, 3, {16, 16, 16}).set(339, 3, {2, 2, 2});
  const auto chunky = parsed(made.bytes());
  ASSERT_TRUE(chunky) << chunky.error().message();
  EXPECT_EQ(chunky->shape, (Shape{3, 3, 5}));
  EXPECT_EQ(chunky->chunk_shape, (Shape{3, 2, 5}));
  EXPECT_EQ(chunky->codecs.front().name, "transpose");
  made.set(284, 3, {2}).set(273, 4, {200, 210, 220, 230, 240, 250}).set(279, 4, {1, 1, 1, 1, 1, 1});
  const auto planar = parsed(made.bytes());
  ASSERT_TRUE(planar) << planar.error().message();
  EXPECT_EQ(planar->chunk_shape, (Shape{1, 2, 5}));
  EXPECT_EQ(planar->codecs.front().name, "bytes");
}

TEST(Tiff, TheErrorNamesDirectoryAndTag) {
  EXPECT_EQ(error_of(Made().set(256, 3, {0}).bytes()), "IFD at byte 8: tag 256: an image of no elements");
  EXPECT_EQ(error_of(Made().set(258, 3, {4}).bytes()), "IFD at byte 8: tag 258: samples of 4 bits, of format 1");
  EXPECT_EQ(error_of(Made().set(259, 3, {34887}).bytes()), "IFD at byte 8: tag 259: compression by LERC");
  EXPECT_EQ(error_of(Made().set(259, 3, {6}).bytes()), "IFD at byte 8: tag 259: compression by old-style JPEG");
  EXPECT_EQ(error_of(Made().set(259, 3, {999}).bytes()), "IFD at byte 8: tag 259: compression 999");
  EXPECT_EQ(error_of(Made().erase(273).bytes()), "IFD at byte 8: tag 273: missing");
  EXPECT_EQ(error_of(Made().erase(279).bytes()), "IFD at byte 8: tag 279: missing");
  EXPECT_EQ(error_of(Made().set(273, 4, {200}).bytes()), "IFD at byte 8: tag 273: 1 values for 2 tiles or strips");
  EXPECT_EQ(error_of(Made().set(322, 3, {0}).set(323, 3, {16}).bytes()),
            "IFD at byte 8: tag 322: tiles or strips of no elements");
  EXPECT_EQ(error_of(Made().set(277, 3, {2}).set(258, 3, {8, 16}).bytes()),
            "IFD at byte 8: tag 258: samples that differ");
  EXPECT_EQ(error_of(Made().set(277, 3, {0}).bytes()), "IFD at byte 8: tag 277: 0 samples a pixel");
}

TEST(Tiff, ChainsThatComeBackEnd) {
  Made made;
  made.next = 8;
  EXPECT_EQ(error_of(made.bytes()), "IFD at byte 8: the next IFD is the one at byte 8 again");
  made.next = 5000;
  EXPECT_EQ(error_of(made.bytes()), "IFD at byte 5000: the file ends at byte 1024");
}

/// A file of so many directories, each the one of Made; the last one's next is `end`.
std::vector<std::byte> chain_of(std::size_t count, std::uint32_t end) {
  constexpr std::size_t kBody = 2 + 7 * 12, kFirst = 1024;
  const auto one = Made().bytes();
  std::vector<std::byte> bytes(kFirst + count * (kBody + 4));
  std::ranges::copy(one, bytes.begin());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i == 0 ? 8 : kFirst + i * (kBody + 4);
    std::memcpy(bytes.data() + at, one.data() + 8, kBody);
    const auto next = i + 1 < count ? static_cast<std::uint32_t>(kFirst + (i + 1) * (kBody + 4)) : end;
    std::memcpy(bytes.data() + at + kBody, &next, 4);
  }
  return bytes;
}

TEST(Tiff, ChainsThatComeBackLaterEnd) {
  EXPECT_EQ(error_of(chain_of(3, 0)), "none");
  EXPECT_NE(error_of(chain_of(3, 8)).find("the next IFD is the one at byte 8 again"), std::string::npos);
  const auto middle = static_cast<std::uint32_t>(1024 + 2 + 7 * 12 + 4);
  EXPECT_NE(error_of(chain_of(5, middle)).find("the next IFD is the one at byte 1114 again"), std::string::npos)
      << error_of(chain_of(5, middle));
}

TEST(Tiff, OfVeryLongChainsTheFirstDirectoriesCount) {
  const auto bytes = chain_of(tiff::kMaxImages + 500, 8);  // where the loop ends nobody looks any more
  Source source(bytes);
  const auto directories = tiff::read_directories(source, tiff::kMaxImages);
  ASSERT_TRUE(directories) << directories.error().message();
  EXPECT_EQ(directories->size(), tiff::kMaxImages);
  EXPECT_EQ(error_of(bytes), "none");
}

TEST(Tiff, FieldsOfTypesThatCannotBeAreNamed) {
  EXPECT_EQ(error_of(Made().set(256, 2, {5}).bytes()), "IFD at byte 8: tag 256: is of type 2, no whole numbers");
  EXPECT_EQ(error_of(Made().set(257, 11, {3}).bytes()), "IFD at byte 8: tag 257: is of type 11, no whole numbers");
  EXPECT_EQ(error_of(Made().set(273, 1, {200, 210}).bytes()), "IFD at byte 8: tag 273: is of type 1, no whole numbers");
  EXPECT_EQ(error_of(Made().set(279, 12, {10, 5}).bytes()), "IFD at byte 8: tag 279: is of type 12, no whole numbers");
  EXPECT_EQ(error_of(Made().set(33550, 4, {1, 1, 0}).bytes()),
            "IFD at byte 8: tag 33550: is of type 4, no floating-point numbers");
  // A type that nobody knows makes no field.
  EXPECT_EQ(error_of(Made().set(257, 99, {3}).bytes()), "IFD at byte 8: tag 257: an image of no elements");
}

TEST(Tiff, TablesHoldTilesOfAllBands) {
  Made planar;
  planar.set(277, 3, {3}).set(258, 3, {8, 8, 8}).set(284, 3, {2});
  EXPECT_EQ(error_of(planar.bytes()), "IFD at byte 8: tag 273: 2 values for 6 tiles or strips");
  planar.set(273, 4, {200, 210, 220, 230, 240, 250});
  EXPECT_EQ(error_of(planar.bytes()), "IFD at byte 8: tag 279: 2 values for 6 tiles or strips");
}

TEST(Tiff, ArraysBeyondTheEndAreRefused) {
  // The count lies: 2^30 offsets at byte 512.
  auto bytes = Made().bytes();
  Source source(bytes);
  const auto directories = tiff::read_directories(source, 1);
  ASSERT_TRUE(directories);
  const std::uint64_t at = 10 + 12 * 4;  // the field of tag 273
  bytes[at + 4 + 3] = std::byte{0x40};
  EXPECT_EQ(error_of(bytes), "IFD at byte 8: tag 273: 4294967304 bytes at byte 512 of a file of 1024 bytes");
}

TEST(Tiff, EveryTruncationIsAnErrorOrTheSame) {
  const auto bytes = Made().bytes();
  for (std::size_t size = 0; size < 528; ++size) {
    const auto dataset =
        parsed(std::vector<std::byte>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_FALSE(dataset) << size;
  }
}

TEST(Tiff, HugeSizesDoNotOverflow) {
  const auto big = Made(std::endian::little, true)
                       .set(256, 16, {std::uint64_t{1} << 40})
                       .set(257, 16, {std::uint64_t{1} << 40})
                       .bytes();
  EXPECT_NE(error_of(big), "none");
  const auto tiles =
      Made().set(322, 4, {0xffffffff}).set(323, 4, {0xffffffff}).set(324, 4, {1}).set(325, 4, {1}).bytes();
  const auto dataset = parsed(tiles);
  if (dataset) {
    EXPECT_GT(std::get<ChunkTable>(dataset->placement).max_chunk_bytes, 0U);
  }
}

Result<RasterFile> raster_of(const Made& made) {
  const auto bytes = made.bytes(2048);
  Source source(bytes);
  return tiff::parse_raster(source, "x.tif");
}

std::vector<std::uint64_t> doubles(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

TEST(TiffRaster, ThreeWaysToSayThePlace) {
  const Made scaled = Made().set(33550, 12, doubles({2, 3, 0})).set(33922, 12, doubles({0, 0, 0, 100, 50, 0}));
  EXPECT_EQ(raster_of(scaled)->info.transform, (GeoTransform{2, 0, 100, 0, -3, 50}));
  const Made matrix = Made().set(34264, 12, doubles({2, 1, 0, 100, 4, -3, 0, 50, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(raster_of(matrix)->info.transform, (GeoTransform{2, 1, 100, 4, -3, 50}));
  const Made points = Made().set(33922, 12, doubles({0, 0, 0, 100, 50, 1, 5, 3, 0, 110, 41, 2}));
  const auto gcps = raster_of(points)->info.gcps;
  ASSERT_EQ(gcps.size(), 2U);
  EXPECT_EQ(gcps[1], (GroundControlPoint{3, 5, 110, 41, 2}));
  EXPECT_FALSE(raster_of(points)->info.transform);
  EXPECT_FALSE(raster_of(Made())->info.transform);
}

TEST(TiffRaster, ThePlaceOfAMiddleBecomesThatOfACorner) {
  Made made;
  made.set(33550, 12, doubles({2, 4, 0})).set(33922, 12, doubles({0, 0, 0, 100, 50, 0}));
  made.set(34735, 3, {1, 1, 0, 1, 1025, 0, 1, 2});
  EXPECT_EQ(raster_of(made)->info.transform, (GeoTransform{2, 0, 99, 0, -4, 52}));
  EXPECT_TRUE(raster_of(made)->info.pixel_is_point);
}

TEST(TiffRaster, EpsgCodesAreThoseOfTheProjectedSystem) {
  const auto crs = [](std::vector<std::uint64_t> keys) {
    return raster_of(Made().set(34735, 3, std::move(keys)))->info.crs;
  };
  EXPECT_EQ(crs({1, 1, 0, 2, 2048, 0, 1, 4326, 3072, 0, 1, 32633})->epsg, 32633U);
  EXPECT_EQ(crs({1, 1, 0, 1, 2048, 0, 1, 4326})->epsg, 4326U);
  EXPECT_FALSE(crs({1, 1, 0, 2, 2048, 0, 1, 4326, 3072, 0, 1, 32767})->epsg) << "defined by the user on 4326";
  EXPECT_FALSE(crs({1, 1, 0, 1, 1025, 0, 1, 1}));
  EXPECT_FALSE(raster_of(Made().set(34735, 3, {1, 1, 0, 9, 2048, 0, 1, 4326}))) << "more keys than there are";
}

TEST(TiffRaster, PlacesThatAreNotFiniteAreRefusedByTag) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto message = [](const Made& made) { return raster_of(made).error().message(); };
  EXPECT_EQ(message(Made().set(33550, 12, doubles({2, nan, 0})).set(33922, 12, doubles({0, 0, 0, 1, 1, 0}))),
            "IFD at byte 8: tag 33550: a place on the ground that is not finite");
  EXPECT_EQ(message(Made().set(34264, 12, doubles({1, 2}))), "IFD at byte 8: tag 34264: is no matrix of 4 x 4");
  EXPECT_EQ(message(Made().set(33550, 12, doubles({2, 3, 0}))),
            "IFD at byte 8: tag 33550: there is no tiepoint for it");
}

TEST(Tiff, BitsInTheOtherOrderAndJpegAreCodecs) {
  const auto last = [](Made& made) { return parsed(made.bytes())->codecs.back(); };
  Made made;
  EXPECT_EQ(last(made.set(266, 3, {2})).name, "tiff.fill_order");
  EXPECT_EQ(last(made.set(259, 3, {5})).name, "tiff.fill_order");
  made.set(259, 3, {7}).set(347, 7, {0xff, 0xd8, 0xff, 0xd9, 1});
  EXPECT_EQ(last(made), (CodecSpec{"tiff.jpeg", R"({"samples":1,"color":"none","max_rows":2,"tables":"ffd8ffd901"})"}));
  made.set(262, 3, {6});
  EXPECT_EQ(error_of(made.bytes()), "IFD at byte 8: tag 262: YCbCr other than three samples a pixel in JPEG");
  EXPECT_EQ(error_of(Made().set(266, 3, {3}).bytes()), "IFD at byte 8: tag 266: is 3");
}

TEST(Tiff, HeadersThatCannotBe) {
  auto bytes = Made(std::endian::little, true).bytes();
  bytes[4] = std::byte{4};
  EXPECT_EQ(error_of(bytes), "header: a BigTIFF whose offsets have not 8 bytes");
  bytes = Made().bytes();
  bytes[2] = std::byte{44};
  EXPECT_EQ(error_of(bytes), "header: no TIFF header");
  bytes = Made().bytes();
  bytes[4] = std::byte{0};  // the first IFD
  EXPECT_EQ(error_of(bytes), "header: there is no IFD");
  bytes[5] = std::byte{0x40};
  EXPECT_EQ(error_of(bytes), "IFD at byte 16384: the file ends at byte 1024");
  bytes = Made().bytes();
  bytes[8] = std::byte{0};  // fields of the first IFD
  EXPECT_EQ(error_of(bytes), "IFD at byte 8: 0 fields");
  for (const char* text : {"", "I", "II", "II*", "MM", "PK"})
    EXPECT_NE(error_of({reinterpret_cast<const std::byte*>(text),
                        reinterpret_cast<const std::byte*>(text) + std::strlen(text)}),
              "none");
}

TEST(Tiff, OfATagThatStandsTwiceTheFirstCounts) {
  auto bytes = Made().bytes();
  const std::uint16_t width = 256;
  std::memcpy(bytes.data() + 10 + 12 * 5, &width, 2);  // the field of tag 278: a second width, of 2
  const auto dataset = parsed(bytes);
  ASSERT_TRUE(dataset) << dataset.error().message();
  EXPECT_EQ(dataset->shape, (Shape{1, 3, 5}));
}

/// 4,000 directories of 60,000 fields each, all of them the same bytes: 0.8 MB that would become gigabytes.
TEST(Tiff, DirectoriesInEachOtherAreBounded) {
  constexpr std::size_t kFields = 60000, kDirectories = 4000, kField = 12;
  const auto put = [](std::vector<std::byte>& out, std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) out.at(at + i) = static_cast<std::byte>(value >> 8 * i);
  };
  std::vector<std::byte> bytes(20 + kField * (kFields + kDirectories) + 8);
  bytes[0] = bytes[1] = std::byte{'I'};
  put(bytes, 2, 42, 2);
  put(bytes, 4, 18, 4);
  for (std::size_t at = 20; at + kField <= bytes.size(); at += kField) {
    put(bytes, at, 65000, 2);  // a private tag
    put(bytes, at + 2, 1, 2);  // a byte
    put(bytes, at + 4, 1, 4);
    put(bytes, at + 10, kFields, 2);  // which is the number of fields of the next directory
  }
  put(bytes, 18, kFields, 2);
  for (std::size_t i = 0; i < kDirectories; ++i) {  // where a directory ends, the tag and type of a field are the next
    const std::size_t next = 20 + kField * (i + 1) - 2, end = 20 + kField * (i + kFields);
    if (end + 4 <= bytes.size()) put(bytes, end, next, 4);
  }
  EXPECT_NE(error_of(bytes).find("fields in all IFDs"), std::string::npos) << error_of(bytes);
}

TEST(Tiff, SizesThatNoImageNeedsAreRefused) {
  const auto message = [](const Made& made) {
    const auto dataset = parsed(made.bytes());
    if (!dataset) return dataset.error().message();
    const auto& table = std::get<ChunkTable>(dataset->placement);
    const auto index = TableIndex::make(table, dataset->shape, dataset->chunk_shape, dataset->dtype.size_bytes);
    return index ? "none" : index.error().message();
  };
  Made tile;
  tile.set(322, 4, {65520}).set(323, 4, {65520}).set(324, 4, {200}).set(325, 4, {15});
  EXPECT_EQ(message(tile),
            "x.tif: the table of chunks is of chunks [1, 65520, 65520] of 4292870400 bytes; they may have 67108864");
  Made strip;  // 2^31 rows of 2^31, in one strip
  strip.set(256, 4, {0x80000000}).set(257, 4, {0x80000000}).set(278, 4, {0x80000000}).set(277, 3, {65535});
  EXPECT_NE(message(strip), "none");
  EXPECT_EQ(message(Made()), "none");
}

TEST(Tiff, AValueThatWasNotMeasuredIsOneOfTheType) {
  const auto nodata = [](Made made, const std::string& text) -> std::optional<std::string> {
    std::vector<std::uint64_t> characters(text.begin(), text.end());
    characters.push_back(0);
    const auto dataset = parsed(made.set(42113, 2, characters).bytes());
    if (!dataset || !dataset->nodata) return std::nullopt;
    return fill_to_json(dataset->dtype, *dataset->nodata).value();
  };
  EXPECT_EQ(nodata(Made(), " 7 "), "7");
  EXPECT_EQ(nodata(Made(), "7.0"), "7");
  for (const char* text : {"", "abc", "7,5", "7.5", "-1", "256", "1e400", "nan", "7 8", "0x7"})
    EXPECT_FALSE(nodata(Made(), text)) << text;
  Made real;
  real.set(258, 3, {32}).set(339, 3, {3});
  EXPECT_EQ(nodata(real, "nan"), "\"NaN\"");
  EXPECT_EQ(nodata(real, "-1.5e3"), "-1500.0");
  EXPECT_EQ(nodata(real, "-inf"), "\"-Infinity\"");
  EXPECT_FALSE(nodata(real, "1,5"));
  EXPECT_EQ(nodata(real, "+5"), "5.0");
  EXPECT_EQ(nodata(real, "-1.#IND"), "\"NaN\"");
  EXPECT_EQ(nodata(real, "1.#INF"), "\"Infinity\"");
  EXPECT_EQ(nodata(real.set(258, 3, {64}).set(339, 3, {6}), "-7"), "[-7.0,0.0]");
}

TEST(TiffRaster, TextsOfKeysThatLieOutsideAreNone) {
  const auto name = [](std::uint64_t count, std::uint64_t offset) {
    std::vector<std::uint64_t> text;
    for (const char c : std::string("here|")) text.push_back(static_cast<std::uint64_t>(c));
    text.push_back(0);
    const auto raster =
        raster_of(Made().set(34735, 3, {1, 1, 0, 2, 1026, 34737, count, offset, 2048, 0, 1, 4326}).set(34737, 2, text));
    return raster ? raster->info.crs->name : raster.error().message();
  };
  EXPECT_EQ(name(5, 0), "here");
  EXPECT_EQ(name(60000, 0), "here");
  EXPECT_EQ(name(5, 60000), "");
  EXPECT_EQ(name(60000, 3), "e");
}

TEST(TiffRaster, ImagesThatAreNotReadAreNamed) {
  // The second directory is the first one again, at another place, without the bit that makes it an overview.
  auto bytes = Made().bytes(4096);
  auto second = Made().bytes(4096);
  std::memcpy(bytes.data() + 2000, second.data() + 8, 2 + 7 * 12 + 4);
  const std::uint32_t next = 2000;
  std::memcpy(bytes.data() + 8 + 2 + 7 * 12, &next, 4);
  Source source(bytes);
  const auto raster = tiff::parse_raster(source, "x.tif");
  ASSERT_TRUE(raster) << raster.error().message();
  EXPECT_EQ(raster->levels.size(), 1U);
  EXPECT_EQ(raster->info.other_images, (std::vector<std::string>{"IFD at byte 2000: 1 x 3 x 5"}));
}

TEST(TiffRaster, ColorsAreThoseOfTheSamples) {
  using Words = std::vector<std::string>;
  const auto colors = [](std::uint64_t photometric, std::uint64_t samples, std::vector<std::uint64_t> extra) {
    Made made;
    made.set(262, 3, {photometric}).set(277, 3, {samples}).set(258, 3, std::vector<std::uint64_t>(samples, 8));
    if (!extra.empty()) made.set(338, 3, std::move(extra));
    const auto raster = raster_of(made);
    Words words;
    for (const BandInfo& band : raster->info.bands) words.push_back(band.color);
    return words;
  };
  EXPECT_EQ(colors(1, 1, {}), Words{"gray"});
  EXPECT_EQ(colors(2, 4, {2}), (Words{"red", "green", "blue", "alpha"}));
  EXPECT_EQ(colors(2, 5, {1, 0}), (Words{"red", "green", "blue", "premultiplied alpha", "undefined"}));
  EXPECT_EQ(colors(1, 3, {}), (Words{"gray", "undefined", "undefined"}));
  EXPECT_EQ(colors(2, 2, {}), (Words{"red", "green"})) << "fewer samples than colors";
  EXPECT_EQ(colors(5, 4, {}), (Words{"cyan", "magenta", "yellow", "black"}));
  EXPECT_EQ(colors(8, 3, {}), (Words{"", "", ""})) << "CIE L*a*b*, which has no words here";
  EXPECT_TRUE(raster_of(Made().set(262, 3, {0}))->info.white_is_zero);
}

TEST(TiffRaster, AColormapIsThreeValuesAColor) {
  const auto of = [](std::vector<std::uint64_t> values) {
    return raster_of(Made().set(262, 3, {3}).set(320, 3, std::move(values)));
  };
  const auto good = of({1, 2, 10, 20, 100, 200});
  ASSERT_TRUE(good) << good.error().message();
  const std::vector<std::array<std::uint16_t, 3>> want = {{1, 10, 100}, {2, 20, 200}};
  EXPECT_EQ(good->info.colormap, want);
  EXPECT_EQ(of({1, 2, 3, 4}).error().message(),
            "IFD at byte 8: tag 320: a colormap of other than three values a color");
}

TEST(TiffRaster, KeysOfASystemWithoutACodeAreKept) {
  const auto crs = [](std::vector<std::uint64_t> keys) {
    return raster_of(Made().set(34735, 3, std::move(keys)).set(34736, 12, doubles({6371007.181})))->info.crs;
  };
  const auto by_parameters = crs({1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32767, 2057, 34736, 1, 0, 7, 7, 7, 7});
  ASSERT_TRUE(by_parameters && by_parameters->keys);
  EXPECT_EQ(by_parameters->keys->directory,
            (std::vector<std::uint16_t>{1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32767, 2057, 34736, 1, 0}));
  EXPECT_EQ(by_parameters->keys->numbers, std::vector<double>{6371007.181});
  EXPECT_FALSE(crs({1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32633})->keys) << "the code says it";
  EXPECT_TRUE(crs({1, 1, 0, 2, 1024, 0, 1, 32767, 1026, 0, 1, 0})) << "a system of its own, by its text";
  EXPECT_FALSE(crs({1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 1})) << "a kind alone is no system";
}

TEST(TiffRaster, SensorCoefficientsAreAllThere) {
  const auto of = [](std::vector<double> values) { return raster_of(Made().set(50844, 12, doubles(values))); };
  EXPECT_EQ(of(std::vector<double>(92, 1.5))->info.rpc, std::vector<double>(92, 1.5));
  EXPECT_EQ(of(std::vector<double>(91, 1.5)).error().message(), "IFD at byte 8: tag 50844: is not 92 finite numbers");
  std::vector<double> bad(92, 1.5);
  bad[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(of(bad).error().message(), "IFD at byte 8: tag 50844: is not 92 finite numbers");
}

}  // namespace
