#include "track.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "jobs.hpp"
#include "penstock/tracto.hpp"

namespace penstock::python {
namespace {

/// Runs what gives a summary as a job; the job wants a report.
template <class Work>
TrackSummary run_summary(const JobOptions& job, const std::string& where, const Work& work) {
  TrackSummary summary;
  static_cast<void>(unwrap(run_job(job,
                                   [&](const Options& o) -> Result<Report> {
                                     PENSTOCK_ASSIGN(summary, work(o));
                                     return summary.report;
                                   }),
                           where));
  return summary;
}

/// Runs what gives a value as a job.
template <class T, class Work>
T run_value(const JobOptions& job, const Work& work) {
  std::optional<T> value;
  static_cast<void>(unwrap(run_job(job,
                                   [&](const Options& o) -> Result<Report> {
                                     Result<T> made = work(o);
                                     if (!made) return std::move(made).error();
                                     value.emplace(*std::move(made));
                                     return Report();
                                   }),
                           ""));
  return *std::move(value);
}

/// A vector's numbers as an array that keeps it.
template <class T, std::size_t Columns, class Row>
nb::object as_array(std::vector<Row> rows) {
  auto owned = std::make_unique<std::vector<Row>>(std::move(rows));
  auto* const data = reinterpret_cast<T*>(owned->data());
  const std::size_t n = owned->size();
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<Row>*>(p); });
  static_cast<void>(owned.release());
  if constexpr (Columns == 1)
    return nb::cast(nb::ndarray<nb::numpy, T>(data, {n}, owner));
  else
    return nb::cast(nb::ndarray<nb::numpy, T>(data, {n, Columns}, owner));
}

nb::dict as_dict(TrackedStreamlines s) {
  nb::dict out;
  out["points"] = as_array<float, 3>(std::move(s.points));
  out["offsets"] = as_array<std::uint64_t, 1>(std::move(s.offsets));
  out["seeds"] = as_array<float, 3>(std::move(s.seed_points));
  out["seed_index"] = as_array<std::uint64_t, 1>(std::move(s.seed_numbers));
  out["length_mm"] = as_array<float, 1>(std::move(s.lengths_mm));
  out["reason"] = as_array<std::uint8_t, 2>(std::move(s.reasons));
  out["dims"] = s.dims;
  out["world_from_voxel"] = s.world_from_voxel.rows;
  return out;
}

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T, std::size_t Columns>
using Columned = nb::ndarray<const T, nb::shape<-1, Columns>, nb::c_contig, nb::device::cpu>;

template <class Row, class From>
std::vector<Row> rows_of(const From& from) {
  const auto* const first = reinterpret_cast<const Row*>(from.data());
  return std::vector<Row>(first, first + from.shape(0));
}

}  // namespace

