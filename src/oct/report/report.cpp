#include "oct/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oct/align/z_overlap.hpp"
#include "oct/file/names.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/report/page.hpp"
#include "oct/report/seams.hpp"
#include "oct/transform/tile_transform.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kSmall = 230;  // pixels of a picture that stands beside others
constexpr std::uint64_t kAround = 6;   // planes about the expected overlap that are tried

using Slices = std::map<std::uint64_t, std::string>;

std::string in_short(double v, int digits = 4) { return fmt::format("{:.{}g}", v, digits); }

/// Everything about one folder of results.
class Report {
 public:
  explicit Report(const StepCall& call) : call_(call), out_(call.path(0)), page_("Reconstruction of " + call.path(0)) {}

  Status make() {
    PENSTOCK_ASSIGN(stitched_, slices("stitch"));
    PENSTOCK_ASSIGN(placed_, slices("common"));
    PENSTOCK_ASSIGN(const bool volume, small_exists(volume_path() + "/zarr.json"));
    if (!volume && stitched_.empty())
      return Error(ErrorCode::not_found, fmt::format("{}: no slice and no volume of a reconstruction is there", out_));
    PENSTOCK_TRY(settings());
    if (volume) PENSTOCK_TRY(show_volume());
    PENSTOCK_TRY(show_slices());
    PENSTOCK_TRY(show_interface());
    PENSTOCK_TRY(show_overlaps());
    PENSTOCK_TRY(show_drift());
    return show_warnings();
  }
  [[nodiscard]] std::string html() const { return page_.html(); }
  [[nodiscard]] std::size_t slice_count() const { return std::max(stitched_.size(), placed_.size()); }

 private:
  [[nodiscard]] std::string volume_path() const { return fmt::format("{}/3d_volume{}", out_, kVolumeEnding); }
  [[nodiscard]] std::string slice_path(std::string_view prefix, std::uint64_t id, std::string_view rest) const {
    return fmt::format("{}/{}_{}", out_, slice_name(prefix, id), rest);
  }

  /// Those that are complete; none where there are none.
  [[nodiscard]] Result<Slices> slices(std::string_view process) const {
    Result<Slices> found = slices_in(out_, "slice", process);
    if (!found && found.error().code() == ErrorCode::not_found) return Slices{};
    if (!found) return found.error();
    Slices complete;
    for (const auto& [id, path] : *found) {
      PENSTOCK_ASSIGN(const bool there, small_exists(path + "/zarr.json"));
      if (there) complete.emplace(id, path);
    }
    return complete;
  }

  /// A value out of metrics; nullopt: there is no such file.
  [[nodiscard]] Result<std::optional<Json>> measured(const std::string& json, std::string_view name) const {
    PENSTOCK_ASSIGN(const bool there, small_exists(json));
    if (!there) return std::optional<Json>();
    PENSTOCK_ASSIGN(const Bytes bytes, read_small(json));
    PENSTOCK_ASSIGN_IN(Json value, metric(as_text(bytes), name), json);
    return std::optional(std::move(value));
  }

  Status settings() {
    std::vector<std::vector<std::string>> rows = {{"setting", "value"}};
    const std::string path = out_ + "/reconstruct.json";
    PENSTOCK_ASSIGN(const bool there, small_exists(path));
    if (there) {
      PENSTOCK_ASSIGN(const Bytes bytes, read_small(path));
      PENSTOCK_ASSIGN_IN(const Json all, parse_json(as_text(bytes)), path);
      for (const auto& [name, value] : all.items())
        rows.push_back({name, value.is_string() ? value.get<std::string>() : dump_json(value)});
      if (const auto it = all.find("slicing_interval_mm"); it != all.end() && it->is_number())
        interval_mm_ = it->get<double>();
    }
    if (call_.given("slicing_interval_mm")) interval_mm_ = call_.number("slicing_interval_mm");
    if (rows.size() > 1) page_.table(rows);
    return {};
  }

