#include "tracto/run/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>

#include "core/units.hpp"
#include "tracto/run/place_seeds.hpp"
#include "tracto/run/source.hpp"

namespace penstock::tracto {
namespace {

std::uint64_t peak_process_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
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
  PENSTOCK_ASSIGN(Source source, load_source(job, dwi, how, quiet, cpu, stages, summary));
  summary.voxels = source.volume.voxels();
  session->grid = {source.volume.dims, source.volume.world_from_voxel};
  HostField& field = session->field;
  PENSTOCK_TRY(
      make_field(job, source.volume, source.gradients, source.plan, source.fit, how, std::move(source.stop), field));
  summary.fitted_voxels = field.fitted_voxels;
  PENSTOCK_ASSIGN(session->seeds, place_seeds(source.volume, how, quiet, field));
  stages.add(std::string(dwi_model_name(source.plan.model)), cpu,
             fmt::format("{}, order {}; {} voxels with {} above {}{}", source.plan.reason, source.plan.order,
                         summary.fitted_voxels, how.stop.empty() ? "FA" : how.stop, how.stop_below,
                         how.method == TrackMethod::boot ? ", fitted while tracking" : ""),
             field.pmf.size() * 2 + field.signal.size() * 4);
  for (std::size_t i = 1; i < summary.report.stages.size(); ++i)
    summary.fit_seconds += summary.report.stages[i].seconds;
  PENSTOCK_ASSIGN(session->trackers, make_trackers(field, devices));
  return session;
}

std::vector<float> count_chunk(Session& session, const Streamlines& chunk, std::uint64_t seeds) {
  TrackSummary& summary = session.summary;
  std::vector<float> lengths_mm(chunk.lengths.size());
  for (std::size_t i = 0; i < lengths_mm.size(); ++i) {
    const double length = (chunk.lengths[i] - 1) * session.field.step_mm;
    lengths_mm[i] = static_cast<float>(length);
    summary.mean_length_mm += length;
  }
  summary.seeds += seeds;
  summary.streamlines += chunk.lengths.size();
  summary.points += chunk.points.size();
  summary.too_short += chunk.too_short;
  return lengths_mm;
}

void tell_progress(const Session& session, std::uint64_t done_seeds, const Options& options) {
  if (!options.progress) return;
  const std::string streamlines = format_count(session.summary.streamlines) + " streamlines";
  options.progress({"track", done_seeds, session.seeds, "seeds", streamlines});
}

void finish_summary(Session& session, double track_seconds) {
  TrackSummary& summary = session.summary;
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
  summary.peak_bytes = peak_process_bytes();
}

std::span<const std::array<float, 3>> triples(const std::vector<Vec3>& points) {
  static_assert(sizeof(Vec3) == sizeof(std::array<float, 3>));
  return {reinterpret_cast<const std::array<float, 3>*>(points.data()), points.size()};
}

}  // namespace penstock::tracto
