// NIfTI headers as NiBabel and the standard describe them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "format/foreign.hpp"
#include "format/format.hpp"
#include "format/nifti/nifti.hpp"

using namespace penstock;

namespace {

/// A header that is written field by field, in either byte order.
class Made {
 public:
  explicit Made(int version, bool swapped = false) : swapped_(swapped), bytes_(kNiftiHeaderBytes), version_(version) {
    if (version == 1) {
      put<std::int32_t>(0, 348);
      text(344, "n+1");
      put<float>(108, 352);
    } else {
      put<std::int32_t>(0, 540);
      text(4, "n+2");
      put<std::int64_t>(168, 544);
    }
    shape({4, 3, 2});
    type(4, 16);
    pixdim({1, 2, 3, 4});
  }
  template <class T>
  Made& put(std::size_t at, T value) {
    auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    if (swapped_) std::reverse(raw.begin(), raw.end());
    std::memcpy(bytes_.data() + at, raw.data(), raw.size());
    return *this;
  }
  Made& text(std::size_t at, std::string_view text) {
    std::memcpy(bytes_.data() + at, text.data(), text.size());
    return *this;
  }
  Made& shape(const std::vector<std::int64_t>& shape) {
    dim(0, static_cast<std::int64_t>(shape.size()));
    for (std::size_t d = 0; d < shape.size(); ++d) dim(d + 1, shape[d]);
    return *this;
  }
  Made& dim(std::size_t d, std::int64_t value) {
    return version_ == 1 ? put(40 + 2 * d, static_cast<std::int16_t>(value)) : put(16 + 8 * d, value);
  }
  Made& type(std::int16_t code, std::int16_t bits) {
    return version_ == 1 ? put(70, code).put(72, bits) : put(12, code).put(14, bits);
  }
  Made& pixdim(const std::vector<double>& values) {
    for (std::size_t d = 0; d < values.size(); ++d)
      version_ == 1 ? put(76 + 4 * d, static_cast<float>(values[d])) : put(104 + 8 * d, values[d]);
    return *this;
  }
  [[nodiscard]] ByteView bytes() const { return bytes_; }
  [[nodiscard]] Result<Dataset> parse(std::uint64_t file_bytes = 1 << 20) const {
    return parse_nifti(bytes_, "scans/a.nii", file_bytes);
  }

 private:
  bool swapped_;
  std::vector<std::byte> bytes_;
  int version_;
};

void expect_refused(const Result<Dataset>& r, ErrorCode code, std::string_view text) {
  ASSERT_FALSE(r) << text;
  EXPECT_EQ(r.error().code(), code) << r.error().message();
  EXPECT_NE(r.error().message().find(text), std::string::npos) << r.error().message();
}

}  // namespace

TEST(Nifti, BothVersionsAndByteOrdersSayTheSame) {
  for (const int version : {1, 2})
    for (const bool swapped : {false, true}) {
      const auto d = Made(version, swapped).parse();
      ASSERT_TRUE(d) << d.error().message();
      EXPECT_EQ(d->shape, (Shape{4, 3, 2}));
      EXPECT_EQ(d->dtype, DType::int16());
      EXPECT_EQ(d->format.name, "nifti");
      EXPECT_EQ(d->format.version, version);
      EXPECT_EQ(zarr_format(d->format), std::nullopt);
      const auto* const volume = std::get_if<ContiguousChunks>(&d->placement);
      ASSERT_NE(volume, nullptr);
      EXPECT_EQ(volume->key, "scans/a.nii");
      EXPECT_EQ(volume->offset_bytes, version == 1 ? 352u : 544u);
      ASSERT_EQ(d->codecs.size(), 2u);
      EXPECT_EQ(d->codecs[0].configuration, R"({"order":[2,1,0]})");
      const bool little = (std::endian::native == std::endian::little) != swapped;
      EXPECT_EQ(d->codecs[1].configuration, little ? R"({"endian":"little"})" : R"({"endian":"big"})");
      EXPECT_EQ(d->dims[2].name, "z");
      EXPECT_EQ(d->world_from_voxel->rows, (std::array<double, 12>{2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0}));
    }
}

TEST(Nifti, DimensionsHaveUnitsAndDistances) {
  for (const int version : {1, 2}) {
    Made made(version);
    made.shape({4, 3, 2, 5, 6}).pixdim({1, 2, 0, -4, 0.5, 7});
    if (version == 1)
      made.put<std::uint8_t>(123, 3 | 16).put<float>(136, 1.5F);
    else
      made.put<std::int32_t>(500, 3 | 16).put<double>(216, 1.5);
    const auto dims = made.parse().value().dims;
    ASSERT_EQ(dims.size(), 5u);
    EXPECT_EQ(dims[0], (Dimension{"x", "micrometer", 2.0, {}}));
    EXPECT_EQ(dims[1], (Dimension{"y", "micrometer", {}, {}})) << "a size of 0 says nothing";
    EXPECT_EQ(dims[3], (Dimension{"t", "millisecond", 0.5, 1.5}));
    EXPECT_EQ(dims[4], Dimension{});
  }
}

