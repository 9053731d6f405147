// Bytes choose an image, what is said of it, and how it is written as a COG; what stands there is one, and reads as
// what was written: the image, its mask, every level, and all that is said, whatever the threads and the memory.  GDAL
// reads such files in tests/python/test_cog.py.
#include <algorithm>
#include <cstring>
#include <optional>

#include "codec/choices.hpp"
#include "fuzz.hpp"
#include "made_raster.hpp"
#include "penstock/cog.hpp"
#include "penstock/raster.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using fuzz::demand;

namespace {

constexpr DType (*kTypes[])() = {DType::uint8, DType::int16,   DType::uint16,
                                 DType::int32, DType::float32, DType::float64};

struct Image {
  DType dtype;
  Shape shape;
  std::vector<std::byte> elements, mask;  ///< mask: none where it is empty
};

Image make_image(test::Choices& choices) {
  Image image{kTypes[choices.below(std::size(kTypes))](), {}, {}, {}};
  image.shape = {1 + choices.below(3), 1 + choices.below(200), 1 + choices.below(200)};
  image.elements.resize(image.shape[0] * image.shape[1] * image.shape[2] * image.dtype.size_bytes);
  // Runs, steps and noise.
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < image.elements.size();) {
    const std::size_t run = std::min<std::size_t>(1 + choices.below(700), image.elements.size() - at);
    const std::uint32_t step = choices.below(3), noise = choices.one_in(3) ? 255 : 1;
    for (std::size_t i = 0; i < run; ++i, ++at) {
      value = value * 1664525 + 1013904223;
      image.elements[at] = static_cast<std::byte>(i * step + (value >> 24) % noise);
    }
  }
  if (choices.one_in(3)) {
    image.mask.resize(image.shape[1] * image.shape[2]);
    const std::size_t from = choices.below(image.mask.size()), count = choices.below(image.mask.size());
    for (std::size_t i = 0; i < image.mask.size(); ++i)
      image.mask[i] = i >= from && i - from < count ? std::byte{0} : std::byte{255};
  }
  return image;
}

CogOptions make_options(test::Choices& choices, const DType& dtype) {
  CogOptions cog;
  cog.codec = static_cast<CogCodec>(choices.below(4));
  cog.block = choices.one_in(2) ? 64 : 64 + 16 * choices.below(6);
  cog.method = static_cast<OverviewMethod>(choices.below(3));
  if (choices.one_in(3)) cog.overviews = choices.below(5);
  if (choices.one_in(2)) cog.big_tiff = true;
  if (cog.codec != CogCodec::none && choices.one_in(2))
    cog.predictor = 1 + static_cast<int>(choices.below(dtype.kind == Kind::floating ? 3 : 2));
  if (cog.codec == CogCodec::deflate && choices.one_in(2)) cog.codec_level = static_cast<int>(choices.below(10));
  if (cog.codec == CogCodec::zstd) cog.codec_level = 1 + static_cast<int>(choices.below(3));
  return cog;
}

std::vector<std::byte> read_all(const Array& array) {
  const Dataset dataset = array.dataset();
  std::vector<std::byte> out(element_count(dataset.shape).value() * dataset.dtype.size_bytes, std::byte{0xEE});
  const auto report = array.read(whole(dataset.shape), {out.data(), {}, {}, {}}, {}, nullptr);
  demand(report.has_value());
  return out;
}

/// nullopt: it is refused, for what is said of it.
std::optional<std::vector<std::byte>> write(CogInput input, const CogOptions& cog, std::uint64_t threads) {
  const auto store = open_store("memory://", StoreMode::create).value();
  Options options;
  options.threads = threads;
  options.budget_bytes = threads == 1 ? std::uint64_t{64} << 20 : std::uint64_t{1} << 30;
  const auto report = write_cog(input, store, "x.tif", cog, Array::IfExists::fail, options);
  Bytes bytes;
  demand(store->get("x.tif", bytes).value() == report.has_value());
  if (!report) {
    const ErrorCode code = report.error().code();
    demand(code == ErrorCode::invalid_argument || code == ErrorCode::unsupported);
    return std::nullopt;
  }
  return std::vector<std::byte>(bytes.data(), bytes.data() + bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::Choices choices(data, size);
  Image image = make_image(choices);
  const CogOptions cog = make_options(choices, image.dtype);
  CogInput input{*TensorView::packed(image.elements.data(), image.dtype, image.shape)};
  if (!image.mask.empty())
    input.mask = *TensorView::packed(image.mask.data(), DType::uint8(), {image.shape[1], image.shape[2]});
  if (image.dtype.kind != Kind::floating && choices.one_in(3))
    input.nodata = std::vector<std::byte>(image.elements.begin(), image.elements.begin() + image.dtype.size_bytes);
  const bool told = choices.one_in(2);
  if (told) input.info = fuzz::RasterMaker(choices).make(image.dtype, image.shape[0]);
  const auto file = write(input, cog, 1);
  demand(file == write(input, cog, 2));
  demand(file || told);
  if (!file) return 0;

  const auto store = open_store("memory://", StoreMode::create).value();
  demand(store->set("x.tif", *file).has_value());
  const auto raster = Raster::open(store, "x.tif");
  demand(raster.has_value());
  const Array first = raster->level(0).value();
  demand(first.dataset().shape == image.shape && first.dataset().dtype == image.dtype);
  demand(first.dataset().nodata == input.nodata);
  demand(read_all(first) == image.elements);
  if (told) fuzz::demand_same(input.info, raster->info(), first.dataset());
  if (raster->info().crs && choices.one_in(4)) {  // PROJ opens its database each time
    const auto wkt = crs_wkt(*raster->info().crs);
    demand(wkt ? !wkt->empty() : !wkt.error().message().empty());
  }
  for (std::size_t k = 0; k < raster->level_count(); ++k) {
    const Array level = raster->level(k).value();
    (void)read_all(level);
    const auto mask = raster->mask(k).value();
    demand(mask.has_value() == !image.mask.empty());
    if (mask) demand(k > 0 ? !read_all(*mask).empty() : read_all(*mask) == image.mask);
    if (cog.overviews && k > *cog.overviews) demand(false);
  }
  return 0;
}
