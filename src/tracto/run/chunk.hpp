// A chunk of seeds tracked by a processor: the part of tracking that differs between them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "exec/job.hpp"
#include "penstock/device.hpp"
#include "penstock/tracto.hpp"
#include "tracto/run/follow.hpp"
#include "tracto/run/seeds.hpp"

namespace penstock::tracto {

/// Memory of vectors whose new numbers have no value yet: they are filled afterwards.
template <class T>
struct Unset : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Unset<U>;
  };
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
};
using Points = std::vector<Vec3, Unset<Vec3>>;
using Amplitudes = std::vector<std::uint16_t, Unset<std::uint16_t>>;

/// Streamlines in the order of their seeds, then of their peaks.
struct Streamlines {
  Points points;                       ///< world, mm; empty where Tracker::points has them elsewhere
  std::vector<std::uint32_t> lengths;  ///< points of each
  std::vector<std::uint64_t> seeds;    ///< number of the seed of each
  Points seed_points;                  ///< world, mm
  std::vector<std::uint8_t> reasons;   ///< two for each: of the backward and of the forward half
  std::uint64_t too_short = 0;
  void append(const Streamlines& more);
  void clear();
};

/// What a streamline takes in memory beside its points.
inline constexpr std::uint64_t kStreamlineBytes = 4 + 8 + sizeof(Vec3) + 2;

/// The field and what belongs to it, in host memory.
struct HostField {
  TrackMethod method = TrackMethod::prob;
  PointType point_type = PointType::float32;  ///< of points that a device hands out
  TrackParams params = {};
  SeedParams seed_params = {};
  std::uint32_t min_points = 1;
  double step_mm = 0;  ///< between two points
  std::vector<std::int32_t> row;
  Amplitudes pmf;
  std::vector<float> scale, stop, vertices;
  std::vector<std::uint16_t> neighbours;
  std::vector<float> signal, fit;  ///< boot
  std::vector<float> disc;         ///< ptt
  std::vector<std::uint16_t> nearest, triangle;
  std::vector<std::uint32_t> seed_list;  ///< voxels, or places (SeedMode)
  std::uint64_t fitted_voxels = 0;
  [[nodiscard]] std::uint64_t bytes() const {
    const auto of = [](const auto& v) { return v.size() * sizeof(v[0]); };
    return of(row) + of(pmf) + of(scale) + of(stop) + of(vertices) + of(neighbours) + of(signal) + of(fit) + of(disc) +
           of(nearest) + of(triangle) + of(seed_list);
  }
  [[nodiscard]] TrackBuffers buffers() const {
    return {row.data(),    pmf.data(), scale.data(),   stop.data(), vertices.data(), neighbours.data(),
            signal.data(), fit.data(), nearest.data(), disc.data(), triangle.data()};
  }
};

/// Takes points, piece by piece: x, y and z of whole points, of a type.
using TakePoints = std::function<Status(ByteView points, PointType type)>;

/// Tracks chunks on one processor.  Not thread-safe.
class Tracker {
 public:
  virtual ~Tracker() = default;
  /// Seeds `first` to before `first + count`: pieces, in their order.
  /// Errors: cancelled, out_of_memory, device_error.
  virtual Result<std::vector<Streamlines>> chunk(Job& job, std::uint64_t first, std::uint64_t count) = 0;
  /// Hands out the points of what `chunk` gave last, in their order.  Errors: those of `take`, device_error.
  virtual Status points(std::span<const Streamlines> pieces, const TakePoints& take);
  /// Whether the points of a chunk are in the pieces, in memory.
  [[nodiscard]] virtual bool holds_points() const { return true; }
  /// Memory of the host that it works in while a chunk is tracked and handed out, beside the pieces.
  [[nodiscard]] virtual std::uint64_t work_bytes(std::uint64_t seeds, std::uint64_t streamlines) const {
    static_cast<void>(seeds), static_cast<void>(streamlines);
    return 0;
  }
  [[nodiscard]] virtual std::uint64_t peak_device_bytes() const { return 0; }
  /// Seconds during which kernels ran on a device until now; of trackers of one device, those of all.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
};

/// Several trackers of the CPU, of which one tracks at a time, so that the points of another are written meanwhile.
/// `field` must outlive them.
std::vector<std::unique_ptr<Tracker>> cpu_trackers(const HostField& field, std::size_t count);
/// Several trackers of one device, with one copy of the field, so that one copies while another tracks.
/// Errors: unsupported (built without CUDA), no_device, out_of_memory, device_error.
Result<std::vector<std::unique_ptr<Tracker>>> cuda_trackers(const HostField& field, Device device, std::size_t count);

}  // namespace penstock::tracto