TEST(Nifti, ChunksAreSlabs) {
  const auto chunks = [](const std::vector<std::int64_t>& shape) {
    return Made(2).shape(shape).parse(std::uint64_t{1} << 60).value().chunk_shape;
  };
  EXPECT_EQ(chunks({64, 64, 40, 65}), (Shape{64, 64, 40, 12}));
  EXPECT_EQ(chunks({4, 3, 2}), (Shape{4, 3, 2}));
  EXPECT_EQ(chunks({2048, 2048, 7}), (Shape{2048, 1024, 1}));
  EXPECT_EQ(chunks({4'194'301}), (Shape{2'097'152}));
  EXPECT_EQ(chunks({1, 1, 1, 1, 1, 1, 3}), (Shape{1, 1, 1, 1, 1, 1, 3}));
}

TEST(Nifti, WorldBySformThenQformThenSizes) {
  Made made(1);
  made.put<std::int16_t>(252, 1).put<float>(256, 0).put<float>(260, 0).put<float>(264, 1);  // half a turn about z
  made.put<float>(268, 10).put<float>(272, 20).put<float>(276, 30).put<float>(76, -1);
  EXPECT_EQ(made.parse().value().world_from_voxel->rows,
            (std::array<double, 12>{-2, 0, 0, 10, 0, -3, 0, 20, 0, 0, -4, 30}));
  made.put<std::int16_t>(254, 2);
  for (int i = 0; i < 12; ++i) made.put<float>(280 + 4 * static_cast<std::size_t>(i), static_cast<float>(i));
  EXPECT_EQ(made.parse().value().world_from_voxel->rows,
            (std::array<double, 12>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  made.put<float>(280, NAN);
  expect_refused(made.parse(), ErrorCode::invalid_metadata, "not finite");
}

TEST(Nifti, TypesAndScaling) {
  for (const auto& [code, bits, name] : {std::tuple{2, 8, "uint8"},
                                         {4, 16, "int16"},
                                         {8, 32, "int32"},
                                         {16, 32, "float32"},
                                         {32, 64, "complex64"},
                                         {64, 64, "float64"},
                                         {256, 8, "int8"},
                                         {512, 16, "uint16"},
                                         {768, 32, "uint32"},
                                         {1024, 64, "int64"},
                                         {1280, 64, "uint64"},
                                         {1792, 128, "complex128"},
                                         {128, 24, "r24"},
                                         {2304, 32, "r32"}}) {
    const auto d = Made(1).type(static_cast<std::int16_t>(code), static_cast<std::int16_t>(bits)).parse();
    ASSERT_TRUE(d) << name;
    EXPECT_EQ(d->dtype.name(), name);
  }
  const auto scaled = Made(1).put<float>(112, 0.5F).put<float>(116, 3).parse().value();
  EXPECT_NE(scaled.attributes.find(R"("scl_slope":0.5)"), std::string::npos) << scaled.attributes;
  EXPECT_EQ(Made(1).parse().value().attributes.find("scl_slope"), std::string::npos);
}

TEST(Nifti, HeadersThatLieAreRefusedByField) {
  const auto bad = ErrorCode::invalid_metadata;
  expect_refused(Made(1).dim(0, 0).parse(), bad, "dim[0]");
  expect_refused(Made(1).dim(0, 8).parse(), bad, "dim[0]");
  expect_refused(Made(1).dim(2, -3).parse(), bad, "dim[2]");
  expect_refused(Made(2).shape({1LL << 40, 1LL << 40}).parse(), ErrorCode::out_of_range, "dim");
  expect_refused(Made(1).type(3, 16).parse(), bad, "datatype");
  expect_refused(Made(1).type(4, 8).parse(), bad, "bitpix");
  expect_refused(Made(1).type(1536, 128).parse(), ErrorCode::unsupported, "float128");
  for (const float offset : {0.0F, 347.0F, 352.5F, -1.0F, INFINITY, NAN})
    expect_refused(Made(1).put<float>(108, offset).parse(), bad, "vox_offset");
  expect_refused(Made(1).parse(352 + 47), ErrorCode::corrupt_data, "its data are 48 bytes from byte 352");
  EXPECT_TRUE(Made(1).parse(352 + 48));
  expect_refused(Made(1).text(344, "ni1").put<float>(108, -1).parse(), bad, "vox_offset");
  expect_refused(Made(1).text(344, "ni1").put<float>(108, 0).parse(47), ErrorCode::corrupt_data, "from byte 0");
  expect_refused(Made(1).put<std::int16_t>(252, 1).put<float>(256, 2).parse(), bad, "quatern");
  const Made whole(2);
  for (std::size_t n = 0; n < kNiftiHeaderBytes; ++n)
    EXPECT_FALSE(parse_nifti(whole.bytes().first(n), "a", 1 << 20)) << n;
}

TEST(Foreign, FilesAreNamedByTheirFirstBytes) {
  const auto name = [](std::string_view text) { return foreign_name(as_bytes(text)); };
  EXPECT_EQ(name("\x89HDF\r\n\x1a\n"), "an HDF5 file");
  EXPECT_EQ(name("ZISRAWFILE"), "a CZI file");
  EXPECT_EQ(name(std::string(128, '\0') + "DICM"), "a DICOM file");
  EXPECT_EQ(name("\x1f\x8b\x08"), "a gzip-compressed file");
  EXPECT_EQ(name(""), "");
  EXPECT_EQ(name("hello"), "");
}
