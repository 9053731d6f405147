#include "oct/pyramid/pyramid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "format/format.hpp"
#include "oct/file/apart.hpp"
#include "oct/file/volume.hpp"
#include "penstock/ngff.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr std::size_t kMaxLevels = 20;

/// A level, by the level that it is made of.
struct Level {
  std::vector<double> factor;  ///< elements of that level to one of this, of each axis
  Shape shape;
  std::vector<double> spacing_mm, offset_mm;
  bool of_source = false;  ///< else of the level before it
};

/// What `factor` elements make one of: its middle is theirs.  What is left over at the end belongs to none.
Level coarser(const Shape& shape, const std::vector<double>& spacing_mm, const std::vector<double>& offset_mm,
              std::vector<double> factor) {
  Level level{std::move(factor), {}, {}, {}, false};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const double whole = std::floor(static_cast<double>(shape[d]) / level.factor[d] + 1e-9);
    level.shape.push_back(static_cast<std::uint64_t>(std::max(whole, 1.0)));
    level.spacing_mm.push_back(spacing_mm[d] * level.factor[d]);
    level.offset_mm.push_back(offset_mm[d] + spacing_mm[d] * (level.factor[d] - 1) / 2);
  }
  return level;
}

/// Level 0 as it is, and halves of it.
std::vector<Level> halves(const Volume& volume, std::uint64_t wanted) {
  const std::uint64_t least = std::max<std::uint64_t>(std::ranges::min(volume.shape), 1);
  const std::uint64_t most = std::min<std::uint64_t>(std::bit_width(least), kMaxLevels);
  std::vector<Level> levels = {
      coarser(volume.shape, volume.spacing_mm, volume.offset_mm, std::vector<double>(volume.shape.size(), 1))};
  levels[0].of_source = true;
  while (levels.size() < std::min(std::max<std::uint64_t>(wanted, 1), most)) {
    const Level& fine = levels.back();
    levels.push_back(coarser(fine.shape, fine.spacing_mm, fine.offset_mm, std::vector<double>(fine.shape.size(), 2)));
  }
  return levels;
}

Result<std::vector<double>> parse_resolutions(std::string_view text) {
  std::vector<double> out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    double value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size() || !(value > 0) || !(value < 1e9))
      return Error(ErrorCode::invalid_argument, fmt::format("resolutions_um: '{}' is no length above 0", word))
          .set_hint("Micrometres with commas between them: 10,25,50,100");
    out.push_back(value);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.empty() || out.size() > kMaxLevels)
    return Error(ErrorCode::invalid_argument, fmt::format("resolutions_um: 1 to {} of them", kMaxLevels));
  return out;
}

/// The first resolution of the source, the others of the first.
Result<std::vector<Level>> resolutions(const Volume& volume, const std::string& text) {
  PENSTOCK_ASSIGN(const std::vector<double> wanted_um, parse_resolutions(text));
  const double finest_um = std::ranges::min(volume.spacing_mm) * 1000;
  std::vector<Level> levels;
  for (const double um : wanted_um) {
    if (um < finest_um * (1 - 1e-6)) continue;  // there is nothing so fine
    const bool first = levels.empty();
    const std::vector<double>& spacing = first ? volume.spacing_mm : levels[0].spacing_mm;
    std::vector<double> factor;
    for (const double mm : spacing) {
      const double f = um / 1000 / mm;
      factor.push_back(std::abs(f - std::nearbyint(f)) < 1e-9 * f ? std::nearbyint(f) : f);
    }
    Level level = first ? coarser(volume.shape, spacing, volume.offset_mm, std::move(factor))
                        : coarser(levels[0].shape, spacing, levels[0].offset_mm, std::move(factor));
    std::ranges::fill(level.spacing_mm, um / 1000);
    level.of_source = first;
    levels.push_back(std::move(level));
  }
  if (levels.empty())
    return Error(ErrorCode::invalid_argument,
                 fmt::format("resolutions_um {}: the image's finest is {} um", text, finest_um));
  return levels;
}

/// Writes one level.
class Writer {
 public:
  Writer(const StepCall& call, const Volume& volume, std::shared_ptr<Store> store)
      : call_(call), volume_(volume), store_(std::move(store)) {}

  Status write(const std::vector<Level>& levels, bool in_place) {
    const bool halving = !call_.given("resolutions_um");
    if (in_place) PENSTOCK_TRY(describe({levels.front()}));  // levels that are written anew are none of the image's
    for (std::size_t k = 0; k < levels.size(); ++k) {
      if (k == 0 && in_place) continue;
      PENSTOCK_TRY(call_.options.stop().check("oct pyramid"));
      PENSTOCK_TRY_IN(write_level(levels[k], k, halving), call_.path(1));
    }
    return describe(levels);
  }

 private:
  Status write_level(const Level& level, std::size_t k, bool halving) {
    const std::size_t base = halving ? k - std::min<std::size_t>(k, 1) : 0;
    Array from = volume_.array;
    if (!level.of_source) {
      PENSTOCK_ASSIGN(from, Array::open(store_, std::to_string(base)));
    }
    Dataset dataset = volume_.array.dataset();
    dataset.shape = level.shape;
    for (std::size_t d = 0; d < dataset.dims.size(); ++d) {
      dataset.dims[d].scale = level.spacing_mm[d];
      dataset.dims[d].offset = level.offset_mm[d];
    }
    PENSTOCK_ASSIGN(Array to, Array::prepare(store_, std::to_string(k), dataset, Array::IfExists::overwrite));
    PENSTOCK_ASSIGN(const LazyArray made, LazyArray::make(from, calls_of(level, halving)));
    PENSTOCK_TRY(made.write(to, call_.device, call_.options));
    // Not to.commit(), which would write the group, too: that comes last, and says that the image is whole.
    return write_node(*store_, std::to_string(k), to.dataset(), call_.options.stop());
  }