  /// The mean over depth, the section through the middle row, and the mean of each plane.
  Status show_volume() {
    PENSTOCK_ASSIGN(const Volume volume, open_volume(volume_path(), 3));
    page_.heading("Volume");
    page_.text(fmt::format("{} x {} x {} voxels (depth, rows, columns) of {} x {} x {} mm.", volume.shape[0],
                           volume.shape[1], volume.shape[2], volume.spacing_mm[0], volume.spacing_mm[1],
                           volume.spacing_mm[2]));
    PENSTOCK_ASSIGN_IN(std::vector<float> aip, average_projection(volume, call_.device, call_.options), volume_path());
    page_.begin_row();
    PENSTOCK_TRY(page_.picture({volume.shape[1], volume.shape[2], std::move(aip), "mean over depth of the volume"},
                               "Mean over depth."));
    const Region middle = {{0, volume.shape[0], 1}, {volume.shape[1] / 2, 1, 1}, {0, volume.shape[2], 1}};
    PENSTOCK_ASSIGN_IN(Block section, read_block(volume.array, middle, call_.options), volume_path());
    PENSTOCK_TRY(page_.picture({volume.shape[0], volume.shape[2], std::move(section.values), "section along depth"},
                               "Section along depth through the middle row, the first plane at the top."));
    page_.end_row();
    Chart chart{"Mean intensity of each plane of the volume. A step where a slice begins is a seam.",
                "plane",
                "mean intensity",
                {}};
    PENSTOCK_ASSIGN_IN(Line line, profile(volume, "volume"), volume_path());
    chart.lines.push_back(std::move(line));
    page_.chart(chart);
    return {};
  }

  /// The mean of each plane.
  [[nodiscard]] Result<Line> profile(const Volume& volume, std::string name) const {
    const std::size_t axes[] = {1, 2};
    PENSTOCK_ASSIGN(const Tensor made, reduce_array(volume.array, "mean", axes, call_.device, call_.options));
    PENSTOCK_ASSIGN(const Tensor packed, made.contiguous());
    std::vector<float> values(volume.shape[0]);
    std::memcpy(values.data(), packed.view().data, values.size() * sizeof(float));
    Line line{std::move(name), {}, {}};
    for (std::size_t z = 0; z < values.size(); ++z) {
      line.x.push_back(static_cast<double>(z));
      line.y.push_back(values[z]);
    }
    return line;
  }

  /// Projections of stitched slices, and how visible the edges of their tiles are.
  Status show_slices() {
    if (stitched_.empty()) return {};
    page_.heading("Slices and seams");
    page_.text(
        "Average intensity projections (AIP) of the stitched slices. Seam contrast: how far they jump across the edges "
        "of "
        "tiles over how far they do between them; about 1 where no seam shows.");
    std::vector<std::vector<std::string>> rows = {{"slice", "rows", "columns", "mean intensity", "seam contrast"}};
    page_.begin_row();
    for (const auto& [id, path] : stitched_) {
      PENSTOCK_TRY(call_.options.stop().check("oct report"));
      PENSTOCK_ASSIGN(const Volume slice, open_volume(path, 3));
      PENSTOCK_ASSIGN_IN(std::vector<float> aip, average_projection(slice, call_.device, call_.options), path);
      const Image image{slice.shape[1], slice.shape[2], std::move(aip)};
      double sum = 0;
      for (const float v : image.values) sum += v;
      PENSTOCK_ASSIGN(const auto contrast, seams_of(id, image));
      rows.push_back({std::to_string(id), std::to_string(image.rows), std::to_string(image.cols),
                      in_short(sum / static_cast<double>(std::max<std::size_t>(image.values.size(), 1))),
                      contrast ? in_short(*contrast, 3) : "not known"});
      PENSTOCK_TRY(page_.picture({image.rows, image.cols, image.values, fmt::format("AIP of slice {}", id)},
                                 fmt::format("slice {}", id), kSmall));
    }
    page_.end_row();
    page_.table(rows);
    return {};
  }

