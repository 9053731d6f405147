#include "oct/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oct/align/z_overlap.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/mosaic/aip.hpp"
#include "oct/report/page.hpp"
#include "oct/report/run_folder.hpp"
#include "oct/report/seams.hpp"
#include "oct/score/measure.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kLarge = 480, kSmall = 230;  // pixels of a picture, alone and beside others
constexpr std::uint64_t kWideness = 3;               // of a slice's section, over its planes
constexpr std::uint64_t kAround = 6;                 // planes about the expected overlap that are tried

// What a reader should look at is beyond these. 28 slices of clean subjects stay below 1.6; a tile among nine that is a
// quarter too bright gives 3.3 and 2.1.
constexpr double kMostContrast = 2, kMostWorst = 2;
constexpr double kMostStep = 3;    // %, the mark that `oct score` has for seams of the volume
constexpr double kMostPlanes = 1;  // the mark that it has for overlaps

constexpr const char* kVolume = "Volume";
constexpr const char* kSlices = "Slices and seams";
constexpr const char* kOverlaps = "Overlaps";

std::string in_short(double v, int digits = 4) { return fmt::format("{:.{}g}", v, digits); }
std::string in_mm(double v) { return fmt::format("{:.6g}", v); }

/// Everything about one folder of results.
class Report {
 public:
  Report(const StepCall& call, const RunFolder& run)
      : call_(call), run_(run), page_("Reconstruction of " + run.path()) {}

  Status make() {
    find_interval();
    if (run_.has_volume()) PENSTOCK_TRY(show_volume());
    PENSTOCK_TRY(show_slices());
    PENSTOCK_TRY(show_interface());
    PENSTOCK_TRY(show_overlaps());
    PENSTOCK_TRY(show_drift());
    PENSTOCK_TRY(show_warnings());
    show_settings();
    page_.summary(checks_, warnings_);
    return {};
  }
  [[nodiscard]] std::string html() const { return page_.html(); }
  [[nodiscard]] const std::vector<Check>& checks() const { return checks_; }

 private:
  /// Notes a value with its limit; what is said of it in a table.
  std::string checked(Check check) {
    checks_.push_back(std::move(check));
    return verdict(checks_.back().good());
  }
  [[nodiscard]] Status go_on() const { return call_.options.stop().check("oct report"); }

  void find_interval() {
    if (const auto it = run_.settings().find("slicing_interval_mm"); it != run_.settings().end() && it->is_number())
      interval_mm_ = it->get<double>();
    if (call_.given("slicing_interval_mm")) interval_mm_ = call_.number("slicing_interval_mm");
  }

  void show_settings() {
    std::vector<std::vector<std::string>> rows = {{"setting", "value"}};
    for (const auto& [name, value] : run_.settings().items())
      if (!value.is_object())  // places of slices are under "Drift"
        rows.push_back({name, value.is_string() ? value.get<std::string>() : dump_json(value)});
    if (rows.size() == 1) return;
    page_.heading("Settings");
    page_.table(rows);
  }

  /// Planes from slice `from` to slice `to`, as `oct stack` lays them; nullopt: the distance of slices is not known.
  [[nodiscard]] std::optional<double> planes_apart(std::uint64_t from, std::uint64_t to, double spacing_mm) const {
    if (!interval_mm_) return std::nullopt;
    return std::nearbyint(*interval_mm_ / spacing_mm) * static_cast<double>(to - from);
  }

