#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "format/format.hpp"
#include "model.hpp"
#include "penstock/copy.hpp"
#include "penstock/pyramid.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

/// The mean of a block by hand; halves away from zero.
template <class T>
T mean_at(const std::vector<T>& fine, const Shape& shape, const Shape& at) {
  double sum = 0;
  int n = 0;
  for (std::uint64_t z = 2 * at[0]; z < std::min(2 * at[0] + 2, shape[0]); ++z)
    for (std::uint64_t y = 2 * at[1]; y < std::min(2 * at[1] + 2, shape[1]); ++y)
      for (std::uint64_t x = 2 * at[2]; x < std::min(2 * at[2] + 2, shape[2]); ++x, ++n)
        sum += static_cast<double>(fine[(z * shape[1] + y) * shape[2] + x]);
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(sum / n);
  return static_cast<T>(std::round(sum / n));
}

template <class T>
void expect_pyramid(const DType& dtype) {
  SCOPED_TRACE(dtype.name());
  const Dataset d = dataset({37, 20, 15}, {8, 8, 8}, {bytes_codec(), zstd_codec()}, dtype);
  auto store = memory();
  Array array = Array::create(store, "img/0", d, Array::IfExists::fail).value();
  std::mt19937_64 random(9);
  std::vector<T> fine(37 * 20 * 15);
  for (T& v : fine) v = static_cast<T>(static_cast<std::int64_t>(random() % 201) - (std::is_signed_v<T> ? 100 : 0));
  ASSERT_TRUE(array.write(whole(d.shape), Target{fine.data(), {}, {}, {}}, {}));
  PyramidOptions options;
  options.levels = 3;
  options.scale = {2.0, 0.5, 0.5};
  const auto report = write_pyramid(array, store, "img", options, Array::IfExists::fail, threads(2));
  ASSERT_TRUE(report) << report.error().message();
  Shape shape = d.shape;
  for (int k = 1; k < 3; ++k) {
    const Array level = Array::open(store, "img/" + std::to_string(k)).value();
    const Shape expected = {(shape[0] + 1) / 2, (shape[1] + 1) / 2, (shape[2] + 1) / 2};
    ASSERT_EQ(level.dataset().shape, expected);
    std::vector<T> coarse(Model::count(expected));
    ASSERT_TRUE(level.read(whole(expected), Target{coarse.data(), {}, {}, {}}, {}));
    std::size_t i = 0;
    for (std::uint64_t z = 0; z < expected[0]; ++z)
      for (std::uint64_t y = 0; y < expected[1]; ++y)
        for (std::uint64_t x = 0; x < expected[2]; ++x, ++i) {
          if constexpr (std::is_floating_point_v<T>)
            ASSERT_NEAR(coarse[i], (mean_at<T>(fine, shape, {z, y, x})), 1e-4);
          else
            ASSERT_EQ(coarse[i], (mean_at<T>(fine, shape, {z, y, x})));
        }
    fine = coarse;
    shape = expected;
  }
  const auto images = Group::open(store, "img").value().multiscales().value();
  ASSERT_EQ(images.size(), 1u);
  ASSERT_EQ(images[0].levels.size(), 3u);
  EXPECT_EQ(images[0].levels[2].scale, (std::vector<double>{8, 2, 2}));
  EXPECT_EQ(images[0].levels[1].translation, (std::vector<double>{1, 0.25, 0.25}));
  std::vector<Dataset> levels;
  for (int k = 0; k < 3; ++k) levels.push_back(Array::open(store, "img/" + std::to_string(k)).value().dataset());
  for (const std::string& problem : validate_ngff(images[0], levels)) ADD_FAILURE() << problem;
}

}  // namespace

TEST(Pyramid, LevelsAreMeansOfTheLevelBefore) {
  expect_pyramid<std::uint8_t>(DType::uint8());
  expect_pyramid<std::uint16_t>(DType::uint16());
  expect_pyramid<std::int16_t>(DType::int16());
  expect_pyramid<std::int32_t>(DType::int32());
  expect_pyramid<float>(DType::float32());
}

TEST(Pyramid, LabelsKeepTheirValues) {
  const Dataset d = dataset({16, 16}, {8, 8}, {bytes_codec()}, DType::uint64());
  auto store = memory();
  Array array = Array::create(store, "plain", d, Array::IfExists::fail).value();
  std::vector<std::uint64_t> values(256);
  for (std::size_t i = 0; i < 256; ++i) values[i] = i * 1000003;
  ASSERT_TRUE(array.write(whole(d.shape), Target{values.data(), {}, {}, {}}, {}));
  PyramidOptions options;
  options.levels = 2;
  const auto refused = write_pyramid(array, store, "seg", options, Array::IfExists::fail, {});
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported) << "no mean of labels of 8 bytes";
  options.method = Downsample::nearest;
  ASSERT_TRUE(write_pyramid(array, store, "seg", options, Array::IfExists::fail, {}));
  const auto coarse = test::read(Array::open(store, "seg/1").value(), {{0, 8, 1}, {0, 8, 1}}).value();
  for (std::size_t i = 0; i < 64; ++i) {
    std::uint64_t v = 0;
    std::memcpy(&v, &coarse[i * 8], 8);
    ASSERT_EQ(v, values[i / 8 * 32 + i % 8 * 2]);
  }
}

