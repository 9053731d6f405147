#include "tracto/run/peak_maps.hpp"

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "device/team.hpp"
#include "tracto/field/peaks.hpp"

namespace penstock::tracto {
namespace {

constexpr std::uint64_t kBlockVoxels = 64;  // of one task

Status each_voxel(Job& job, std::uint64_t n, const std::function<void(std::uint64_t)>& take) {
  return job.run([&] {
    return job.for_each(div_up(n, kBlockVoxels), true, [&](std::uint64_t block) -> Status {
      for (std::uint64_t i = block * kBlockVoxels; i < std::min(n, (block + 1) * kBlockVoxels); ++i) take(i);
      return {};
    });
  });
}

}  // namespace

Status put_peaks(Job& job, const HostField& field, std::span<const std::uint32_t> voxels, std::uint64_t all,
                 std::span<float> out) {
  const TrackParams& t = field.params;
  const TrackBuffers in = field.buffers();
  return each_voxel(job, voxels.size(), [&](std::uint64_t r) {
    std::vector<float> amplitude(t.directions);
    std::vector<std::uint32_t> list(t.directions);
    for (std::uint32_t i = 0; i < t.directions; ++i)
      amplitude[i] = static_cast<float>(field.pmf[r * t.stride + i]) * field.scale[r];
    const Peaks peaks = find_peaks(HostTeam<32>(), t, in, amplitude.data(), list.data());
    for (std::uint32_t p = 0; p < peaks.count; ++p) {
      const Vec3 v = scaled(vertex(t, in, peaks.direction[p]), amplitude[peaks.direction[p]]);
      const float xyz[3] = {v.x, v.y, v.z};
      for (std::uint64_t d = 0; d < 3; ++d) out[(3 * p + d) * all + voxels[r]] = xyz[d];
    }
  });
}

Status field_of_peaks(Job& job, const Volume& image, HostField& field) {
  const TrackParams& t = field.params;
  const TrackBuffers in = field.buffers();
  field.pmf.assign(field.seed_list.size() * t.stride, 0);
  field.scale.assign(field.seed_list.size(), 0);
  return each_voxel(job, field.seed_list.size(), [&](std::uint64_t r) {
    std::vector<float> amplitude(t.directions);
    for (std::uint64_t k = 0; k + 2 < image.volumes; k += 3) {
      const float* const p = image.data.data() + std::uint64_t{field.seed_list[r]} * image.volumes + k;
      const Vec3 peak = {p[0], p[1], p[2]};
      const float length = std::sqrt(dot(peak, peak));
      if (!std::isfinite(length) || !(length > 0)) continue;
      std::uint32_t nearest = 0;
      float best = -1;
      for (std::uint32_t i = 0; i < t.directions; ++i) {
        const float along = absolute(dot(vertex(t, in, i), peak));
        if (along > best) nearest = i;
        best = std::max(best, along);
      }
      amplitude[nearest] = std::max(amplitude[nearest], length);
    }
    const float most = *std::max_element(amplitude.begin(), amplitude.end());
    if (!(most > 0)) return;
    field.scale[r] = most / 65535;
    for (std::uint32_t i = 0; i < t.directions; ++i)
      field.pmf[r * t.stride + i] = static_cast<std::uint16_t>(amplitude[i] / most * 65535 + 0.5F);
  });
}

}  // namespace penstock::tracto
