#include "oct/normalize/tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/tiles/columns.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/tiles/percentiles.hpp"
#include "oct/tiles/tile_step.hpp"

namespace penstock::oct {
namespace {

/// First the projection, then the percentiles of as many planes at a time as there is memory for counters.
class NormalizeTiles final : public TileStep {
 public:
  explicit NormalizeTiles(const NormalizeOptions& how) : how_(how) {}

  Result<Tiles> begin(const Tiles& in, std::uint64_t allowance_bytes) override {
    tiles_ = in;
    tiles_.levels = how_.levels;
    projection_.begin(in.grid);
    const std::uint64_t bytes = TilePercentiles::group_bytes(2) + TilePercentiles::group_bytes(1);
    batch_ = std::clamp<std::uint64_t>(allowance_bytes / bytes, 1, in.depth);
    return tiles_;
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override {
    return 16 * tiles_.grid.tile_rows * tiles_.grid.tile_cols;
  }
  [[nodiscard]] std::uint32_t least_looks() const override {
    return 1 + 2 * static_cast<std::uint32_t>(div_up(tiles_.depth, batch_));
  }
  bool looks() override { return agarose_.empty() || ranges_.size() < tiles_.depth; }
  Status look(std::uint64_t tile, const Tensor& elements, const Tools& tools) override {
    if (agarose_.empty()) {
      PENSTOCK_ASSIGN(const ColumnStatistics columns, column_statistics(elements, tools));
      projection_.put(tile, columns);
      return {};
    }
    const auto* const values = static_cast<const float*>(elements.view().data) + ranges_.size() * pixels();
    const std::vector<std::uint8_t> here = agarose_of(tile);
    PENSTOCK_ASSIGN(const Numbers<std::uint8_t> mask,
                    Numbers<std::uint8_t>::make(std::span<const std::uint8_t>(here), tools.work));
    PENSTOCK_TRY(all_.add(values, planes(), pixels(), nullptr, tools));
    PENSTOCK_TRY(dark_.add(values, planes(), pixels(), mask.at(), tools));
    return {};
  }
  Status looked(const Tools& tools) override {
    if (agarose_.empty()) {
      const Shape shape = tiles_.mosaic();
      PENSTOCK_ASSIGN(agarose_, agarose_columns(projection_.values(), shape[1], shape[2], how_.sigma, tools.options));
    } else {
      PENSTOCK_TRY(all_.end_look(tools));
      PENSTOCK_TRY(dark_.end_look(tools));
      if (all_.looks()) return {};
      const std::uint64_t count = planes();
      for (std::uint64_t g = 0; g < count; ++g) ranges_.push_back(range_of(g));
      if (ranges_.size() == tiles_.depth) spans_ = spans_of(ranges_, how_.min_contrast_fraction);
    }
    all_.begin(planes(), {0, how_.percentile_max}, false);
    dark_.begin(planes(), {50}, true);
    return {};
  }
  [[nodiscard]] Tiles out() const override { return tiles_; }
  Result<Tensor> make(std::uint64_t /*tile*/, Tensor elements, const Tools& tools) const override {
    std::vector<double> low, high;
    for (const PlaneRange& r : ranges_) low.push_back(r.low), high.push_back(r.high);
    PENSTOCK_ASSIGN(const Numbers<double> low_there, Numbers<double>::make(std::span<const double>(low), tools.work));
    PENSTOCK_ASSIGN(const Numbers<double> high_there, Numbers<double>::make(std::span<const double>(high), tools.work));
    PENSTOCK_ASSIGN(const Numbers<double> span, Numbers<double>::make(std::span<const double>(spans_), tools.work));
    PENSTOCK_ASSIGN(Tensor scaled,
                    Tensor::empty(DType::float32(), tiles_.tile(), tools.work.stream, tools.options.memory));
    PENSTOCK_TRY(
        run_lanes(tiles::ScalePlanes{static_cast<const float*>(elements.view().data), low_there.at(), high_there.at(),
                                     span.at(), tiles_.depth, pixels(), static_cast<float*>(scaled.view().data)},
                  tools.work, kShortTask));
    return scaled;
  }
  Status finish(const std::string& path, StepDone& done) override {
    tell_normalized(ranges_, agarose_, done);
    done.text = fmt::format("{}: {} planes between 0 and 1\n", path, ranges_.size());
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t pixels() const { return tiles_.grid.tile_rows * tiles_.grid.tile_cols; }
  /// That are looked at now.
  [[nodiscard]] std::uint64_t planes() const { return std::min(batch_, tiles_.depth - ranges_.size()); }
  [[nodiscard]] std::vector<std::uint8_t> agarose_of(std::uint64_t tile) const {
    const TileGrid& grid = tiles_.grid;
    const std::uint64_t width = grid.cols * grid.tile_cols;
    const std::uint64_t begin = tile / grid.cols * grid.tile_rows * width + tile % grid.cols * grid.tile_cols;
    std::vector<std::uint8_t> here;
    for (std::uint64_t r = 0; r < grid.tile_rows; ++r) {
      const auto row = agarose_.begin() + static_cast<std::ptrdiff_t>(begin + r * width);
      here.insert(here.end(), row, row + static_cast<std::ptrdiff_t>(grid.tile_cols));
    }
    return here;
  }
  [[nodiscard]] PlaneRange range_of(std::uint64_t group) const {
    const std::vector<double> top = *all_.result(group);
    PlaneRange range{std::max(top[0], 0.0), top[1]};
    if (const auto middle = dark_.result(group)) range.low = middle->front();
    range.high = std::max(range.high, range.low);
    return range;
  }

  NormalizeOptions how_;
  Tiles tiles_;
  Projection projection_;
  std::vector<std::uint8_t> agarose_;  // columns of the mosaic; empty: not known yet
  std::uint64_t batch_ = 1;
  TilePercentiles all_, dark_;  // of the planes that are looked at
  std::vector<PlaneRange> ranges_;
  std::vector<double> spans_;
};

Result<Statistics> statistics_of(std::vector<float>& values, const Options& options) {
  StatisticsRequest request;
  request.otsu = true;
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(values.data(), DType::float32(), {values.size()}));
  return statistics(view, request, on_host(options));
}

}  // namespace

Result<NormalizeOptions> normalize_options(const StepCall& call) {
  const NormalizeOptions how{call.number("percentile_max"), call.number("sigma"), call.number("min_contrast_fraction"),
                             call.count("n_levels")};
  if (!(how.percentile_max > 0) || how.percentile_max > 100 || !(how.sigma >= 0) || how.sigma > 1000)
    return Error(ErrorCode::invalid_argument, "percentile_max lies between 0 and 100, sigma between 0 and 1000");
  return how;
}

std::vector<double> spans_of(const std::vector<PlaneRange>& ranges, double min_contrast_fraction) {
  double largest = 0;
  for (const PlaneRange& r : ranges) largest = std::max(largest, r.high - r.low);
  std::vector<double> spans;
  for (const PlaneRange& r : ranges) spans.push_back(std::max(r.high - r.low, min_contrast_fraction * largest));
  return spans;
}

Result<std::vector<std::uint8_t>> agarose_columns(std::vector<float>& projection, std::uint64_t rows,
                                                  std::uint64_t cols, double sigma, const Options& options) {
  for (float& v : projection)
    if (!std::isfinite(v)) v = 0;
  const OpCall smooth{"gaussian_filter", fmt::format(R"({{"sigma":{}}})", sigma)};
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(projection.data(), DType::float32(), {rows, cols}));
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(std::span(&smooth, 1), view, on_host(options)));
  const auto* const smoothed = static_cast<const float*>(made.view().data);
  std::vector<float> there;
  for (std::size_t i = 0; i < projection.size(); ++i)
    if (projection[i] > 0) there.push_back(smoothed[i]);
  std::vector<std::uint8_t> mask(projection.size());
  if (there.empty()) return mask;
  PENSTOCK_ASSIGN(const Statistics made_of, statistics_of(there, options));
  const double threshold = made_of.otsu.value_or(0);
  for (std::size_t i = 0; i < projection.size(); ++i)
    mask[i] = projection[i] > 0 && static_cast<double>(smoothed[i]) < threshold ? 1 : 0;
  return mask;
}

void tell_normalized(const std::vector<PlaneRange>& ranges, const std::vector<std::uint8_t>& agarose, StepDone& done) {
  const auto columns = std::ranges::count(agarose, std::uint8_t{1});
  if (columns == 0) done.metrics.warn("no agarose was found; planes begin at their least value");
  done.metrics.add("agarose_coverage",
                   static_cast<double>(columns) / static_cast<double>(std::max<std::size_t>(agarose.size(), 1)), "",
                   "part of the columns that is agarose");
  Json low = Json::array(), high = Json::array();
  for (const PlaneRange& r : ranges) low.push_back(r.low), high.push_back(r.high);
  done.metrics.note("low", low, "intensity that becomes 0, of each plane");
  done.metrics.note("high", high, "intensity that is cut off at, of each plane");
}

Result<std::unique_ptr<TileStep>> normalize_tiles(const StepCall& call) {
  if (!call.flag("tiles")) return std::unique_ptr<TileStep>();
  PENSTOCK_ASSIGN(const NormalizeOptions how, normalize_options(call));
  return std::unique_ptr<TileStep>(std::make_unique<NormalizeTiles>(how));
}

}  // namespace penstock::oct