TEST(Pyramid, OtherMethodsAndFactors) {
  const Dataset d = dataset({29, 34}, {8, 8}, {bytes_codec()}, DType::uint8());
  auto store = memory();
  Array array = Array::create(store, "plain", d, Array::IfExists::fail).value();
  std::vector<std::uint8_t> values(29 * 34);
  std::mt19937 random(3);
  for (auto& v : values) v = static_cast<std::uint8_t>(random() % 3 + 10);
  ASSERT_TRUE(array.write(whole(d.shape), Target{values.data(), {}, {}, {}}, {}));
  for (const std::uint32_t factor : {2u, 3u, 5u, 17u})
    for (const Downsample method : {Downsample::mean, Downsample::nearest, Downsample::gaussian, Downsample::mode})
      for (const std::uint64_t budget : {std::uint64_t{6000}, std::uint64_t{0}}) {
        PyramidOptions options;
        options.levels = 2;
        options.factor = {factor};
        options.method = method;
        Options small = threads(2);
        small.budget_bytes = budget;
        const auto report = write_pyramid(array, store, "p", options, Array::IfExists::overwrite, small);
        ASSERT_TRUE(report) << report.error().message();
        const std::uint64_t h = (29 + factor - 1) / factor, w = (34 + factor - 1) / factor;
        const auto coarse = test::read(Array::open(store, "p/1").value(), {{0, h, 1}, {0, w, 1}}).value();
        const auto at = [&](std::int64_t y, std::int64_t x) {  // mirrored
          y = y < 0 ? -1 - y : y >= 29 ? 57 - y : y, x = x < 0 ? -1 - x : x >= 34 ? 67 - x : x;
          return values[static_cast<std::size_t>(y * 34 + x)];
        };
        for (std::uint64_t i = 0; i < h * w; ++i) {
          const auto f = static_cast<std::int64_t>(factor);
          const std::int64_t y = static_cast<std::int64_t>(i / w) * f, x = static_cast<std::int64_t>(i % w) * f;
          double sum = 0, weights = 0, smooth = 0, smooth_weights = 0;
          std::array<int, 256> times{};
          for (std::int64_t b = -f; b < 2 * f; ++b)
            for (std::int64_t a = -f; a < 2 * f; ++a) {
              const double dy =
                  (static_cast<double>(b) - (static_cast<double>(f) - 1) / 2) * 3 / static_cast<double>(f);
              const double dx =
                  (static_cast<double>(a) - (static_cast<double>(f) - 1) / 2) * 3 / static_cast<double>(f);
              const double weight = std::exp(-0.5 * (dx * dx + dy * dy));
              smooth += weight * at(y + b, x + a), smooth_weights += weight;
              if (b < 0 || a < 0 || b >= f || a >= f || y + b >= 29 || x + a >= 34) continue;
              sum += at(y + b, x + a), weights += 1;
              ++times[at(y + b, x + a)];
            }
          const auto made = static_cast<std::uint8_t>(coarse[i]);
          if (method == Downsample::mean) ASSERT_EQ(made, std::round(sum / weights)) << i;
          if (method == Downsample::nearest) ASSERT_EQ(made, at(y, x)) << i;
          if (method == Downsample::gaussian) ASSERT_NEAR(made, smooth / smooth_weights, 0.51) << i;
          if (method == Downsample::mode) ASSERT_EQ(times[made], *std::ranges::max_element(times)) << i;
        }
      }
  PyramidOptions wrong;
  wrong.factor = {1};
  EXPECT_FALSE(write_pyramid(array, store, "q", wrong, Array::IfExists::fail, {}));
  wrong.factor = {2, 2, 2};
  const auto refused = write_pyramid(array, store, "q", wrong, Array::IfExists::fail, {});
  EXPECT_EQ(refused.error().message(), "3 factors for 2 axes of space");
}

TEST(Pyramid, DimensionsSayScaleUnitAndOffset) {
  const auto store = memory();
  Dataset d = dataset({8, 8, 8}, {4, 4, 4});
  d.format = {"volume", 1, ""};
  d.dims = {{"z", "millimeter", 3.0, {}}, {"y", "millimeter", 0.5, -10.0}, {"x", "millimeter", {}, {}}};
  d.placement = ContiguousChunks{"v", 0};
  d.chunk_shape = {8, 8, 8};
  d.codecs = {bytes_codec()};
  ASSERT_TRUE(store->set("v", std::vector<std::byte>(1024)));
  const Array array = Array::with_metadata(store, "v", d).value();
  CopyOptions how;
  how.pyramid = PyramidOptions();
  how.pyramid->levels = 2;
  const auto to = memory();
  ASSERT_TRUE(copy(Node(array), to, "img", how, threads(1)));
  const Multiscale image = Group::open(to, "img").value().multiscales().value().at(0);
  EXPECT_EQ(image.axes[1].unit, "millimeter");
  EXPECT_EQ(image.levels[0].scale, (std::vector<double>{3, 0.5, 1}));
  EXPECT_EQ(image.levels[0].translation, (std::vector<double>{0, -10, 0}));
  EXPECT_EQ(image.levels[1].scale, (std::vector<double>{6, 1, 2}));
  EXPECT_EQ(image.levels[1].translation, (std::vector<double>{1.5, -9.75, 0.5}));
  // And back: a level has the dimensions of its image.
  const auto dims = image_dimensions(Array::open(to, "img/1").value()).value();
  EXPECT_EQ(dims[1], (Dimension{"y", "millimeter", 1.0, -9.75}));
}

TEST(Pyramid, AxesCanBeTimeAndChannel) {
  const Dataset d = dataset({2, 3, 8, 16, 16}, {1, 1, 8, 8, 8});
  auto store = memory();
  Array array = Array::create(store, "i/0", d, Array::IfExists::fail).value();
  PyramidOptions options;
  options.levels = 2;
  ASSERT_TRUE(write_pyramid(array, store, "i", options, Array::IfExists::fail, {}));
  EXPECT_EQ(Array::open(store, "i/1").value().dataset().shape, (Shape{2, 3, 4, 8, 8}));
}
