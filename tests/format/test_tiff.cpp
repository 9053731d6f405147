// TIFF directories as the specifications describe them, and as they should not be.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "core/json.hpp"
#include "format/format.hpp"
#include "format/tiff/tiff.hpp"

using namespace penstock;

namespace {

/// A file in memory.
class Source final : public tiff::ByteSource {
 public:
  explicit Source(ByteView bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  Result<ByteView> get(std::uint64_t offset, std::uint64_t count) override {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      return Error(ErrorCode::corrupt_data, "the file ends at byte " + std::to_string(bytes_.size()));
    return bytes_.subspan(offset, count);
  }

 private:
  ByteView bytes_;
};

/// A classic or BigTIFF file of one directory, whose fields hold one or more numbers.
class Made {
 public:
  explicit Made(std::endian order = std::endian::little, bool big = false) : order_(order), big_(big) {
    set(256, 3, {5}).set(257, 3, {3}).set(258, 3, {8}).set(259, 3, {1}).set(273, 4, {200}).set(278, 3, {2});
    set(279, 4, {10});
    set(273, 4, {200, 210}).set(279, 4, {10, 5});
  }
  Made& set(std::uint16_t tag, std::uint16_t type, std::vector<std::uint64_t> values) {
    fields_[tag] = {type, std::move(values)};
    return *this;
  }
  Made& erase(std::uint16_t tag) {
    fields_.erase(tag);
    return *this;
  }
  std::uint64_t next = 0;
  std::vector<std::byte> bytes(std::size_t size = 1024) const {
    std::vector<std::byte> out(size);
    out[0] = out[1] = order_ == std::endian::little ? std::byte{'I'} : std::byte{'M'};
    const std::uint64_t at = big_ ? 16 : 8;
    put(out, 2, big_ ? 43 : 42, 2);
    if (big_) put(out, 4, 8, 2);
    put(out, big_ ? 8 : 4, at, word());
    put(out, at, fields_.size(), big_ ? 8 : 2);
    std::uint64_t field = at + (big_ ? 8 : 2), far = 512;
    for (const auto& [tag, value] : fields_) {
      const auto& [type, numbers] = value;
      const std::uint64_t each = tiff::type_bytes(type), all = each * numbers.size();
      put(out, field, tag, 2);
      put(out, field + 2, type, 2);
      put(out, field + 4, numbers.size(), word());
      std::uint64_t to = field + 4 + word();
      if (all > word()) {
        put(out, to, far, word());
        to = far;
        far += all;
      }
      for (const std::uint64_t number : numbers) {
        put(out, to, number, each);
        to += each;
      }
      field += 4 + 2 * word();
    }
    put(out, field, next, word());
    return out;
  }

 private:
  [[nodiscard]] std::uint64_t word() const { return big_ ? 8 : 4; }
  void put(std::vector<std::byte>& out, std::uint64_t at, std::uint64_t value, std::uint64_t size) const {
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t shift = 8 * (order_ == std::endian::little ? i : size - 1 - i);
      out.at(at + i) = static_cast<std::byte>(value >> shift);
    }
  }
  std::endian order_;
  bool big_;
  std::map<std::uint16_t, std::pair<std::uint16_t, std::vector<std::uint64_t>>> fields_;
};

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
  if (dataset) EXPECT_GT(std::get<ChunkTable>(dataset->placement).max_chunk_bytes, 0U);
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

}  // namespace