void bind_track(nb::module_& m) {
  nb::class_<TrackOptions>(m, "TrackOptions")
      .def(nb::init<>())
      .def_rw("bval", &TrackOptions::bval)
      .def_rw("bvec", &TrackOptions::bvec)
      .def_prop_rw(
          "gradients", [](const TrackOptions& how) { return std::string(gradient_frame_name(how.gradients)); },
          [](TrackOptions& how, const std::string& name) {
            how.gradients = unwrap(parse_gradient_frame(name), "gradients");
          })
      .def_prop_rw(
          "sh_basis",
          [](const TrackOptions& how) { return how.sh_basis ? std::string(sh_basis_name(*how.sh_basis)) : ""; },
          [](TrackOptions& how, const std::string& name) { how.sh_basis = unwrap(parse_sh_basis(name), "sh_basis"); })
      .def_rw("b0_threshold", &TrackOptions::b0_threshold)
      .def_rw("shell", &TrackOptions::shell, nb::arg().none())
      .def_prop_rw(
          "model", [](const TrackOptions& how) { return how.model ? std::string(dwi_model_name(*how.model)) : ""; },
          [](TrackOptions& how, const std::string& name) { how.model = unwrap(parse_dwi_model(name), "model"); })
      .def_prop_rw(
          "fit", [](const TrackOptions& how) { return std::string(tensor_method_name(how.fit)); },
          [](TrackOptions& how, const std::string& name) { how.fit = unwrap(parse_tensor_method(name), "fit"); })
      .def_rw("sh_order", &TrackOptions::sh_order, nb::arg().none())
      .def_rw("smooth", &TrackOptions::smooth)
      .def_rw("min_signal", &TrackOptions::min_signal)
      .def_rw("response", &TrackOptions::response, nb::arg().none())
      .def_rw("response_fa", &TrackOptions::response_fa)
      .def_rw("response_radius", &TrackOptions::response_radius)
      .def_rw("sphere", &TrackOptions::sphere)
      .def_prop_rw(
          "method", [](const TrackOptions& how) { return std::string(track_method_name(how.method)); },
          [](TrackOptions& how, const std::string& name) { how.method = unwrap(parse_track_method(name), "method"); })
      .def_rw("seeds", &TrackOptions::seeds)
      .def_rw("seeds_per_voxel", &TrackOptions::seeds_per_voxel)
      .def_rw("seed_grid", &TrackOptions::seed_grid)
      .def_rw("seeds_file", &TrackOptions::seeds_file)
      .def_rw("first_seed", &TrackOptions::first_seed)
      .def_rw("random_seed", &TrackOptions::random_seed)
      .def_rw("peaks", &TrackOptions::max_peaks)
      .def_rw("relative_peak", &TrackOptions::relative_peak)
      .def_rw("separation_deg", &TrackOptions::separation_deg)
      .def_rw("mask", &TrackOptions::mask)
      .def_rw("stop", &TrackOptions::stop)
      .def_rw("seed_image", &TrackOptions::seed_image)
      .def_rw("stop_below", &TrackOptions::stop_below)
      .def_rw("step_mm", &TrackOptions::step_mm, nb::arg().none())
      .def_rw("step_voxels", &TrackOptions::step_voxels, nb::arg().none())
      .def_rw("max_angle_deg", &TrackOptions::max_angle_deg)
      .def_rw("boot_retry", &TrackOptions::boot_retry)
      .def_rw("substeps", &TrackOptions::substeps)
      .def_rw("min_radius_mm", &TrackOptions::min_radius_mm, nb::arg().none())
      .def_rw("probe_length_mm", &TrackOptions::probe_length_mm, nb::arg().none())
      .def_rw("probe_quality", &TrackOptions::probe_quality)
      .def_rw("probe_count", &TrackOptions::probe_count)
      .def_rw("probe_radius_mm", &TrackOptions::probe_radius_mm, nb::arg().none())
      .def_rw("pmf_threshold", &TrackOptions::pmf_threshold)
      .def_rw("min_length_mm", &TrackOptions::min_length_mm)
      .def_rw("max_length_mm", &TrackOptions::max_length_mm)
      .def_rw("chunk_seeds", &TrackOptions::chunk_seeds)
      .def_prop_rw(
          "dtype", [](const TrackOptions& how) { return std::string(point_type_name(how.dtype)); },
          [](TrackOptions& how, const std::string& name) { how.dtype = unwrap(parse_point_type(name), "dtype"); })
      .def_rw("keep_partial", &TrackOptions::keep_partial)
      .def_rw("force", &TrackOptions::force);
  nb::class_<TrackSummary>(m, "TrackSummary", "What tracking, or fitting a diffusion volume, gave.")
      .def_ro("voxels", &TrackSummary::voxels)
      .def_ro("fitted_voxels", &TrackSummary::fitted_voxels)
      .def_ro("seeds", &TrackSummary::seeds)
      .def_ro("streamlines", &TrackSummary::streamlines)
      .def_ro("points", &TrackSummary::points)
      .def_ro("too_short", &TrackSummary::too_short)
      .def_ro("cancelled", &TrackSummary::cancelled)
      .def_ro("mean_length_mm", &TrackSummary::mean_length_mm)
      .def_prop_ro("response_evals",
                   [](const TrackSummary& s) {
                     return std::tuple(s.response_evals[0], s.response_evals[1], s.response_evals[2]);
                   })
      .def_ro("response_s0", &TrackSummary::response_s0)
      .def_ro("response_voxels", &TrackSummary::response_voxels)
      .def_ro("fit_seconds", &TrackSummary::fit_seconds)
      .def_ro("track_seconds", &TrackSummary::track_seconds)
      .def_ro("kernel_seconds", &TrackSummary::kernel_seconds)
      .def_ro("planned_bytes", &TrackSummary::planned_bytes)
      .def_ro("peak_bytes", &TrackSummary::peak_bytes)
      .def_ro("report", &TrackSummary::report);
  m.def(
      "track",
      [](const std::string& dwi, const std::string& out, const TrackOptions& how, const std::string& device,
         const JobOptions& job) {
        const std::vector<Device> where = unwrap(parse_devices(device), "device");
        return run_summary(job, "", [&](const Options& o) { return track(dwi, out, how, where, o); });
      },
      nb::arg("dwi"), nb::arg("out"), nb::arg("how"), nb::arg("device"), nb::arg("options"));
  nb::class_<Tracking>(m, "Tracking", "Tracking chunk by chunk into memory.")
      .def_static(
          "begin",
          [](const std::string& dwi, const TrackOptions& how, const std::string& device, const JobOptions& job) {
            const std::vector<Device> where = unwrap(parse_devices(device), "device");
            return run_value<Tracking>(job, [&](const Options& o) { return Tracking::begin(dwi, how, where, o); });
          },
          nb::arg("dwi"), nb::arg("how"), nb::arg("device"), nb::arg("options"))
      .def(
          "next",
          [](Tracking& tracking, const JobOptions& job) -> std::optional<nb::dict> {
            using Chunk = std::optional<TrackedStreamlines>;
            Chunk chunk = run_value<Chunk>(job, [&](const Options& o) { return tracking.next(o); });
            if (!chunk) return std::nullopt;
            return as_dict(*std::move(chunk));
          },
          nb::arg("options"), nb::sig("def next(self, options: Options) -> dict[str, typing.Any] | None"))
      .def(
          "rest",
          [](Tracking& tracking, const JobOptions& job) {
            return as_dict(run_value<TrackedStreamlines>(job, [&](const Options& o) { return tracking.rest(o); }));
          },
          nb::arg("options"), nb::sig("def rest(self, options: Options) -> dict[str, typing.Any]"))
      .def("summary", &Tracking::summary);
  m.def(
      "save_streamlines",
      [](const std::string& path, Columned<float, 3> points, Column<std::uint64_t> offsets, Columned<float, 3> seeds,
         Column<std::uint64_t> seed_index, Column<float> length_mm, Columned<std::uint8_t, 2> reason,
         std::array<std::uint64_t, 3> shape, std::array<double, 12> world_from_voxel, bool force) {
        TrackedStreamlines s;
        s.points = rows_of<std::array<float, 3>>(points);
        s.offsets = rows_of<std::uint64_t>(offsets);
        s.seed_points = rows_of<std::array<float, 3>>(seeds);
        s.seed_numbers = rows_of<std::uint64_t>(seed_index);
        s.lengths_mm = rows_of<float>(length_mm);
        s.reasons = rows_of<std::array<std::uint8_t, 2>>(reason);
        s.dims = shape;
        s.world_from_voxel.rows = world_from_voxel;
        unwrap(without_gil(CallGuard::Threads::none,
                           [&] { return save_streamlines(s, path, force ? Replace::yes : Replace::no); }),
               "");
      },
      nb::arg("path"), nb::arg("points"), nb::arg("offsets"), nb::arg("seeds"), nb::arg("seed_index"),
      nb::arg("length_mm"), nb::arg("reason"), nb::arg("shape"), nb::arg("world_from_voxel"), nb::arg("force"));
  m.def(
      "sphere_directions", [](std::uint32_t count) { return unwrap(sphere_directions(count), "count"); },
      nb::arg("count"));
  m.def(
      "fit_dwi",
      [](const std::string& dwi, const std::string& out, const std::string& model, const TrackOptions& how,
         const std::string& device, const JobOptions& job) {
        const DwiModel which = unwrap(parse_dwi_model(model), "model");
        const std::vector<Device> where = unwrap(parse_devices(device), "device");
        return run_summary(job, "", [&](const Options& o) { return fit_dwi(dwi, out, which, how, where, o); });
      },
      nb::arg("dwi"), nb::arg("out"), nb::arg("model"), nb::arg("how"), nb::arg("device"), nb::arg("options"));
}

}  // namespace penstock::python
