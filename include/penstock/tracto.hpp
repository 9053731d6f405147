// Tractography: raw diffusion MRI to streamlines.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/dataset.hpp"
#include "penstock/device.hpp"
#include "penstock/options.hpp"
#include "penstock/report.hpp"
#include "penstock/tractogram.hpp"

namespace penstock {

/// What is fitted to a voxel.
enum class DwiModel : std::uint8_t {
  dti,   ///< the tensor, by weighted least squares: fa, md, evals, evecs
  csd,   ///< the fibre orientation distribution, by constrained spherical deconvolution: sh; and fa, response.json
  csa,   ///< the orientation distribution of one shell in constant solid angle (Aganj et al. 2010): sh; and fa
  opdt,  ///< the same by the orientation probability density transform (Tristan-Vega et al. 2010): sh; and fa
};
/// "dti", "csd", "csa", "opdt".
PENSTOCK_API std::string_view dwi_model_name(DwiModel model);
/// Errors: invalid_argument, with the nearest name.
PENSTOCK_API Result<DwiModel> parse_dwi_model(std::string_view name);

/// How a tensor is fitted.
enum class TensorMethod : std::uint8_t {
  wls,  ///< least squares of the logarithms, weighted by the signals that they gave (Chung et al. 2006)
  ols,  ///< least squares of the logarithms
};
/// "wls", "ols".  Errors: invalid_argument, with the nearest name.
PENSTOCK_API Result<TensorMethod> parse_tensor_method(std::string_view name);
PENSTOCK_API std::string_view tensor_method_name(TensorMethod method);

/// How the next direction is found.
enum class TrackMethod : std::uint8_t {
  prob,     ///< drawn from the amplitudes within the angle
  det,      ///< the strongest within the angle
  closest,  ///< the peak that is closest to the last direction
  boot,     ///< the closest peak of a model that is fitted anew at each point, to residuals that are shuffled
  ptt,      ///< short arcs whose curvature is drawn by the amplitudes along longer ones (parallel transport)
};

/// In which axes the vectors of gradients are given.
enum class GradientFrame : std::uint8_t {
  voxel,  ///< of the voxels, as DIPY takes them
  fsl,    ///< of the voxels, the first turned where the transformation of the image keeps hands (FSL's rule)
  world,  ///< of the world
};
/// "voxel", "fsl", "world".  Errors: invalid_argument, with the nearest name.
PENSTOCK_API Result<GradientFrame> parse_gradient_frame(std::string_view name);
PENSTOCK_API std::string_view gradient_frame_name(GradientFrame frame);

/// Of which functions the coefficients of an image of spherical harmonics are.
enum class ShBasis : std::uint8_t {
  descoteaux07_legacy,  ///< DIPY's with legacy=True; what `dwi fit` writes
  descoteaux07,         ///< the same with the sign of odd negative m turned
  tournier07,           ///< MRtrix 3's: m and -m exchanged
};
/// The names above.  Errors: invalid_argument, with the nearest name.
PENSTOCK_API Result<ShBasis> parse_sh_basis(std::string_view name);
PENSTOCK_API std::string_view sh_basis_name(ShBasis basis);

/// "auto" (nullopt), or "L1,L2,S0" as TrackOptions::response has them.  Errors: invalid_argument.
PENSTOCK_API Result<std::optional<std::array<double, 3>>> parse_response(std::string_view text);

/// The devices of a list: "cpu", "auto", "cuda", "cuda:0,cuda:1", "cuda:all"; one may stand there twice.
/// Errors: invalid_argument, no_device.
PENSTOCK_API Result<std::vector<Device>> parse_devices(std::string_view text);

/// What tracking will take, known before the first seed of it is tracked.
struct TrackPlan {
  std::uint64_t seeds = 0;
  std::uint64_t chunk_seeds = 0;       ///< seeds whose streamlines are in memory at a time, of each device
  std::uint64_t field_bytes = 0;       ///< what is tracked
  std::uint64_t streamline_bytes = 0;  ///< of the chunks in memory
  std::uint64_t bytes = 0;             ///< the most that the process will hold, or has held while it fitted
};

/// How streamlines are made.  The defaults are those of `penstock track`; what is not set is chosen and reported.
struct TrackOptions {
  std::string bval, bvec;  ///< files of the gradients; empty: beside the volume, NAME.bval and NAME.bvec
  GradientFrame gradients = GradientFrame::voxel;
  double b0_threshold = 50;       ///< volumes of at most this b value (s/mm2) are unweighted
  std::optional<double> shell;    ///< b value (s/mm2) of the shell that is deconvolved; default: that of most volumes
  std::optional<DwiModel> model;  ///< csd, csa, opdt; default csd, of boot opdt (boot: no csd)
  std::optional<std::uint32_t> sh_order;  ///< even, 2 to 12; lowered for few directions; default 8, of csa and opdt 4
  TensorMethod fit = TensorMethod::wls;
  double smooth = 0.006;  ///< csa, opdt: weight of the Laplace-Beltrami penalty
  double min_signal = 1;  ///< csa, opdt: lower signals count as this
  /// csd: the signal of one fibre: diffusivities along and across it (mm2/s), signal without weighting; else estimated
  std::optional<std::array<double, 3>> response;
  double response_fa = 0.7;            ///< voxels of the response have a higher fractional anisotropy
  std::uint32_t response_radius = 10;  ///< voxels: half width of the box about the centre that they lie in
  std::uint32_t sphere = 362;          ///< directions of the half sphere, 16 to 1024
  std::optional<ShBasis> sh_basis;     ///< the image has coefficients of these functions, not signals

