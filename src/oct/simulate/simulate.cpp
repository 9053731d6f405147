#include "oct/simulate/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.hpp"
#include "oct/file/names.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/shifts.hpp"
#include "oct/file/small_file.hpp"
#include "oct/file/volume.hpp"
#include "oct/simulate/amounts.hpp"
#include "oct/simulate/subject.hpp"
#include "oct/simulate/traps.hpp"

namespace penstock::oct {
namespace {

constexpr double kWayBack = 0.55;  // brightness of the galvo's way back

/// As the microscope writes it: z fastest, then A-lines with the way back among them, then B-scans; both backwards.
std::vector<float> raw_samples(const Subject& s, std::uint64_t slice, const std::vector<float>& tile) {
  const std::uint64_t n = s.size.tile, lines = n + s.size.n_extra, depth = s.slices[slice].planes;
  std::vector<float> raw(depth * lines * n);
  for (std::uint64_t y = 0; y < n; ++y)
    for (std::uint64_t x = 0; x < lines; ++x) {
      // The way back runs through the sweep from its end to its beginning, faster and darker.
      const bool back = x >= n;
      const std::uint64_t from = back ? (lines - 1 - x) * (n - 1) / std::max<std::uint64_t>(s.size.n_extra - 1, 1) : x;
      const std::uint64_t line = (x + lines - s.slices[slice].galvo_shift) % lines;  // rolled back by the shift
      for (std::uint64_t z = 0; z < depth; ++z) {
        const float v = tile[(z * n + (n - 1 - y)) * n + (n - 1 - from)];
        raw[(y * lines + line) * depth + z] = back ? static_cast<float>(kWayBack) * v : v;
      }
    }
  return raw;
}

std::string info_text(const Subject& s, std::uint64_t slice, std::uint64_t i, std::uint64_t j) {
  const double um = kResolutionMm * 1000 * static_cast<double>(s.size.tile);
  return fmt::format(
      "nx: {0}\nny: {0}\nn_repeat: 1\nwidth: {1}\nheight: {1}\nn_extra: {2}\ntop_z: 1\nbottom_z: {3}\n"
      "stage_x_pos_mm: {4}\nstage_y_pos_mm: {5}\n",
      s.size.tile, um, s.size.n_extra, s.slices[slice].planes, s.tiles.row(i, j) * kResolutionMm,
      s.tiles.col(i, j) * kResolutionMm);
}

Status write_tile(const Subject& s, const std::string& raw_folder, std::uint64_t slice, std::uint64_t i,
                  std::uint64_t j, const std::vector<float>& tile) {
  const std::string folder = fmt::format("{}/z{:02}/tile_x{:02}_y{:02}_z{:02}", raw_folder, slice, i, j, slice);
  const std::vector<float> raw = raw_samples(s, slice, tile);
  const std::size_t half = s.size.tile / 2 * (s.size.tile + s.size.n_extra) * s.slices[slice].planes;
  PENSTOCK_TRY(write_small(folder + "/info.txt", as_bytes(info_text(s, slice, i, j))));
  PENSTOCK_TRY(write_small(folder + "/image_00000.bin", std::as_bytes(std::span(raw).first(half))));
  return write_small(folder + "/image_00001.bin", std::as_bytes(std::span(raw).subspan(half)));
}

/// What a thread holds that makes a tile: as the mosaic has it, as the microscope writes it, and encoded.
std::uint64_t bytes_of_thread(const Subject& s) { return 16 * s.size.tile * s.size.tile * s.size.planes; }

/// Raw tiles of a slice, and its mosaic as it must come out.
Status write_slice(const StepCall& call, const Subject& s, std::uint64_t slice) {
  const std::uint64_t n = s.size.tile;
  VolumeSpec spec;
  const std::uint64_t planes = s.slices[slice].planes;
  spec.shape = {planes, s.size.rows * n, s.size.cols * n};
  spec.chunks = {planes, n, n};
  spec.spacing_mm = {kResolutionMm, kResolutionMm, kResolutionMm};
  const std::string path = fmt::format("{}/truth/{}{}", call.path(0), slice_name("mosaic_grid", slice), kVolumeEnding);
  PENSTOCK_ASSIGN(NewVolume mosaic, NewVolume::create(path, spec, true));
  const auto make_one = [&](const Region& region, const Options& inner) -> Status {
    const std::uint64_t i = region[1].start / n, j = region[2].start / n;
    if (!s.has_tile(slice, i, j)) return {};
    const std::vector<float> tile = s.make_tile(slice, i, j);
    PENSTOCK_TRY(write_block(mosaic.array(), region, tile, inner));
    return write_tile(s, call.path(0) + "/raw", slice, i, j, tile);
  };
  PENSTOCK_TRY(
      for_each_object(spec.shape, mosaic.objects(), bytes_of_thread(s), "oct simulate", call.options, make_one));
  return mosaic.finish({}, call.options);
}

/// A slice as it would be stitched without speckle, illumination and the curve of the focus.
Status write_clean_slice(const StepCall& call, const Subject& s, std::uint64_t slice) {
  VolumeSpec spec;
  spec.shape = {s.slices[slice].planes, static_cast<std::uint64_t>(std::ceil(s.extent_rows())),
                static_cast<std::uint64_t>(std::ceil(s.extent_cols()))};
  spec.chunks = {100, 100, 100};
  spec.spacing_mm = {kResolutionMm, kResolutionMm, kResolutionMm};
  const std::string path = fmt::format("{}/truth/{}{}", call.path(0), slice_name("slice", slice), kVolumeEnding);
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(path, spec, true));
  PENSTOCK_TRY(for_each_object(spec.shape, out.objects(), 8 * 1000000, "oct simulate", call.options,
                               [&](const Region& box, const Options& inner) -> Status {
                                 std::vector<float> values(box[0].count * box[1].count * box[2].count);
                                 const std::uint64_t pixels = box[1].count * box[2].count;
                                 for (std::uint64_t i = 0; i < pixels; ++i) {
                                   const auto row = static_cast<double>(box[1].start + i / box[2].count),
                                              col = static_cast<double>(box[2].start + i % box[2].count);
                                   const double top = s.cut(slice, row, col);
                                   for (std::uint64_t z = 0; z < box[0].count; ++z)
                                     values[z * pixels + i] =
                                         static_cast<float>(s.light(slice, box[0].start + z, top, row, col));
                                 }
                                 return write_block(out.array(), box, values, inner);
                               }));
  return out.finish({}, call.options);
}

/// The whole world without microscope, on the image that the slices share.
Status write_volume(const StepCall& call, const Subject& s) {
  const SharedImage image = shared_image(s, s.extent_rows(), s.extent_cols());
  VolumeSpec spec;
  spec.shape = {s.size.interval * (s.size.slices - 1) + s.size.planes, image.rows, image.cols};
  spec.chunks = {100, 100, 100};
  spec.spacing_mm = {kResolutionMm, kResolutionMm, kResolutionMm};
  spec.offset_mm = {0, (image.row - s.slices[0].row) * kResolutionMm, (image.col - s.slices[0].col) * kResolutionMm};
  PENSTOCK_ASSIGN(NewVolume out, NewVolume::create(call.path(0) + "/truth/3d_volume.ome.zarr", spec, true));
  PENSTOCK_TRY(for_each_object(
      spec.shape, out.objects(), 8 * 1000000, "oct simulate", call.options,
      [&](const Region& box, const Options& inner) -> Status {
        std::vector<float> values;
        for (std::uint64_t z = 0; z < box[0].count; ++z)
          for (std::uint64_t r = 0; r < box[1].count; ++r)
            for (std::uint64_t c = 0; c < box[2].count; ++c)
              values.push_back(static_cast<float>(s.reflectivity(static_cast<double>(box[0].start + z),
                                                                 image.row + static_cast<double>(box[1].start + r),
                                                                 image.col + static_cast<double>(box[2].start + c))));
        return write_block(out.array(), box, values, inner);
      }));
  return out.finish({}, call.options);
}

Status write_shifts(const StepCall& call, const Subject& s) {
  std::vector<Shift> shifts;
  for (std::uint64_t k = 1; k < s.slices.size(); ++k)
    shifts.push_back({k - 1, k, (s.slices[k].col - s.slices[k - 1].col) * kResolutionMm,
                      (s.slices[k].row - s.slices[k - 1].row) * kResolutionMm});
  return write_small(call.path(0) + "/raw/shifts_xy.csv", as_bytes(shifts_text(shifts, kResolutionMm)));
}

/// The depth of the cut at each pixel of a slice, and of the focus at each of a tile.
Status write_depths(const StepCall& call, const Subject& s) {
  const auto rows = static_cast<std::uint64_t>(std::ceil(s.extent_rows())),
             cols = static_cast<std::uint64_t>(std::ceil(s.extent_cols()));
  for (std::uint64_t k = 0; k < s.slices.size(); ++k) {
    if (s.slices[k].missing) continue;
    std::vector<double> depths;
    for (std::uint64_t r = 0; r < rows; ++r)
      for (std::uint64_t c = 0; c < cols; ++c)
        depths.push_back(s.cut(k, static_cast<double>(r), static_cast<double>(c)));
    PENSTOCK_TRY(write_npy(fmt::format("{}/truth/{}_interface.npy", call.path(0), slice_name("slice", k)),
                           Shape{rows, cols}, depths));
  }
  std::vector<double> bowl;
  for (std::uint64_t r = 0; r < s.size.tile; ++r)
    for (std::uint64_t c = 0; c < s.size.tile; ++c)
      bowl.push_back(s.bowl(static_cast<double>(r), static_cast<double>(c)));
  return write_npy(call.path(0) + "/truth/focal.npy", Shape{s.size.tile, s.size.tile}, bowl);
}

Status write_config(const StepCall& call, const Subject& s) {
  std::string text = "slice_id,use,notes\n";
  for (std::uint64_t k = 0; k < s.slices.size(); ++k)
    text += fmt::format("{:02},{},{}\n", k, s.slices[k].missing ? "false" : "true",
                        s.slices[k].missing   ? "missing"
                        : s.slices[k].agarose ? "agarose only"
                                              : "");
  return write_small(call.path(0) + "/raw/slice_config.csv", as_bytes(text));
}

Status write_flat(const StepCall& call, const Subject& s) {
  std::vector<double> flat;
  for (std::uint64_t r = 0; r < s.size.tile; ++r)
    for (std::uint64_t c = 0; c < s.size.tile; ++c)
      flat.push_back(s.flat(static_cast<double>(r), static_cast<double>(c)));
  return write_npy(call.path(0) + "/truth/flatfield.npy", Shape{s.size.tile, s.size.tile}, flat);
}

std::string trap_help() {
  std::string help = "oddities, with commas between them: ";
  for (const Trap& trap : traps())
    help += fmt::format("{}{} ({})", &trap == traps().data() ? "" : "; ", trap.name, trap.what);
  return help;
}

/// What the subject is, and how much; for people and for programs.
Status tell(const StepCall& call, const Subject& s, StepDone& done) {
  PENSTOCK_ASSIGN(const SubjectAmounts amounts, amounts_of(s));
  const SubjectSize& size = s.size;
  done.text = fmt::format("{}: {} slices of {} x {} tiles of {} x {} pixels and {} planes, {} of raw tiles\n",
                          call.path(0), size.slices, size.rows, size.cols, size.tile, size.tile, size.planes,
                          format_bytes(amounts.raw_bytes));
  if (call.flag("dry_run"))
    done.text += fmt::format(
        "  truth beside them: {}\n  reconstructed: {} of mosaics and slices, a volume of {} x {} x {}, {}\n"
        "  (elements; what is stored is compressed)\n  memory: {} for each thread\n",
        format_bytes(amounts.truth_bytes), format_bytes(amounts.working_bytes), amounts.volume[0], amounts.volume[1],
        amounts.volume[2], format_bytes(amounts.volume_bytes), format_bytes(bytes_of_thread(s)));
  done.metrics.add("raw_bytes", amounts.raw_bytes, "bytes", "size of the raw tiles");
  done.metrics.add("truth_bytes", amounts.truth_bytes, "bytes", "elements of what is written beside them");
  done.metrics.add("working_bytes", amounts.working_bytes, "bytes",
                   "elements of the mosaics and slices that `reconstruct` makes of it, without a limit of depth");
  done.metrics.add("volume_bytes", amounts.volume_bytes, "bytes", "elements of its volume");
  done.metrics.note("volume_shape", Json(amounts.volume), "planes, rows and columns of its volume");
  done.metrics.add("thread_bytes", bytes_of_thread(s), "bytes", "memory of each thread that makes tiles");
  done.metrics.note("truth", s.truth(), "what is true of the subject");
  return {};
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  PENSTOCK_ASSIGN(Subject s, make_subject(*find_size(call.text("size")), call.count("seed"),
                                          call.given("traps") ? call.text("traps") : ""));
  s.missing_tiles = call.count("missing_tiles");
  PENSTOCK_TRY(tell(call, s, done));
  done.wrote = !call.flag("dry_run");
  if (!done.wrote) return done;
  const std::string truth = call.path(0) + "/truth.json";
  PENSTOCK_ASSIGN(const bool there, small_exists(truth));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, truth + ": already exists").set_hint("--force replaces the subject.");
  PENSTOCK_TRY(erase_small(truth));  // written last: without it, what stands here is of a run that was killed
  for (std::uint64_t k = 0; k < s.slices.size(); ++k) {
    if (s.slices[k].missing) continue;
    PENSTOCK_TRY(write_slice(call, s, k));
    PENSTOCK_TRY(write_clean_slice(call, s, k));
  }
  PENSTOCK_TRY(write_shifts(call, s));
  PENSTOCK_TRY(write_config(call, s));
  PENSTOCK_TRY(write_depths(call, s));
  PENSTOCK_TRY(write_flat(call, s));
  PENSTOCK_TRY(write_volume(call, s));
  PENSTOCK_TRY(write_small(truth, as_bytes(dump_json(s.truth(), 2) + "\n")));
  return done;
}

}  // namespace

Step simulate_step() {
  Step step;
  step.what.name = "simulate";
  step.what.summary = "a made subject with its truth, to try a reconstruction on";
  step.what.about =
      "SUBJECT gets raw/ (tiles and shifts_xy.csv), truth.json, and truth/ (the mosaics, the flat field, and the "
      "volume without microscope). Tissue in agarose, cut into slices; each slice lies askew and elsewhere, tiles lie "
      "on steps of their own with a jitter, and have a flat field, a curved focus, attenuation, speckle and the "
      "galvo's way back.";
  step.what.arguments = {{"SUBJECT", "folder for the subject", true}};
  step.what.options = {
      choice_option(
          "size", {"smoke", "small", "medium", "real"},
          "smoke: 4 slices of 3 x 3 tiles of 64 pixels; small: 5 x 5 of 128; medium: 8 x 8 of 256; real: 40 slices of "
          "20 x 15 of 400"),
      count_option("seed", "0", "another number gives another subject"),
      text_option("traps", "", trap_help()),
      count_option("missing_tiles", "0", "tiles of each slice that are not written, at most; corners always are"),
      flag_option("dry_run", "write nothing, say how much it would be, and a reconstruction of it"),
  };
  step.what.example = "subject --size smoke --seed 7";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
