#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>

#include "core/guard.hpp"
#include "exec/budget.hpp"
#include "penstock/tracto.hpp"
#include "tracto/file/tractogram.hpp"
#include "tracto/run/field.hpp"
#include "tracto/run/place_seeds.hpp"
#include "tracto/run/pump.hpp"
#include "tracto/run/source.hpp"

namespace penstock {
namespace {

using namespace tracto;

std::uint64_t peak_process_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
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

/// One for each device.
Result<std::vector<std::unique_ptr<Tracker>>> make_trackers(const HostField& field, std::vector<Device> devices) {
  if (devices.empty()) devices.emplace_back();
  std::vector<std::unique_ptr<Tracker>> out;
  for (const Device& device : devices) {
    if (device.type == Device::Type::cuda) {
      PENSTOCK_ASSIGN(auto tracker, cuda_tracker(field, device));
      out.push_back(std::move(tracker));
    } else {
      out.push_back(cpu_tracker(field));
    }
  }
  return out;
}

std::string device_names(const std::vector<Device>& devices, const std::string& cpu) {
  if (devices.empty() || devices.front().type == Device::Type::cpu) return cpu;
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Tracks all seeds into `file`.  With how.keep_partial a cancelled run is a success that says so.
Status track_all(Job& job, const HostField& field, std::span<const std::unique_ptr<Tracker>> trackers,
                 std::uint64_t seeds, const TrackOptions& how, const Options& options, TractogramWriter& file,
                 TrackSummary& summary) {
  const auto take = [&](const Streamlines& chunk, std::uint64_t count) -> Status {
    PENSTOCK_TRY(write_chunk(file, chunk, field.step_mm, summary));
    summary.seeds += count;
    if (options.progress) options.progress({"track", summary.seeds, seeds});
    return {};
  };
  Status status = pump(job, trackers, {how.first_seed, seeds, how.chunk_seeds}, take);
  const bool stopped = !status && (status.error().code() == ErrorCode::cancelled ||
                                   status.error().code() == ErrorCode::timed_out);
  if (!how.keep_partial || !stopped) return status;
  summary.cancelled = true;
  return {};
}

Result<TrackSummary> run(const std::string& dwi, const std::string& out, const TrackOptions& how,
                         const std::vector<Device>& devices, const Options& options) {
  TrackSummary summary;
  Lap whole, lap;
  PENSTOCK_TRY(check_options(how));
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(options, 0));
  Stages stages(summary.report);
  const std::string cpu = fmt::format("cpu, {} thread{}", plan.threads, plan.threads == 1 ? "" : "s");
  Options quiet = options;
  quiet.progress = nullptr;
  Job job(quiet, "track", 0, plan.threads);
  PENSTOCK_TRY(check_tractogram_name(out, how.force));  // before anything is computed
  PENSTOCK_ASSIGN(Source source, load_source(job, dwi, how, quiet, cpu, stages, summary));
  Volume& volume = source.volume;
  summary.voxels = volume.voxels();
  const ImageGrid grid{volume.dims, volume.world_from_voxel};
  PENSTOCK_ASSIGN(const std::unique_ptr<TractogramWriter> file,
                  begin_tractogram(out, grid, {true, true, true}, how.force));

  HostField field;
  PENSTOCK_TRY(make_field(job, volume, source.gradients, source.plan, source.fit, how, std::move(source.stop), field));
  summary.fitted_voxels = field.fitted_voxels;
  PENSTOCK_ASSIGN(const std::uint64_t seeds, place_seeds(volume, how, quiet, field));
  volume.data = {};
  stages.add(std::string(dwi_model_name(source.plan.model)), cpu,
             fmt::format("{}, order {}; {} voxels with {} above {}{}", source.plan.reason, source.plan.order,
                         summary.fitted_voxels, how.stop.empty() ? "FA" : how.stop, how.stop_below,
                         how.method == TrackMethod::boot ? ", fitted while tracking" : ""),
             field.pmf.size() * 2 + field.signal.size() * 4);
  for (std::size_t i = 1; i < summary.report.stages.size(); ++i)
    summary.fit_seconds += summary.report.stages[i].seconds;

  PENSTOCK_ASSIGN(const auto trackers, make_trackers(field, devices));
  lap.seconds();
  PENSTOCK_TRY(track_all(job, field, trackers, seeds, how, options, *file, summary));
  summary.track_seconds = lap.seconds();
  if (summary.streamlines > 0) summary.mean_length_mm /= static_cast<double>(summary.streamlines);
  summary.report.stages.push_back(
      {"track", device_names(devices, cpu),
       fmt::format("{}, {} directions, step {:.3g} mm, {:.3g} degrees; a chunk is written while the next is tracked",
                   track_method_name(how.method), how.sphere, field.step_mm, how.max_angle_deg),
       summary.points * 12, summary.track_seconds});
  PENSTOCK_TRY(file->finish([&] { return summary.cancelled ? Status() : job.check(); }));
  summary.report.stages.push_back({"write", fmt::format("file, {}", file->format()),
                                   "float32, in the order of seeds; its end, after tracking", summary.points * 12,
                                   lap.seconds()});
  summary.report.operation = "track";
  summary.report.threads = plan.threads;
  summary.report.wall_seconds = whole.seconds();
  for (const auto& tracker : trackers)
    summary.report.peak_device_bytes = std::max(summary.report.peak_device_bytes, tracker->peak_device_bytes());
  summary.peak_bytes = peak_process_bytes();
  return summary;
}

}  // namespace

Result<TrackSummary> track(const std::string& dwi, const std::string& out, const TrackOptions& how,
                           const std::vector<Device>& devices, const Options& options) {
  return guarded([&] { return run(dwi, out, how, devices, options); });
}

Result<std::vector<std::array<double, 3>>> sphere_directions(std::uint32_t count) {
  return guarded([&]() -> Result<std::vector<std::array<double, 3>>> {
    PENSTOCK_ASSIGN(Sphere sphere, repulsion_sphere(count));
    return std::move(sphere.vertices);
  });
}

}  // namespace penstock
