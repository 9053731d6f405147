#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "penstock/ops.hpp"

using namespace penstock;

namespace {

Dataset dataset(const DType& dtype) {
  Dataset d;
  d.shape = {21, 13, 17};
  d.chunk_shape = {8, 4, 5};
  d.dtype = dtype;
  d.codecs = {{"bytes", R"({"endian":"little"})"}, {"zstd", R"({"level":1,"checksum":false})"}};
  d.fill.assign(dtype.size_bytes, std::byte{0});
  return d;
}

template <class T>
void expect_projections(const DType& dtype, bool with_nan = false) {
  SCOPED_TRACE(dtype.name());
  const Dataset d = dataset(dtype);
  auto store = open_store("memory://", StoreMode::create).value();
  Array array = Array::create(store, "", d, Array::IfExists::fail).value();
  std::mt19937_64 random(4);
  std::vector<T> values(21 * 13 * 17);
  for (T& v : values) v = static_cast<T>(static_cast<std::int64_t>(random() % 251) - (std::is_signed_v<T> ? 250 : 0));
  if constexpr (std::is_floating_point_v<T>)
    if (with_nan) values[1234] = std::numeric_limits<T>::quiet_NaN();
  ASSERT_TRUE(array.write(whole(d.shape), Target{values.data(), {}, {}, {}}, {}));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const std::uint64_t budget : {12000ull, 1ull << 30}) {  // many blocks, one block
      Options options;
      options.budget_bytes = budget * sizeof(T);
      Bytes out;
      const auto report = project_max(array, axis, {}, options, out);
      ASSERT_TRUE(report) << report.error().message();
      const std::uint64_t n[3] = {21, 13, 17};
      std::size_t i = 0;
      for (std::uint64_t a = 0; a < n[axis == 0 ? 1 : 0]; ++a)
        for (std::uint64_t b = 0; b < n[axis == 2 ? 1 : 2]; ++b, ++i) {
          T most{};
          for (std::uint64_t k = 0; k < n[axis]; ++k) {
            const std::uint64_t z = axis == 0 ? k : a, y = axis == 0 ? a : axis == 1 ? k : b, x = axis == 2 ? k : b;
            const T v = values[(z * 13 + y) * 17 + x];
            if (k == 0 || v > most || v != v) most = most == most || k == 0 ? v : most;
          }
          T got;
          std::memcpy(&got, out.data() + i * sizeof(T), sizeof(T));
          if (most != most)
            ASSERT_TRUE(got != got) << "NaN stays";
          else
            ASSERT_EQ(got, most) << axis << " " << a << " " << b;
        }
    }
  }
}

}  // namespace

TEST(ProjectMax, EqualsAPlainLoop) {
  expect_projections<std::uint8_t>(DType::uint8());
  expect_projections<std::uint16_t>(DType::uint16());
  expect_projections<std::int32_t>(DType::int32());
  expect_projections<std::int64_t>(DType::int64());
  expect_projections<float>(DType::float32());
  expect_projections<double>(DType::float64(), true);
}

TEST(ProjectMax, SaysWhatItCannotDo) {
  auto store = open_store("memory://", StoreMode::create).value();
  Array array = Array::create(store, "", dataset(DType::complex64()), Array::IfExists::fail).value();
  Bytes out;
  EXPECT_EQ(project_max(array, 0, {}, {}, out).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(project_max(array, 3, {}, {}, out).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(project_max(array, 0, Device{Device::Type::cuda, 99}, {}, out).error().code(), ErrorCode::unsupported)
      << "the data type is looked at first";
}