  /// The mean over depth, the section through the middle row, and the mean of each plane.
  Status show_volume() {
    PENSTOCK_ASSIGN(const Volume volume, open_volume(run_.volume_path(), 3));
    const std::vector<double>& mm = volume.spacing_mm;
    page_.heading(kVolume);
    page_.text(fmt::format("{} x {} x {} voxels (depth, rows, columns) of {} x {} x {} mm.", volume.shape[0],
                           volume.shape[1], volume.shape[2], mm[0], mm[1], mm[2]));
    PENSTOCK_ASSIGN_IN(std::vector<float> aip, average_projection(volume, call_.device, call_.options),
                       run_.volume_path());
    const Picture whole = {volume.shape[1],    volume.shape[2], std::move(aip), "mean over depth of the volume",
                           "Mean over depth.", mm[1],           mm[2]};
    PENSTOCK_ASSIGN(Picture section, middle_section(volume, run_.volume_path()));
    section.alt = "section along depth",
    section.caption = "Section along depth through the middle row, the first plane at the top.";
    const Picture both[] = {shrunk(whole, kLarge), std::move(section)};
    PENSTOCK_TRY(page_.pictures(both, kLarge));
    Chart chart{"Mean intensity of each plane of the volume. A dashed line is where the slice of that number begins.",
                "depth (mm)",
                "mean intensity",
                {}};
    chart.wide = true;
    PENSTOCK_ASSIGN_IN(Line line, profile(volume, "volume"), run_.volume_path());
    chart.lines.push_back(std::move(line));
    std::vector<std::vector<std::string>> rows = {
        {"slice", "begins at (mm)", "step where it begins (%)", "", "step where it ends (%)", ""}};
    PENSTOCK_TRY(show_starts(volume, chart, rows));
    page_.chart(chart);
    if (rows.size() == 1) return {};
    page_.text(
        fmt::format("How much brighter the volume grows from one plane to the next where a slice begins and where it "
                    "ends; good: at most {} % either way. Where no other slice lies there is no step.",
                    kMostStep));
    page_.table(rows);
    return {};
  }

  /// A line in the chart and a row for each slice.
  Status show_starts(const Volume& volume, Chart& chart, std::vector<std::vector<std::string>>& rows) {
    for (const auto& [id, path] : run_.placed()) {
      PENSTOCK_TRY(go_on());
      const auto begin = planes_apart(run_.placed().begin()->first, id, volume.spacing_mm[0]);
      if (!begin || !(*begin < static_cast<double>(volume.shape[0]))) continue;
      PENSTOCK_ASSIGN(const Volume slice, open_volume(path, 3));
      chart.marks.push_back({*begin * volume.spacing_mm[0], std::to_string(id)});
      std::vector<std::string> row = {std::to_string(id), in_mm(*begin * volume.spacing_mm[0])};
      for (const double at : {*begin, *begin + static_cast<double>(slice.shape[0])}) {
        std::optional<double> step;
        if (at >= 1 && at < static_cast<double>(volume.shape[0])) {
          PENSTOCK_ASSIGN_IN(step, plane_step(volume, static_cast<std::uint64_t>(at), on_host(call_.options)),
                             run_.volume_path());
        }
        row.push_back(step ? fmt::format("{:.1f}", 100 * *step) : "");
        row.push_back(
            !step ? ""
                  : checked({fmt::format("slice {}", id),
                             at == *begin ? "step of the volume where it begins" : "step of the volume where it ends",
                             100 * std::abs(*step), kMostStep, "%", kVolume}));
      }
      rows.push_back(std::move(row));
    }
    return {};
  }

  /// Of the middle row, the `most_cols` columns in its middle.
  [[nodiscard]] Result<Picture> middle_section(const Volume& volume, const std::string& path,
                                               std::uint64_t most_cols = ~std::uint64_t{0}) const {
    const std::uint64_t cols = std::min(most_cols, volume.shape[2]);
    const Region middle = {
        {0, volume.shape[0], 1}, {volume.shape[1] / 2, 1, 1}, {(volume.shape[2] - cols) / 2, cols, 1}};
    PENSTOCK_ASSIGN_IN(Block section, read_block(volume.array, middle, on_host(call_.options)), path);
    return Picture{volume.shape[0],      volume.shape[2],     std::move(section.values), "", "",
                   volume.spacing_mm[0], volume.spacing_mm[2]};
  }

