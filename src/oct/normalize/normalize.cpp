#include "oct/normalize/normalize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "exec/budget.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/normalize/tiles.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/tiles/percentiles.hpp"
#include "oct/walk/walk.hpp"

namespace penstock::oct {
namespace {

constexpr std::string_view kWhat = "oct normalize";

/// The ranges of all planes of a slice, in two passes over as many of them as the budget has room for counters.
class RangeSearch {
 public:
  RangeSearch(const Volume& slice, const Source& source, const std::vector<std::uint8_t>& agarose, double percentile)
      : slice_(slice), source_(source), agarose_(agarose), percentile_(percentile) {}

  Result<std::vector<PlaneRange>> run(Device device, const Options& options) {
    constexpr std::size_t of_all = 2, of_agarose = 1;
    const std::uint64_t bytes = TilePercentiles::group_bytes(of_all) + TilePercentiles::group_bytes(of_agarose);
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 2 * bytes));
    const std::uint64_t depth = slice_.shape[0];
    const std::uint64_t at_once = std::clamp<std::uint64_t>(allowed.budget_bytes / 4 / bytes, 1, depth);
    for (first_ = 0; first_ < depth; first_ += at_once) {
      planes_ = std::min(at_once, depth - first_);
      PENSTOCK_TRY(search(device, options));
    }
    return std::move(ranges_);
  }

 private:
  Status search(Device device, const Options& options) {
    all_.begin(planes_, {0, percentile_}, false);
    agaroses_.begin(planes_, {50}, true);
    Pass pass{kWhat, {planes_, slice_.shape[1], slice_.shape[2]}, {planes_, slice_.chunks[1], slice_.chunks[2]}};
    pass.needs = [this](const Region& tile) { return Region{{first_, planes_, 1}, tile[1], tile[2]}; };
    pass.scratch_bytes = [this](const Region& tile) { return (4 * planes_ + 1) * tile[1].count * tile[2].count; };
    pass.make = [&](const Tile& in, const Tile& out, const Workspace& work) {
      return count(in.view, out.box, Tools{work, options});
    };
    while (all_.looks()) {
      const auto reserve = [&](const Tools& tools) -> Status {
        PENSTOCK_TRY(all_.reserve(tools));
        return agaroses_.reserve(tools);
      };
      PENSTOCK_TRY(with_tools(device, kWhat, options, reserve));
      PENSTOCK_TRY(look_at(source_, pass, device, options));
      const auto end_look = [&](const Tools& tools) -> Status {
        PENSTOCK_TRY(all_.end_look(tools));
        return agaroses_.end_look(tools);
      };
      PENSTOCK_TRY(with_tools(device, kWhat, options, end_look));
    }
    for (std::uint64_t z = 0; z < planes_; ++z) {
      const std::vector<double> top = *all_.result(z);
      PlaneRange range{std::max(top[0], 0.0), top[1]};
      if (const auto middle = agaroses_.result(z)) range.low = middle->front();
      range.high = std::max(range.high, range.low);
      ranges_.push_back(range);
    }
    return {};
  }

  Status count(const TensorView& in, const Region& box, const Tools& tools) {
    Tensor held;
    PENSTOCK_ASSIGN(const TensorView packed, packed_here(in, held, tools.work));
    std::vector<std::uint8_t> here;
    for (std::uint64_t r = 0; r < box[1].count; ++r) {
      const auto row =
          agarose_.begin() + static_cast<std::ptrdiff_t>((box[1].start + r) * slice_.shape[2] + box[2].start);
      here.insert(here.end(), row, row + static_cast<std::ptrdiff_t>(box[2].count));
    }
    PENSTOCK_ASSIGN(const Numbers<std::uint8_t> mask,
                    Numbers<std::uint8_t>::make(std::span(std::as_const(here)), tools.work));
    const auto* const values = static_cast<const float*>(packed.data);
    PENSTOCK_TRY(all_.add(values, planes_, here.size(), nullptr, tools));
    PENSTOCK_TRY(agaroses_.add(values, planes_, here.size(), mask.at(), tools));
    return tools.work.stream.synchronize();
  }

  const Volume& slice_;
  const Source& source_;
  const std::vector<std::uint8_t>& agarose_;
  double percentile_;
  std::uint64_t first_ = 0, planes_ = 0;
  TilePercentiles all_, agaroses_;
  std::vector<PlaneRange> ranges_;
};

