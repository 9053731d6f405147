#include "oct/align/z_overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oct/align/plane_products.hpp"

namespace penstock::oct {
namespace {

constexpr std::string_view kWhat = "oct find-z-overlap";

/// The middle half of the images, in whole chunks: what is read, and the part of it that counts.
struct Middle {
  std::uint64_t margin, height, width;
  std::uint64_t top, left;  ///< where the first chunk begins
  Shape shape, objects;     ///< of a pass over it

  Middle(const Volume& volume, std::uint64_t planes)
      : margin(std::min(volume.shape[1], volume.shape[2]) / 4),
        height(volume.shape[1]),
        width(volume.shape[2]),
        top(margin / volume.chunks[1] * volume.chunks[1]),
        left(margin / volume.chunks[2] * volume.chunks[2]),
        shape({2 * planes, height - margin - top, width - margin - left}),
        objects({2 * planes, volume.chunks[1], volume.chunks[2]}) {}
  [[nodiscard]] Region needs(const Region& tile) const {
    Region box = tile;
    const std::uint64_t offset[] = {0, top, left};
    for (std::size_t d = 1; d < 3; ++d) {
      const std::uint64_t first = std::max(tile[d].start + offset[d], margin);
      box[d] = {first, tile[d].start + offset[d] + tile[d].count - first, 1};
    }
    return box;
  }
};

/// The last planes of one slice, then the first of another.
Result<Source> both(const Volume& fixed, const Volume& moving, const std::string& fixed_path,
                    const std::string& moving_path, std::uint64_t planes, Device device, const Options& options) {
  PENSTOCK_ASSIGN(Source both, source_of(fixed, fixed_path, device, options));
  PENSTOCK_ASSIGN(const Source other, source_of(moving, moving_path, device, options));
  both.min_read_bytes = std::max(both.min_read_bytes, other.min_read_bytes);
  both.shape[0] = 2 * planes;
  both.read = [first = both.read, second = other.read, planes, skipped = fixed.shape[0] - planes](
                  const Region& region, const TensorView& into, const Options& inner) -> Result<Report> {
    Region part = region;
    part[0] = {0, planes, 1};
    const Region whole_box = {{0, 2 * planes, 1}, region[1], region[2]};
    PENSTOCK_ASSIGN(const TensorView upper, part_of_box(into, whole_box, part));
    PENSTOCK_ASSIGN(Report report, first({{skipped, planes, 1}, region[1], region[2]}, upper, inner));
    PENSTOCK_ASSIGN(const TensorView lower, part_of_box(into, whole_box, {{planes, planes, 1}, region[1], region[2]}));
    PENSTOCK_ASSIGN(const Report more, second(part, lower, inner));
    report.merge(more);
    return report;
  };
  return both;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(const Volume fixed, open_volume(call.path(0), 3));
  PENSTOCK_ASSIGN(const Volume moving, open_volume(call.path(1), 3));
  const double spacing = fixed.spacing_mm[0];
  const auto in_planes = [&](double mm) {
    const double planes = mm / spacing;
    return std::clamp(call.flag("compat") ? std::trunc(mm * 1000 / (spacing * 1000)) : std::nearbyint(planes), -1e9,
                      1e9);
  };
  const double apart = in_planes(call.number("slicing_interval_mm")), range = in_planes(call.number("search_range_mm"));
  const auto depth = static_cast<double>(std::min(fixed.shape[0], moving.shape[0]));
  const double expected = depth - apart;
  const double least = std::max(1.0, expected - range), most = std::min(depth, expected + range);
  ZOverlap found{static_cast<std::uint64_t>(std::max(expected, 0.0)), 0};
  if (least < most) {
    PENSTOCK_ASSIGN(found, best_z_overlap(fixed, moving, call.path(0), call.path(1), static_cast<std::uint64_t>(least),
                                          static_cast<std::uint64_t>(most), call.device, call.options,
                                          call.flag("compat") ? Normalised::together : Normalised::each_plane));
    done.metrics.ran("sums of products", call.device.name());
    if (found.score == 0) {
      found.planes = static_cast<std::uint64_t>(std::clamp(expected, 0.0, depth));
      done.metrics.warn("nothing varies in the middle of the planes; the overlap is the expected one");
    }
  } else {
    done.metrics.warn("there is no overlap to look for; it is the expected one");
  }
  done.metrics.add("overlap", found.planes, "planes", "planes that the slices share");
  done.metrics.add("score", found.score, "", "mean product of normalised intensities there");
  done.metrics.note("expected", expected, "planes, by the slicing interval");
  done.text = fmt::format("{} planes, score {:.4f} (expected {})\n", found.planes, found.score, expected);
  return done;
}

}  // namespace

Result<ZOverlap> best_z_overlap(const Volume& fixed, const Volume& moving, const std::string& fixed_path,
                                const std::string& moving_path, std::uint64_t least, std::uint64_t most, Device device,
                                const Options& options, Normalised normalised) {
  if (fixed.shape[1] != moving.shape[1] || fixed.shape[2] != moving.shape[2])
    return Error(ErrorCode::invalid_metadata,
                 fmt::format("{}: it has {}, the other {}: rows and columns must be the same", moving_path,
                             to_string(moving.shape), to_string(fixed.shape)));
  PENSTOCK_ASSIGN(const Options rest, without_held(options, 16 * most * (most + 4), kWhat));
  PENSTOCK_ASSIGN(const Source source, both(fixed, moving, fixed_path, moving_path, most, device, rest));
  const Middle middle(fixed, most);
  PlaneSumsOfTwo sums(most);
  ProductAdder adder(sums, device.type != Device::Type::cpu);
  PENSTOCK_TRY(with_tools(device, kWhat, rest, [&](const Tools& tools) { return adder.begin(tools.work); }));
  Pass pass{kWhat, middle.shape, middle.objects};
  pass.needs = [&](const Region& tile) { return middle.needs(tile); };
  pass.scratch_bytes = [&](const Region& tile) {
    const Region box = middle.needs(tile);
    return adder.scratch_bytes(box[1].count * box[2].count);
  };
  pass.make = [&](const Tile& in, const Tile&, const Workspace& work) { return adder.add(in.view, work); };
  PENSTOCK_TRY(look_at(source, pass, device, rest));
  PENSTOCK_TRY(with_tools(device, kWhat, rest, [&](const Tools& tools) { return adder.end(tools.work); }));
  ZOverlap best{least, -2};
  for (std::uint64_t o = least; o <= most; ++o) {
    const double score = normalised == Normalised::together ? sums.score_as_one(o) : sums.score_by_plane(o);
    if (score > best.score) best = {o, score};
  }
  if (best.score < -1)
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{}, {}: elements in the middle of the planes are no numbers", fixed_path, moving_path));
  return best;
}

Step find_z_overlap_step() {
  Step step;
  step.what.name = "find-z-overlap";
  step.what.summary = "how many planes two slices share";
  step.what.about =
      "The last planes of FIXED beside the first of MOVING, for every number of planes within the search range about "
      "the one that the slicing interval says, in the middle half of the image. Each plane counts by what varies in "
      "it, so that planes that grow dark with depth do not pull the overlap.";
  step.what.arguments = {{"FIXED", "slice", false},
                         {"MOVING", "the slice below it, of the same rows and columns", false}};
  step.what.options = {
      number_option("slicing_interval_mm", "0.2", "distance of neighbouring slices"),
      number_option("search_range_mm", "0.1", "how far from the expected overlap is looked"),
      flag_option("compat",
                  "as linumpy: cut numbers of planes off instead of rounding them, normalise all planes as one"),
  };
  step.what.example = "slice_z00_common.ome.zarr slice_z01_common.ome.zarr --slicing-interval-mm 0.24";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