  /// The mean of each plane, over its depth in mm.
  [[nodiscard]] Result<Line> profile(const Volume& volume, std::string name) const {
    const std::size_t axes[] = {1, 2};
    PENSTOCK_ASSIGN(const Tensor made, reduce_array(volume.array, "mean", axes, call_.device, call_.options));
    PENSTOCK_ASSIGN(const Tensor packed, made.contiguous());
    std::vector<float> values(volume.shape[0]);
    std::memcpy(values.data(), packed.view().data, values.size() * sizeof(float));
    Line line{std::move(name), {}, {}};
    for (std::size_t z = 0; z < values.size(); ++z) {
      line.x.push_back(static_cast<double>(z) * volume.spacing_mm[0]);
      line.y.push_back(values[z]);
    }
    return line;
  }

  /// Projections of stitched slices, and how visible the edges of their tiles are.
  Status show_slices() {
    if (run_.stitched().empty()) return {};
    page_.heading(kSlices);
    page_.text(
        fmt::format("Average intensity projections (AIP) of the stitched slices. Seams: how far they jump across the "
                    "edges of tiles over how far they do between them, the mean of all edges (good: at most {}), and "
                    "the worst edge over the worst place between edges (good: at most {}), which is drawn where it is "
                    "bad.",
                    kMostContrast, kMostWorst));
    std::vector<std::vector<std::string>> rows = {
        {"slice", "rows", "columns", "mean intensity", "seams, mean", "", "seams, worst", ""}};
    std::vector<Picture> pictures;
    for (const auto& [id, path] : run_.stitched()) {
      PENSTOCK_TRY(go_on());
      PENSTOCK_ASSIGN(const Volume slice, open_volume(path, 3));
      PENSTOCK_ASSIGN_IN(std::vector<float> aip, average_projection(slice, call_.device, call_.options), path);
      Image image{slice.shape[1], slice.shape[2], std::move(aip)};
      double sum = 0;
      for (const float v : image.values) sum += v;
      rows.push_back({std::to_string(id), std::to_string(image.rows), std::to_string(image.cols),
                      in_short(sum / static_cast<double>(std::max<std::size_t>(image.values.size(), 1)))});
      PENSTOCK_ASSIGN(const std::vector<PictureMark> marks, judge_seams(id, image, rows.back()));
      pictures.push_back(shrunk({image.rows, image.cols, std::move(image.values), fmt::format("AIP of slice {}", id),
                                 fmt::format("slice {}", id), slice.spacing_mm[1], slice.spacing_mm[2], marks},
                                kSmall));
    }
    PENSTOCK_TRY(page_.alike_pictures(pictures, kSmall));
    page_.table(rows);
    return {};
  }

  /// Fills the row of a slice; the edge that is to be drawn.
  Result<std::vector<PictureMark>> judge_seams(std::uint64_t id, const Image& image, std::vector<std::string>& row) {
    PENSTOCK_ASSIGN(const auto tiles, run_.tiles_of(id));
    const auto seams =
        tiles ? find_seams(image, tiles->layout, tiles->tile_rows, tiles->tile_cols) : std::optional<Seams>();
    if (!seams) {
      for (const char* text : {"not known", "", "not known", ""}) row.emplace_back(text);
      return std::vector<PictureMark>();
    }
    const std::string where = fmt::format("slice {}", id);
    row.push_back(in_short(seams->contrast, 3));
    row.push_back(checked({where, "mean of its seams", seams->contrast, kMostContrast, "", kSlices}));
    row.push_back(in_short(seams->worst, 3));
    row.push_back(checked({where, "worst seam", seams->worst, kMostWorst, "", kSlices}));
    if (checks_.back().good()) return std::vector<PictureMark>();
    const auto at = static_cast<double>(seams->at.at), first = static_cast<double>(seams->at.first),
               last = static_cast<double>(seams->at.last);
    return std::vector<PictureMark>{seams->at.down ? PictureMark{at, first, at, last, "worst seam"}
                                                   : PictureMark{first, at, last, at, "worst seam"}};
  }