/// Brings all planes to 0 to 1.
Status scale_planes(const StepCall& call, const Source& source, const std::vector<PlaneRange>& ranges,
                    const std::vector<double>& spans, NewVolume& out) {
  std::vector<double> lows, highs;
  for (const PlaneRange& r : ranges) lows.push_back(r.low), highs.push_back(r.high);
  Numbers<double> low, high, span;
  PENSTOCK_TRY(with_tools(call.device, kWhat, call.options, [&](const Tools& tools) -> Status {
    PENSTOCK_ASSIGN(low, Numbers<double>::make(std::span(std::as_const(lows)), tools.work));
    PENSTOCK_ASSIGN(high, Numbers<double>::make(std::span(std::as_const(highs)), tools.work));
    PENSTOCK_ASSIGN(span, Numbers<double>::make(std::span(spans), tools.work));
    return {};
  }));
  Pass pass{kWhat, source.shape, out.objects()};
  pass.scratch_bytes = [](const Region& tile) { return 4 * tile[0].count * tile[1].count * tile[2].count; };
  pass.make = [&](const Tile& in, const Tile& made, const Workspace& work) -> Status {
    Tensor held;
    PENSTOCK_ASSIGN(const TensorView packed, packed_here(in.view, held, work));
    const std::uint64_t first = made.box[0].start, planes = made.box[0].count;
    PENSTOCK_TRY(
        run_lanes(tiles::ScalePlanes{static_cast<const float*>(packed.data), low.at() + first, high.at() + first,
                                     span.at() + first, planes, made.box[1].count * made.box[2].count,
                                     static_cast<float*>(made.view.data)},
                  work, kShortTask));
    return work.stream.synchronize();  // before a copy goes away
  };
  return make_volume(source, pass, out, call.path(1), call.device, call.options);
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const NormalizeOptions how, normalize_options(call));
  VolumeSpec spec;
  spec.shape = slice.shape;
  spec.chunks = slice.chunks;
  spec.spacing_mm = slice.spacing_mm;
  spec.offset_mm = slice.offset_mm;
  spec.levels = how.levels;
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(1), spec, call.force));
  PENSTOCK_ASSIGN_IN(std::vector<float> projection, average_projection(slice, call.device, call.options), call.path(0));
  PENSTOCK_ASSIGN_IN(const std::vector<std::uint8_t> agarose,
                     agarose_columns(projection, slice.shape[1], slice.shape[2], how.sigma, call.options),
                     call.path(0));
  PENSTOCK_ASSIGN(const Source source, source_of(slice, call.path(0), call.device, call.options));
  PENSTOCK_ASSIGN(const Options rest, without_held(call.options, agarose.size(), kWhat));
  RangeSearch search(slice, source, agarose, how.percentile_max);
  PENSTOCK_ASSIGN(const std::vector<PlaneRange> ranges, search.run(call.device, rest));
  PENSTOCK_TRY(scale_planes(call, source, ranges, spans_of(ranges, how.min_contrast_fraction), out));
  PENSTOCK_TRY(out.finish(call.device, call.options));
  tell_normalized(ranges, agarose, done);
  for (const char* part : {"mean over depth", "percentiles of planes", "planes scaled"})
    done.metrics.ran(part, call.device.name());
  done.metrics.ran("agarose mask", Device().name());
  return done;
}

}  // namespace

Step normalize_step() {
  Step step;
  step.what.name = "normalize";
  step.what.summary = "intensities of each plane between 0 and 1";
  step.what.about =
      "What is brighter than a percentile of its plane is cut off, the median of the agarose becomes 0, and the plane "
      "is divided by what is left, but by no less than a part of the largest of all planes. Agarose is what is darker "
      "than Otsu's threshold of the mean over depth.";
  step.what.arguments = {{"SLICE", "slice", false}, {"NORMALIZED", "the slice to write, NAME.ome.zarr", true}};
  step.what.options = {
      number_option("percentile_max", "99.9", "of each plane, that is cut off at"),
      number_option("sigma", "1", "standard deviation of the Gaussian before agarose is told from tissue, in pixels"),
      number_option("min_contrast_fraction", "0.1",
                    "least part of the largest plane's range that a plane is divided by"),
      flag_option("tiles", "SLICE is a mosaic grid, and NORMALIZED is one too; runs as one with steps beside it"),
      count_option("n_levels", "1", "levels of the pyramid, each half of the one before"),
  };
  step.what.example = "slice_z00_crop.ome.zarr slice_z00_normalize.ome.zarr";
  step.run = run;
  step.tiles = normalize_tiles;
  return step;
}

}  // namespace penstock::oct
