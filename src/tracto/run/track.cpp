#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "core/guard.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"
#include "penstock/tracto.hpp"
#include "tracto/file/tractogram.hpp"
#include "tracto/run/field.hpp"

namespace penstock {
namespace {

using namespace tracto;

/// Seconds since it was made, or since the last call.
class Lap {
 public:
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    const double s = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return s;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::uint64_t peak_process_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// Makes of the fractional anisotropy the map that tracking stops by.
Status apply_maps(const Volume& volume, const TrackOptions& how, const Options& options, std::vector<float>& stop) {
  if (!how.stop.empty()) {
    PENSTOCK_ASSIGN(stop, load_map(how.stop, volume, options));
  }
  if (how.mask.empty()) return {};
  PENSTOCK_ASSIGN(const std::vector<float> mask, load_map(how.mask, volume, options));
  if (std::none_of(mask.begin(), mask.end(), [](float value) { return value > 0; }))
    return Error(ErrorCode::invalid_argument, how.mask + ": the mask is empty");
  for (std::size_t i = 0; i < stop.size(); ++i)
    if (!(mask[i] > 0)) stop[i] = 0;
  return {};
}

Status place_seeds(const Volume& volume, const TrackOptions& how, const Options& options, HostField& field) {
  if (how.seed_image.empty()) return {};
  PENSTOCK_ASSIGN(const std::vector<float> image, load_map(how.seed_image, volume, options));
  field.seed_voxels.clear();
  for (std::size_t i = 0; i < image.size(); ++i)
    if (image[i] > 0) field.seed_voxels.push_back(static_cast<std::uint32_t>(i));
  if (field.seed_voxels.empty())
    return Error(ErrorCode::invalid_argument, how.seed_image + ": the seed image is empty");
  field.seed_params.voxels = static_cast<std::uint32_t>(field.seed_voxels.size());
  return {};
}

Status write_chunk(TractogramWriter& out, const Streamlines& s, double step_mm, TrackSummary& summary) {
  std::vector<float> lengths_mm(s.lengths.size());
  for (std::size_t i = 0; i < lengths_mm.size(); ++i) {
    const double length = (s.lengths[i] - 1) * step_mm;
    lengths_mm[i] = static_cast<float>(length);
    summary.mean_length_mm += length;
  }
  summary.streamlines += s.lengths.size();
  summary.points += s.points.size();
  summary.too_short += s.too_short;
  static_assert(sizeof(Vec3) == sizeof(std::array<float, 3>));
  const auto triples = [](const std::vector<Vec3>& v) {
    return std::span(reinterpret_cast<const std::array<float, 3>*>(v.data()), v.size());
  };
  const std::span reasons(reinterpret_cast<const std::array<std::uint8_t, 2>*>(s.reasons.data()), s.reasons.size() / 2);
  return out.append({triples(s.points), s.lengths, triples(s.seed_points), s.seeds, lengths_mm, reasons});
}

Result<std::unique_ptr<Tracker>> make_tracker(const HostField& field, Device device) {
  if (device.type == Device::Type::cuda) return cuda_tracker(field, device);
  return cpu_tracker(field);
}

Result<TrackSummary> run(const std::string& dwi, const std::string& out, const TrackOptions& how, Device device,
                         const Options& options) {
  TrackSummary summary;
  Lap whole, lap;
  PENSTOCK_TRY(check_options(how));
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, 0));
  auto stage = [&](std::string name, std::string path, std::string why, std::uint64_t bytes) {
    summary.report.stages.push_back({std::move(name), std::move(path), std::move(why), bytes, lap.seconds()});
  };
  const std::string cpu = fmt::format("cpu, {} thread{}", plan.threads, plan.threads == 1 ? "" : "s");

  Options quiet = options;
  quiet.progress = nullptr;
  PENSTOCK_ASSIGN(Volume volume, load_volume(dwi, quiet));
  summary.voxels = volume.voxels();
  stage("read", volume.path_taken,
        fmt::format("{} x {} x {} voxels, {} volumes", volume.dims[0], volume.dims[1], volume.dims[2], volume.volumes),
        volume.data.size() * 4);
  PENSTOCK_ASSIGN(const Gradients gradients, load_gradients(dwi, how, volume.volumes));
  const ImageGrid grid{volume.dims, volume.world_from_voxel};
  PENSTOCK_ASSIGN(const std::unique_ptr<TractogramWriter> file,
                  begin_tractogram(out, grid, {true, true, true}, how.force));