  /// Intensity by depth, and where tissue was found to begin.
  Status show_interface() {
    if (run_.stitched().empty()) return {};
    page_.heading("Interface");
    page_.text(
        "Sections of the stitched slices through the middle of their middle rows, the first plane at the top; what "
        "lies between the lines was kept.");
    Chart profiles{"Mean intensity by depth of each stitched slice.", "depth (mm)", "mean intensity", {}};
    Chart found{"Depth at which each slice was cut off.", "slice", "interface (mm)", {{"interface", {}, {}}}, true};
    std::vector<Picture> pictures;
    for (const auto& [id, path] : run_.stitched()) {
      PENSTOCK_TRY(go_on());
      PENSTOCK_ASSIGN(const Volume slice, open_volume(path, 3));
      PENSTOCK_ASSIGN_IN(Line line, profile(slice, fmt::format("slice {}", id)), path);
      profiles.lines.push_back(std::move(line));
      PENSTOCK_ASSIGN(Picture section, middle_section(slice, path, kWideness * slice.shape[0]));
      section.alt = fmt::format("section of slice {}", id), section.caption = fmt::format("slice {}", id);
      PENSTOCK_ASSIGN(const auto depth, run_.crop_number(id, "interface_depth"));
      PENSTOCK_ASSIGN(const auto plane, run_.crop_number(id, "interface_plane"));
      PENSTOCK_ASSIGN(const auto planes, run_.crop_number(id, "planes"));
      if (depth && plane && planes) {
        const auto width = static_cast<double>(section.cols), height = static_cast<double>(section.rows);
        const double begin = std::clamp(*plane, 0.0, height), end = std::clamp(*plane + *planes, 0.0, height);
        section.marks = {{begin, 0, begin, width, {}}, {end, 0, end, width, {}}};
        section.caption += fmt::format(", cut at {} mm", in_mm(*plane * slice.spacing_mm[0]));
        found.lines[0].x.push_back(static_cast<double>(id));
        found.lines[0].y.push_back(*depth * slice.spacing_mm[0]);
      }
      pictures.push_back(shrunk(section, kSmall));
    }
    PENSTOCK_TRY(page_.alike_pictures(pictures, kSmall));
    page_.begin_row();
    page_.chart(profiles);
    page_.chart(found);
    page_.end_row();
    return {};
  }

  /// Planes that neighbours share, by the slicing interval and by what they show.
  Status show_overlaps() {
    if (run_.placed().size() < 2) return {};
    page_.heading(kOverlaps);
    if (!interval_mm_) {
      page_.text("The distance of slices is not known: --slicing-interval-mm says it.");
      return {};
    }
    std::vector<std::vector<std::string>> rows = {
        {"slices", "expected (planes)", "(mm)", "found (planes)", "(mm)", "likeness", ""}};
    for (auto next = std::next(run_.placed().begin()); next != run_.placed().end(); ++next) {
      PENSTOCK_TRY(go_on());
      PENSTOCK_ASSIGN(std::vector<std::string> row, overlap_row(*std::prev(next), *next));
      rows.push_back(std::move(row));
    }
    page_.text(fmt::format(
        "What neighbours share: by the slicing interval, and where they look most alike; good: at most {} plane "
        "apart.",
        kMostPlanes));
    page_.table(rows);
    return {};
  }

  Result<std::vector<std::string>> overlap_row(const Slices::value_type& before, const Slices::value_type& after) {
    PENSTOCK_ASSIGN(const Volume fixed, open_volume(before.second, 3));
    PENSTOCK_ASSIGN(const Volume moving, open_volume(after.second, 3));
    const double mm = fixed.spacing_mm[0];
    const double expected = static_cast<double>(fixed.shape[0]) - *planes_apart(before.first, after.first, mm);
    const auto most = static_cast<double>(std::min(fixed.shape[0], moving.shape[0]));
    const double low = std::max(1.0, expected - static_cast<double>(kAround)),
                 high = std::min(most, expected + static_cast<double>(kAround));
    const std::string who = fmt::format("{} and {}", before.first, after.first);
    if (!(low < high))
      return std::vector<std::string>{who, in_short(expected), in_mm(expected * mm), "none", "", "", ""};
    PENSTOCK_ASSIGN(const ZOverlap found,
                    best_z_overlap(fixed, moving, before.second, after.second, static_cast<std::uint64_t>(low),
                                   static_cast<std::uint64_t>(high), call_.device, call_.options));
    const double apart = std::abs(static_cast<double>(found.planes) - expected);
    return std::vector<std::string>{who,
                                    in_short(expected),
                                    in_mm(expected * mm),
                                    std::to_string(found.planes),
                                    in_mm(static_cast<double>(found.planes) * mm),
                                    in_short(found.score, 3),
                                    checked({"slices " + who, "overlap from where the slicing interval has it", apart,
                                             kMostPlanes, "planes", kOverlaps})};
  }