  /// Between two elements linearly is the mean of the two.  By other factors a Gaussian takes what the level cannot
  /// show.
  [[nodiscard]] static std::vector<OpCall> calls_of(const Level& level, bool halving) {
    std::vector<double> sigma, offset;
    for (const double f : level.factor) {
      sigma.push_back(halving ? 0 : std::max((f - 1) / 2, 0.0));
      offset.push_back((f - 1) / 2);
    }
    std::vector<OpCall> calls;
    if (std::ranges::any_of(sigma, [](double s) { return s > 0; }))
      calls.push_back({"gaussian_filter", fmt::format(R"({{"sigma":[{}],"mode":"mirror"}})", fmt::join(sigma, ","))});
    calls.push_back({"affine_transform",
                     fmt::format(R"({{"matrix":[{}],"offset":[{}],"output_shape":[{}],"order":1,"mode":"nearest"}})",
                                 fmt::join(level.factor, ","), fmt::join(offset, ","), fmt::join(level.shape, ","))});
    return calls;
  }

  /// The image's metadata, which come last.
  Status describe(const std::vector<Level>& levels) {
    static constexpr const char* names[] = {"z", "y", "x"};
    Multiscale image;
    image.version = "0.5";
    image.name = call_.path(1).substr(call_.path(1).rfind('/') + 1);
    const std::size_t rank = volume_.shape.size();
    for (std::size_t d = 0; d < rank; ++d) image.axes.push_back({names[3 - rank + d], "space", "millimeter"});
    for (std::size_t k = 0; k < levels.size(); ++k)
      image.levels.push_back({std::to_string(k), levels[k].spacing_mm, levels[k].offset_mm});
    GroupInfo info{{"zarr", 3}, "{}"};
    PENSTOCK_ASSIGN(info.attributes, write_ngff("{}", {image}));
    PENSTOCK_TRY_IN(write_node(*store_, "", info, call_.options.stop()), call_.path(1));
    return store_->flush();
  }

  const StepCall& call_;
  const Volume& volume_;
  std::shared_ptr<Store> store_;
};

/// A volume, or a projection.
Result<Volume> open_image(const std::string& path) {
  Result<Volume> volume = open_volume(path, 3);
  if (!volume && volume.error().code() == ErrorCode::invalid_metadata) {
    Result<Volume> flat = open_volume(path, 2);
    if (flat) return flat;
  }
  return volume;
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  const std::string& out = call.path(1);
  const bool in_place = is_same_place(call.path(0), out), given = call.given("resolutions_um");
  if (!out.ends_with(".zarr"))
    return Error(ErrorCode::invalid_argument, fmt::format("{}: the name must end in .ome.zarr", out));
  if (in_place && given)
    return Error(ErrorCode::invalid_argument, "resolutions_um replaces level 0: write to another path");
  PENSTOCK_ASSIGN(const Volume volume, open_image(call.path(0)));
  std::vector<Level> levels;
  if (given) {
    PENSTOCK_ASSIGN_IN(levels, resolutions(volume, call.text("resolutions_um")), call.path(0));
  } else {
    levels = halves(volume, call.count("n_levels"));
  }
  PENSTOCK_ASSIGN_IN(std::shared_ptr<Store> store, open_store(out, StoreMode::create), out);
  PENSTOCK_ASSIGN_IN(const bool there, store->exists("zarr.json"), out);
  if (there && !in_place) {
    if (!call.force) return Error(ErrorCode::already_exists, out + ": already exists").set_hint("--force replaces it.");
    PENSTOCK_TRY_IN(store->erase("zarr.json"), out);  // from here on it is no image
  }
  PENSTOCK_TRY(Writer(call, volume, store).write(levels, in_place));
  Json shapes = Json::array(), spacings = Json::array();
  for (const Level& level : levels) {
    shapes.push_back(level.shape);
    spacings.push_back(level.spacing_mm);
    done.text += fmt::format("{}: {} of {} mm\n", out, to_string(level.shape), level.spacing_mm[0]);
  }
  done.metrics.add("levels", levels.size(), "levels", "levels of the image");
  done.metrics.note("shapes", std::move(shapes), "elements of each level");
  done.metrics.note("spacings_mm", std::move(spacings), "voxel size of each level");
  return done;
}

}  // namespace

Step pyramid_step() {
  Step step;
  step.what.name = "pyramid";
  step.what.summary = "coarser levels of a volume, mosaic grid or projection";
  step.what.about =
      "Each level is half of the one before along every axis, the mean of 2 x 2 x 2; an element that is left over at "
      "an end belongs to none. Or levels of given resolutions, smoothed first: the first of them takes the place of "
      "level 0, the others are made of it. Scales are exact, and translations say where the first elements lie. "
      "PYRAMID may be IMAGE itself, which then gets more levels.";
  step.what.arguments = {{"IMAGE", "volume, slice, mosaic grid or projection", false},
                         {"PYRAMID", "the image to write, NAME.ome.zarr", true}};
  step.what.options = {
      count_option("n_levels", "5", "levels, the first among them; fewer where an axis would have no element left"),
      text_option("resolutions_um", "",
                  "levels of these voxel sizes instead, 10,25,50,100; those finer than the image are left out"),
  };
  step.what.example = "3d_volume.ome.zarr 3d_volume_um.ome.zarr --resolutions-um 10,25,50,100";
  step.run = run;
  step.in_place = true;
  return step;
}

}  // namespace penstock::oct