  Job job(quiet, "track", 0, plan.threads);
  lap.seconds();
  PENSTOCK_ASSIGN(std::vector<float> fa, fit_fa(job, volume, gradients, how.fit));
  stage("tensor", cpu, fmt::format("{} over {} volumes", tensor_method_name(how.fit), gradients.size()), fa.size() * 4);
  const DwiModel model = model_of(how);
  FibreResponse response;
  if (model == DwiModel::csd) {
    PENSTOCK_ASSIGN(response, fit_response(volume, gradients, how));
    std::copy(response.evals.begin(), response.evals.end(), summary.response_evals);
    summary.response_s0 = response.s0;
    summary.response_voxels = response.voxels;
    stage("response", "cpu",
          fmt::format("{} voxels about the centre with FA above {}", response.voxels, how.response_fa), 0);
  }
  PENSTOCK_ASSIGN(const ModelPlan fitted, plan_model(gradients, how, model));
  VoxelFit fit;
  if (how.method != TrackMethod::boot) {
    PENSTOCK_ASSIGN(fit, make_voxel_fit(gradients, fitted, response, how));
  }
  HostField field;
  PENSTOCK_TRY(apply_maps(volume, how, quiet, fa));
  PENSTOCK_TRY(make_field(job, volume, gradients, fitted, fit, how, std::move(fa), field));
  summary.fitted_voxels = field.seed_voxels.size();
  PENSTOCK_TRY(place_seeds(volume, how, quiet, field));
  volume.data = {};
  stage(std::string(dwi_model_name(model)), cpu,
        fmt::format("{}, order {}; {} voxels with {} above {}{}", fitted.reason, fitted.order, summary.fitted_voxels,
                    how.stop.empty() ? "FA" : how.stop, how.stop_below,
                    how.method == TrackMethod::boot ? ", fitted while tracking" : ""),
        field.pmf.size() * 2 + field.signal.size() * 4);
  for (std::size_t i = 1; i < summary.report.stages.size(); ++i)
    summary.fit_seconds += summary.report.stages[i].seconds;

  PENSTOCK_ASSIGN(const std::unique_ptr<Tracker> tracker, make_tracker(field, device));
  const std::uint64_t all = how.seeds > 0 ? how.seeds : field.seed_voxels.size() * std::uint64_t{how.seeds_per_voxel};
  const double step_mm = field.step_mm;
  double write_seconds = 0;
  lap.seconds();
  for (std::uint64_t done = 0; done < all;) {
    PENSTOCK_TRY(job.check());
    const std::uint64_t count = std::min(how.chunk_seeds, all - done);
    PENSTOCK_ASSIGN(const Streamlines chunk, tracker->chunk(job, how.first_seed + done, count));
    summary.track_seconds += lap.seconds();
    PENSTOCK_TRY(write_chunk(*file, chunk, step_mm, summary));
    write_seconds += lap.seconds();
    done += count;
  }
  summary.seeds = all;
  if (summary.streamlines > 0) summary.mean_length_mm /= static_cast<double>(summary.streamlines);
  summary.report.stages.push_back({"track", device.type == Device::Type::cuda ? device.name() : cpu,
                                   fmt::format("{}, {} directions, step {:.3g} mm, {:.3g} degrees",
                                               track_method_name(how.method), how.sphere, step_mm, how.max_angle_deg),
                                   summary.points * 12, summary.track_seconds});
  PENSTOCK_TRY(file->finish([&] { return job.check(); }));
  summary.report.stages.push_back({"write", fmt::format("file, {}", file->format()), "float32, in the order of seeds",
                                   summary.points * 12, write_seconds + lap.seconds()});
  summary.report.operation = "track";
  summary.report.threads = plan.threads;
  summary.report.wall_seconds = whole.seconds();
  summary.report.peak_device_bytes = tracker->peak_device_bytes();
  summary.peak_bytes = peak_process_bytes();
  return summary;
}

}  // namespace

Result<TrackSummary> track(const std::string& dwi, const std::string& out, const TrackOptions& how, Device device,
                           const Options& options) {
  return guarded([&] { return run(dwi, out, how, device, options); });
}

}  // namespace penstock