  [[nodiscard]] Result<std::optional<double>> seams_of(std::uint64_t id, const Image& image) const {
    const std::string matrix = slice_path("mosaic_grid", id, "transform.npy");
    const std::string projection = slice_path("mosaic_grid", id, "aip.ome.zarr");
    PENSTOCK_ASSIGN(const bool placed, small_exists(matrix));
    PENSTOCK_ASSIGN(const bool gridded, small_exists(projection + "/zarr.json"));
    if (!placed || !gridded) return std::optional<double>();
    PENSTOCK_ASSIGN(const TileTransform transform, read_transform(matrix));
    PENSTOCK_ASSIGN(const Volume mosaic, open_volume(projection, 2));
    PENSTOCK_ASSIGN(const TileGrid grid, tile_grid(mosaic, projection));
    PENSTOCK_ASSIGN_IN(const TileLayout layout,
                       layout_of(transform, grid.rows, grid.cols, grid.tile_rows, grid.tile_cols), matrix);
    return seam_contrast(image, layout, grid.tile_rows, grid.tile_cols);
  }

  /// Intensity by depth, and where tissue was found to begin.
  Status show_interface() {
    if (stitched_.empty()) return {};
    page_.heading("Interface");
    Chart profiles{"Mean intensity by depth of each stitched slice.", "plane", "mean intensity", {}};
    Chart found{"Depth at which each slice was cut off.", "slice", "interface (planes)", {{"interface", {}, {}}}, true};
    for (const auto& [id, path] : stitched_) {
      PENSTOCK_ASSIGN(const Volume slice, open_volume(path, 3));
      PENSTOCK_ASSIGN_IN(Line line, profile(slice, fmt::format("slice {}", id)), path);
      profiles.lines.push_back(std::move(line));
      PENSTOCK_ASSIGN(const auto depth,
                      measured(slice_path("slice", id, "crop_crop_below_interface_metrics.json"), "interface_depth"));
      if (!depth || !depth->is_number()) continue;
      found.lines[0].x.push_back(static_cast<double>(id));
      found.lines[0].y.push_back(depth->get<double>());
    }
    page_.begin_row();
    page_.chart(profiles);
    page_.chart(found);
    page_.end_row();
    return {};
  }

  /// Planes that neighbours share, by the slicing interval and by what they show.
  Status show_overlaps() {
    if (placed_.size() < 2) return {};
    page_.heading("Overlaps");
    if (!interval_mm_) {
      page_.text("The distance of slices is not known: --slicing-interval-mm says it.");
      return {};
    }
    std::vector<std::vector<std::string>> rows = {{"slices", "expected", "found", "score"}};
    for (auto next = std::next(placed_.begin()); next != placed_.end(); ++next) {
      const auto before = std::prev(next);
      PENSTOCK_ASSIGN(const Volume fixed, open_volume(before->second, 3));
      PENSTOCK_ASSIGN(const Volume moving, open_volume(next->second, 3));
      const double apart =
          std::nearbyint(*interval_mm_ / fixed.spacing_mm[0]) * static_cast<double>(next->first - before->first);
      const double expected = static_cast<double>(fixed.shape[0]) - apart;
      const auto most = static_cast<double>(std::min(fixed.shape[0], moving.shape[0]));
      const double low = std::max(1.0, expected - static_cast<double>(kAround)),
                   high = std::min(most, expected + static_cast<double>(kAround));
      std::vector<std::string> row = {fmt::format("{} and {}", before->first, next->first), in_short(expected), "none",
                                      ""};
      if (low < high) {
        PENSTOCK_ASSIGN(const ZOverlap found,
                        best_z_overlap(fixed, moving, before->second, next->second, static_cast<std::uint64_t>(low),
                                       static_cast<std::uint64_t>(high), call_.device, call_.options));
        row[2] = std::to_string(found.planes), row[3] = in_short(found.score, 3);
      }
      rows.push_back(std::move(row));
    }
    page_.text("Planes that neighbours share: by the slicing interval, and where they look most alike.");
    page_.table(rows);
    return {};
  }