  TrackMethod method = TrackMethod::prob;
  std::uint64_t seeds = 0;  ///< in all, at random voxels; 0: seeds_per_voxel
  std::uint32_t seeds_per_voxel = 1;
  std::uint32_t seed_grid = 0;   ///< so many along each axis of a voxel, evenly; 0: at random places
  std::string seeds_file;        ///< text, a seed in each row: x, y, z in mm of the world
  std::uint64_t first_seed = 0;  ///< number of the first seed; each seed gives the same whatever comes before it
  std::uint64_t random_seed = 0;
  std::uint32_t max_peaks = 8;  ///< streamlines from one seed, strongest direction first; 1 to 8
  double relative_peak = 0.25;  ///< a peak is at least this part of the strongest
  double separation_deg = 45;   ///< least angle between two peaks

  std::string mask;         ///< image: where it is not above 0 nothing is fitted, and tracking stops; empty: everywhere
  std::string stop;         ///< image that `stop_below` is compared with; empty: the fractional anisotropy
  std::string seed_image;   ///< image: seeds lie where it is above 0; empty: where the stop image is above stop_below
  double stop_below = 0.1;  ///< tracking goes on while the fractional anisotropy is above
  std::optional<double> step_mm;      ///< default: half the smallest voxel size
  std::optional<double> step_voxels;  ///< the same in voxels (of the smallest size)
  double max_angle_deg = 60;          ///< between two steps
  bool boot_retry = false;      ///< boot: up to five attempts until a peak is within the angle, not only until one is
  std::uint32_t substeps = 20;  ///< ptt: arcs of a step
  std::optional<double> min_radius_mm;    ///< ptt: of curvature; default that of max_angle_deg over a step
  std::optional<double> probe_length_mm;  ///< ptt: of the arc that is looked along; default half a step
  std::uint32_t probe_quality = 4;        ///< ptt: points along it
  std::uint32_t probe_count = 1;          ///< ptt: probes about each of them; 1: on it
  std::optional<double> probe_radius_mm;  ///< ptt: of the circle that they lie on; default half a voxel
  double pmf_threshold = 0.05;            ///< directions below this part of the strongest are left out
  double min_length_mm = 5;
  double max_length_mm = 500;