  /// Where slices lie, and how bright they are.
  Status show_drift() {
    if (run_.placed().empty()) return {};
    page_.heading("Drift");
    Chart place{
        "Place of each slice in the common image.", "slice", "place (mm)", {{"row", {}, {}}, {"column", {}, {}}}, true};
    Chart bright{
        "Mean intensity of each slice below its interface.", "slice", "mean intensity", {{"mean", {}, {}}}, true};
    PENSTOCK_ASSIGN(const auto placed_rows, run_.common_numbers("row"));
    PENSTOCK_ASSIGN(const auto placed_cols, run_.common_numbers("column"));
    for (const auto& [id, path] : run_.placed()) {
      PENSTOCK_TRY(go_on());
      PENSTOCK_ASSIGN(const Volume slice, open_volume(path, 3));
      const auto add = [&](Line& line, const std::map<std::uint64_t, double>& pixels, double mm) {
        const auto at = pixels.find(id);
        if (at != pixels.end()) line.x.push_back(static_cast<double>(id)), line.y.push_back(at->second * mm);
      };
      add(place.lines[0], placed_rows, slice.spacing_mm[1]);
      add(place.lines[1], placed_cols, slice.spacing_mm[2]);
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
    PENSTOCK_ASSIGN(const std::vector<StepWarning> found, run_.warnings());
    warnings_ = found.size();
    std::vector<std::vector<std::string>> rows = {{"file", "warning"}};
    for (const StepWarning& one : found) rows.push_back({one.file, one.text});
    if (found.empty())
      page_.text("None.");
    else
      page_.table(rows);
    return {};
  }

  const StepCall& call_;
  const RunFolder& run_;
  Page page_;
  std::optional<double> interval_mm_;
  std::vector<Check> checks_;
  std::size_t warnings_ = 0;
};

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  const std::string path = call.given("output") ? call.text("output") : call.path(0) + "/report.html";
  PENSTOCK_ASSIGN(const bool there, small_exists(path));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, path + ": already exists").set_hint("--force replaces it.");
  PENSTOCK_ASSIGN(const RunFolder folder, RunFolder::open(call.path(0)));
  Report report(call, folder);
  PENSTOCK_TRY(report.make());
  const std::string html = report.html();
  PENSTOCK_TRY(write_small(path, as_bytes(html)));
  const std::size_t slices = std::max(folder.stitched().size(), folder.placed().size());
  const auto bad = std::ranges::count_if(report.checks(), [](const Check& check) { return !check.good(); });
  done.metrics.add("slices", slices, "slices", "slices on the page");
  done.metrics.add("bytes", html.size(), "bytes", "size of the page");
  done.metrics.add("checks", report.checks().size(), "values", "values that have a limit");
  done.metrics.add("bad", bad, "values", "values that pass it");
  done.text = fmt::format("{}: {} slices, {} KiB\n", path, slices, html.size() / 1024);
  for (const Check& check : report.checks())
    if (!check.good()) done.text += "bad: " + to_text(check) + "\n";
  return done;
}

}  // namespace

Step report_step() {
  Step step;
  step.what.name = "report";
  step.what.summary = "a page about a reconstruction, to look at";
  step.what.about =
      "One HTML page that needs nothing besides itself: what needs a look, the volume, projections of the slices and "
      "how visible their seams are, the interface, overlaps of neighbours, drift of place and brightness, and every "
      "warning of the steps. What a run has not made yet is left out.";
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