  /// Where slices lie, and how bright they are.
  Status show_drift() {
    if (placed_.empty()) return {};
    page_.heading("Drift");
    Chart place{
        "Place of each slice in the common image.", "slice", "pixels", {{"row", {}, {}}, {"column", {}, {}}}, true};
    const std::string json = out_ + "/common_space_metrics.json";
    for (Line& line : place.lines) {
      PENSTOCK_ASSIGN(const auto list, measured(json, line.name));
      if (!list || !list->is_object()) continue;
      for (const auto& [id, value] : list->items()) {
        if (!value.is_number() || id.find_first_not_of("0123456789") != std::string::npos || id.size() > 9) continue;
        line.x.push_back(std::stod(id));
        line.y.push_back(value.get<double>());
      }
    }
    Chart bright{
        "Mean intensity of each slice below its interface.", "slice", "mean intensity", {{"mean", {}, {}}}, true};
    for (const auto& [id, path] : placed_) {
      PENSTOCK_ASSIGN(const Volume slice, open_volume(path, 3));
      PENSTOCK_ASSIGN_IN(const Tensor mean, reduce_array(slice.array, "mean", {}, call_.device, call_.options), path);
      float value = 0;
      std::memcpy(&value, mean.view().data, sizeof(value));
      bright.lines[0].x.push_back(static_cast<double>(id));
      bright.lines[0].y.push_back(value);
    }
    page_.begin_row();
    page_.chart(place);
    page_.chart(bright);
    page_.end_row();
    return {};
  }

  /// Of all metrics in the folder.
  Status show_warnings() {
    page_.heading("Warnings");
    PENSTOCK_ASSIGN(const std::shared_ptr<Store> store, open_store(out_, StoreMode::read));
    PENSTOCK_ASSIGN_IN(const std::vector<StoreEntry> entries, store->list_dir(""), out_);
    std::vector<std::vector<std::string>> rows = {{"file", "warning"}};
    for (const StoreEntry& entry : entries) {
      if (entry.is_prefix || !entry.name.ends_with("_metrics.json")) continue;
      // reconstruct repeats those of its steps.
      if (entry.name == "reconstruct_metrics.json" || entry.name == "score_metrics.json") continue;
      PENSTOCK_ASSIGN(const Bytes bytes, read_small(out_ + "/" + entry.name));
      PENSTOCK_ASSIGN_IN(const Json all, parse_json(as_text(bytes)), out_ + "/" + entry.name);
      const auto list = all.find("warnings");
      if (list == all.end() || !list->is_array()) continue;
      for (const Json& one : *list)
        if (one.is_string()) rows.push_back({entry.name, one.get<std::string>()});
    }
    if (rows.size() > 1)
      page_.table(rows);
    else
      page_.text("None.");
    return {};
  }

  const StepCall& call_;
  std::string out_;
  Page page_;
  Slices stitched_, placed_;
  std::optional<double> interval_mm_;
};

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  const std::string path = call.given("output") ? call.text("output") : call.path(0) + "/report.html";
  PENSTOCK_ASSIGN(const bool there, small_exists(path));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, path + ": already exists").set_hint("--force replaces it.");
  Report report(call);
  PENSTOCK_TRY(report.make());
  const std::string html = report.html();
  PENSTOCK_TRY(write_small(path, as_bytes(html)));
  done.metrics.add("slices", report.slice_count(), "slices", "slices on the page");
  done.metrics.add("bytes", html.size(), "bytes", "size of the page");
  done.text = fmt::format("{}: {} slices, {} KiB\n", path, report.slice_count(), html.size() / 1024);
  return done;
}

}  // namespace

Step report_step() {
  Step step;
  step.what.name = "report";
  step.what.summary = "a page about a reconstruction, to look at";
  step.what.about =
      "One HTML page that needs nothing besides itself: the volume, projections of the slices and how visible their "
      "seams are, the interface, overlaps of neighbours, drift of place and brightness, and every warning of the "
      "steps. "
      "What a run has not made yet is left out.";
  step.what.arguments = {{"OUT", "folder of a reconstruction", false}};
  OctOption output = path_option("output", "the page to write; default OUT/report.html");
  output.required = false;
  step.what.options = {
      std::move(output),
      number_option("slicing_interval_mm", "", "distance of neighbouring slices; default: what reconstruct was told"),
  };
  step.what.example = "out -o report.html";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
