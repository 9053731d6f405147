// Bytes as a TIFF file: what parses has a chain for its chunks, or a reason why not; its levels, masks and tags.
#include "array/index/make_index.hpp"
#include "codec/chain.hpp"
#include "format/tiff/tiff.hpp"
#include "fuzz.hpp"

using namespace penstock;
using fuzz::demand;

namespace {

class Source final : public tiff::ByteSource {
 public:
  explicit Source(ByteView bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  Result<ByteView> get(std::uint64_t offset, std::uint64_t count) override {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      return Error(ErrorCode::corrupt_data, "the file ends");
    return bytes_.subspan(offset, count);
  }

 private:
  ByteView bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source source(std::as_bytes(std::span(data, size)));
  const auto raster = tiff::parse_raster(source, "x.tif");
  if (raster) {
    demand(!raster->levels.empty() && raster->levels.front().dataset.has_value());
    for (const RasterFile::Level& level : raster->levels) demand(level.shape.size() == 3 && level.shape[1] > 0);
    demand(raster->info.bands.size() == raster->levels.front().shape[0]);
  } else {
    demand(!raster.error().message().empty());
  }
  (void)tiff::cog_problems(source, true);
  const auto dataset = tiff::parse(source, "x.tif");
  if (!dataset) {
    demand(!dataset.error().message().empty());
    return 0;
  }
  demand(dataset->rank() == 3 && dataset->chunk_shape.size() == 3 && dataset->dims.size() == 3);
  demand(dataset->fill.size() == dataset->dtype.size_bytes);
  for (const std::uint64_t extent : dataset->chunk_shape) demand(extent > 0);
  const auto& table = std::get<ChunkTable>(dataset->placement);
  for (const TableColumn* column : {&table.offsets, &table.sizes}) demand(column->offset_bytes < size);
  const auto chain = CodecChain::make(dataset->codecs, {dataset->chunk_shape, dataset->dtype, dataset->fill});
  if (!chain) demand(!chain.error().message().empty());
  return 0;
}
