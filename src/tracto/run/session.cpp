#include "tracto/run/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.hpp"
#include "tracto/run/memory_plan.hpp"
#include "tracto/run/place_seeds.hpp"
#include "tracto/run/source.hpp"

namespace penstock::tracto {
namespace {

// While one tracks, another waits for its points to be moved together, one brings them down, one writes.
constexpr std::size_t kTrackersOfDevice = 4;
constexpr std::size_t kTrackersOfCpu = 2;

Result<std::vector<std::unique_ptr<Tracker>>> make_trackers(const HostField& field, std::vector<Device> devices) {
  if (devices.empty()) devices.emplace_back();
  std::vector<std::unique_ptr<Tracker>> out;
  for (const Device& device : devices) {
    if (device.type == Device::Type::cuda) {
      PENSTOCK_ASSIGN(auto trackers, cuda_trackers(field, device, kTrackersOfDevice));
      for (auto& tracker : trackers) out.push_back(std::move(tracker));
    } else {
      for (auto& tracker : cpu_trackers(field, kTrackersOfCpu)) out.push_back(std::move(tracker));
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

double kernel_seconds(const Session& session) {
  double seconds = 0;
  for (const auto& tracker : session.trackers) seconds = std::max(seconds, tracker->kernel_seconds());
  return seconds;
}

}  // namespace

Result<std::unique_ptr<Session>> begin_session(const std::string& dwi, const TrackOptions& how,
                                               const std::vector<Device>& devices, const Options& options) {
  PENSTOCK_TRY(check_options(how));
  auto session = std::make_unique<Session>();
  session->how = how;
  PENSTOCK_ASSIGN(session->plan, plan_budget(options, 0));
  const std::uint64_t threads = session->plan.threads;
  const std::string cpu = fmt::format("cpu, {} thread{}", threads, threads == 1 ? "" : "s");
  session->processors = device_names(devices, cpu);
  TrackSummary& summary = session->summary;
  Stages stages(summary.report);
  Options quiet = options;
  quiet.progress = nullptr;
  Job job(quiet, "track", 0, threads);
  PENSTOCK_ASSIGN(const std::unique_ptr<Fitter> fitter, make_fitter(devices, threads));
  PENSTOCK_ASSIGN(Source source, load_source(job, *fitter, dwi, how, quiet, stages, summary));
  summary.voxels = source.volume.voxels();
  session->grid = {source.volume.dims, source.volume.world_from_voxel};
  HostField& field = session->field;
  field.point_type = how.dtype;
  PENSTOCK_TRY(make_field(job, *fitter, {source.volume, source.gradients}, source.plan, std::move(source.tables), how,
                          std::move(source.stop), field));
  summary.fitted_voxels = field.fitted_voxels;
  PENSTOCK_ASSIGN(session->seeds, place_seeds(source.volume, how, quiet, field));
  const std::string order = source.plan.from_peaks ? "" : fmt::format(", order {}", source.plan.order);
  stages.add(source.plan.from_peaks ? "peaks" : std::string(dwi_model_name(source.plan.model)), fitter->name(),
             fmt::format("{}{}; {} voxels with {} above {}{}", source.plan.reason, order, summary.fitted_voxels,
                         how.stop.empty() ? "FA" : how.stop, how.stop_below,
                         how.method == TrackMethod::boot ? ", fitted while tracking" : ""),
             field.pmf.size() * 2 + field.signal.size() * 4);
  for (std::size_t i = 1; i < summary.report.stages.size(); ++i)
    summary.fit_seconds += summary.report.stages[i].seconds;
  summary.report.peak_device_bytes = fitter->peak_device_bytes();
  PENSTOCK_ASSIGN(session->trackers, make_trackers(field, devices));
  source = {};
  PENSTOCK_ASSIGN(session->memory, plan_memory(job, *session));
  session->planning_kernel_seconds = kernel_seconds(*session);
  summary.planned_bytes = session->memory.bytes;
  if (how.planned) how.planned(session->memory);
  return session;
}

ChunkColumns count_chunk(Session& session, std::span<const Streamlines> pieces) {
  TrackSummary& summary = session.summary;
  ChunkColumns out;
  for (const Streamlines& piece : pieces) {
    out.lengths.insert(out.lengths.end(), piece.lengths.begin(), piece.lengths.end());
    out.seeds.insert(out.seeds.end(), piece.seeds.begin(), piece.seeds.end());
    for (const Vec3& p : piece.seed_points) out.seed_points.push_back({p.x, p.y, p.z});
    for (std::size_t i = 0; i < piece.reasons.size(); i += 2)
      out.reasons.push_back({piece.reasons[i], piece.reasons[i + 1]});
    summary.too_short += piece.too_short;
  }
  out.lengths_mm.reserve(out.lengths.size());
  for (const std::uint32_t points : out.lengths) {
    const double length = (points - 1) * session.field.step_mm;
    out.lengths_mm.push_back(static_cast<float>(length));
    summary.mean_length_mm += length;
    summary.points += points;
  }
  summary.streamlines += out.lengths.size();
  return out;
}

void tell_progress(const Session& session, std::uint64_t done_seeds, const Options& options) {
  if (!options.progress) return;
  const std::string streamlines = format_count(session.summary.streamlines) + " streamlines";
  options.progress({"track", done_seeds, session.seeds, "seeds", streamlines});
}

void finish_summary(const Session& session, double track_seconds, TrackSummary& summary) {
  const TrackOptions& how = session.how;
  summary.track_seconds = track_seconds;
  if (summary.streamlines > 0) summary.mean_length_mm /= static_cast<double>(summary.streamlines);
  summary.report.stages.push_back(
      {"track", session.processors,
       fmt::format("{}, {} directions, step {:.3g} mm, {:.3g} degrees", track_method_name(how.method), how.sphere,
                   session.field.step_mm, how.max_angle_deg),
       summary.points * 12, track_seconds});
  summary.report.operation = "track";
  summary.report.threads = session.plan.threads;
  for (const auto& tracker : session.trackers)
    summary.report.peak_device_bytes = std::max(summary.report.peak_device_bytes, tracker->peak_device_bytes());
  summary.kernel_seconds = kernel_seconds(session) - session.planning_kernel_seconds;
  summary.peak_bytes = peak_process_bytes();
}

}  // namespace penstock::tracto