  std::uint64_t chunk_seeds = 25000;     ///< seeds in memory at a time; fewer where the budget has no room for them
  PointType dtype = PointType::float32;  ///< of the points in the file; float16: of a TRX
  bool force = false;                    ///< replace an existing file
  bool keep_partial = false;             ///< when it is cancelled, the file has what was tracked until then
  std::function<void(const TrackPlan&)> planned;  ///< called once, before the first seed is tracked; may be empty
};

/// "prob", "det", "closest", "boot", "ptt".
PENSTOCK_API std::string_view track_method_name(TrackMethod method);
/// Errors: invalid_argument, with the nearest name.
PENSTOCK_API Result<TrackMethod> parse_track_method(std::string_view name);

/// What tracking gave.
struct TrackSummary {
  std::uint64_t voxels = 0;         ///< of the volume
  std::uint64_t fitted_voxels = 0;  ///< deconvolved
  std::uint64_t seeds = 0;
  std::uint64_t streamlines = 0, points = 0;
  std::uint64_t too_short = 0;  ///< streamlines left out for min_length_mm
  double mean_length_mm = 0;
  double response_evals[3] = {};  ///< mm2/s
  double response_s0 = 0;
  std::uint64_t response_voxels = 0;
  double fit_seconds = 0, track_seconds = 0;
  double kernel_seconds = 0;        ///< of tracking: kernels on a device
  std::uint64_t planned_bytes = 0;  ///< TrackPlan::bytes
  bool cancelled = false;           ///< the rest was not tracked (keep_partial)
  std::uint64_t peak_bytes = 0;     ///< most memory that the process held
  Report report;                    ///< stages
};

/// Tracks a diffusion volume.  `dwi`: shape (x, y, z, volumes), NIfTI (.nii, .nii.gz, .hdr/.img) or Zarr, any real data
/// type; or a folder of fit_dwi, whose fa and sh, or where there is no sh peaks, are tracked; with how.sh_basis an
/// image of coefficients. `out`: becomes a TRX (zip), TRK or TCK file, by its ending: points as how.dtype, streamlines
/// in the order of their seeds. TRX and TCK hold millimetres of the world.  The file's bytes depend on the input and on
/// `how`, not on devices, chunks or threads. `devices`: chunks are given to them in turn; none: the CPU.  A chunk is
/// written while the next is tracked. Errors: invalid_argument (an option), not_found, invalid_metadata and
/// corrupt_data (a file, named), no_device, already_exists (unless `force`), out_of_memory, cancelled.  Memory: the
/// volume as float32, the field, the points of a chunk of the CPU or of two of each GPU, and of one more: TrackPlan.
PENSTOCK_API Result<TrackSummary> track(const std::string& dwi, const std::string& out, const TrackOptions& how,
                                        const std::vector<Device>& devices, const Options& options);

/// Streamlines in memory, in the order of their seeds.  N streamlines, P points.
struct TrackedStreamlines {
  std::vector<std::array<float, 3>> points;          ///< (P, 3), world, mm
  std::vector<std::uint64_t> offsets = {0};          ///< (N + 1): where each begins, then P
  std::vector<std::array<float, 3>> seed_points;     ///< (N, 3), world, mm
  std::vector<std::uint64_t> seed_numbers;           ///< (N)
  std::vector<float> lengths_mm;                     ///< (N)
  std::vector<std::array<std::uint8_t, 2>> reasons;  ///< (N, 2): why the backward and the forward half ended
  std::array<std::uint64_t, 3> dims = {};            ///< of the image
  Affine world_from_voxel;
};

/// Whether a file that is there is replaced.
enum class Replace : std::uint8_t { no, yes };
/// Writes streamlines to a TRX, TRK or TCK file, by its ending; the bytes that `track` writes.
/// Errors: invalid_argument (ending, offsets that fall or do not end at P, numbers that differ), already_exists (unless
/// `replace`), those of writing.
PENSTOCK_API Status save_streamlines(const TrackedStreamlines& streamlines, const std::string& path, Replace replace);

/// Tracking chunk by chunk into memory; of `track`'s arguments but the file.  Move-only; for one thread at a time.
class PENSTOCK_API Tracking {
 public:
  /// Errors and memory: those of track.
  static Result<Tracking> begin(const std::string& dwi, const TrackOptions& how, const std::vector<Device>& devices,
                                const Options& options);
  Tracking(Tracking&&) noexcept;
  Tracking& operator=(Tracking&&) noexcept;
  ~Tracking();
  /// The streamlines of the next how.chunk_seeds seeds; nullopt: there are none left.  One device tracks each chunk, in
  /// turn.  Errors: cancelled, out_of_memory, device_error.
  Result<std::optional<TrackedStreamlines>> next(const Options& options);
  /// The streamlines of all seeds that are left, by all devices at once.  Errors: as next.
  Result<TrackedStreamlines> rest(const Options& options);
  /// Of what was tracked until now.
  [[nodiscard]] TrackSummary summary() const;

 private:
  struct State;
  explicit Tracking(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The directions of the half sphere on which tracking looks at amplitudes, unit vectors.
/// Errors: invalid_argument (count).
PENSTOCK_API Result<std::vector<std::array<double, 3>>> sphere_directions(std::uint32_t count);

/// Fits a diffusion volume and writes maps into the folder `out`, which is made if absent: NAME.nii.gz, float32, with
/// the transformation of `dwi`.  dti: fa, md (mm2/s), evals (x, y, z, 3), evecs (x, y, z, 9: of the largest first),
/// peaks (x, y, z, 3: the first eigenvector, as long as fa); csd, csa, opdt: fa, sh (x, y, z, coefficients of the
/// legacy basis of Descoteaux), peaks (x, y, z, 15: five of them, strongest first, each as long as its amplitude; in
/// the axes of the voxels), of csd response.json {evals, s0}; voxels whose FA is not above how.stop_below hold 0 in sh
/// and peaks.  Of `how` the gradients, shell, order, fit, response, smooth, min_signal, stop_below, sphere,
/// relative_peak and separation_deg count.  `devices`: the first fits; none: the CPU.  All give the same bits.
/// Errors: as track.  Memory: the volume as float32 and the maps.
PENSTOCK_API Result<TrackSummary> fit_dwi(const std::string& dwi, const std::string& out, DwiModel model,
                                          const TrackOptions& how, const std::vector<Device>& devices,
                                          const Options& options);

}  // namespace penstock
