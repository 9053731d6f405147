// By how much one image is moved against another: the place of the largest correlation, found among frequencies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

#include "core/checked.hpp"
#include "core/guard.hpp"
#include "exec/budget.hpp"
#include "ops/chain.hpp"
#include "ops/common.hpp"
#include "ops/compute.hpp"
#include "ops/dispatch.hpp"
#include "ops/element/element.hpp"
#include "ops/fourier/fourier.hpp"
#include "penstock/ops.hpp"

namespace penstock {
namespace {

using namespace fourier;

/// A complex image and room for another: passes of a transform go from one to the other.
template <class C>
struct Image {
  Buffer memory[2];
  Complex<C>* at = nullptr;
  Complex<C>* other = nullptr;

  static Result<Image> make(std::uint64_t count, const Workspace& work) {
    Image image;
    for (Buffer& m : image.memory) {
      PENSTOCK_ASSIGN(m, work.scratch(count * sizeof(Complex<C>)));
    }
    image.at = reinterpret_cast<Complex<C>*>(image.memory[0].data());
    image.other = reinterpret_cast<Complex<C>*>(image.memory[1].data());
    return image;
  }
  Status turn(const Shape& shape, bool inverse, Roots<C>& roots, const Workspace& work) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      PENSTOCK_ASSIGN(Complex<C>* const made, transform(at, other, Lines::of(shape, d), inverse, roots, work));
      if (made != at) std::swap(at, other);
    }
    return {};
  }
};

/// Place of the largest amplitude, and the number there.
struct Peak {
  std::vector<std::uint64_t> at;
  std::complex<double> value;
};

template <class C>
class Correlation {
 public:
  Correlation(const TensorView& reference, const TensorView& moving, const PhaseCorrelationOptions& how,
              const Workspace& work)
      : a_(reference), b_(moving), how_(how), work_(work), shape_(reference.shape) {}

  Result<PhaseCorrelation> run() {
    PENSTOCK_ASSIGN(count_, element_count(shape_));
    PENSTOCK_ASSIGN(Image<C> image, Image<C>::make(count_, work_));
    double a_squares = 0, b_squares = 0;
    PENSTOCK_TRY(load(image, a_squares, b_squares));
    PENSTOCK_TRY(image.turn(shape_, false, roots_, work_));
    PENSTOCK_TRY(correlate(image, a_squares, b_squares));
    PENSTOCK_ASSIGN(Image<C> spectrum, Image<C>::make(how_.upsample > 1 ? count_ : 0, work_));
    if (how_.upsample > 1)
      PENSTOCK_TRY(copy_async(spectrum.at, device(), image.at, device(), count_ * sizeof(Complex<C>), work_.stream));
    PENSTOCK_TRY(image.turn(shape_, true, roots_, work_));
    PENSTOCK_ASSIGN(Peak peak, largest(image.at, shape_));
    peak.value /= static_cast<double>(count_);
    PhaseCorrelation made;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const auto at = static_cast<double>(peak.at[d]), n = static_cast<double>(shape_[d]);
      made.shift.push_back(at > std::floor(n / 2) ? at - n : at);
    }
    double amplitude = a_squares * b_squares;
    if (how_.upsample > 1) {
      PENSTOCK_ASSIGN(peak.value, refine(spectrum.at, made.shift));
      amplitude *= static_cast<double>(count_) * static_cast<double>(count_);
    }
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (shape_[d] == 1) made.shift[d] = 0;
    if (!std::isfinite(amplitude)) return bad_argument("the images hold NaN or infinite elements");
    made.error = std::sqrt(std::abs(1 - std::norm(peak.value) / amplitude));
    made.phase = std::arg(peak.value);
    return made;
  }

 private:
  [[nodiscard]] Device device() const { return work_.stream.device(); }

  /// The elements as numbers of C: themselves, or a copy in `held`.
  Result<const C*> numbers(const TensorView& from, Buffer& held) const {
    const DType computed = sizeof(C) == 4 ? DType::float32() : DType::float64();
    if (from.dtype == computed && from.is_contiguous()) return static_cast<const C*>(from.data);
    Chain chain(ArrayInfo{from.dtype, from.shape});
    if (from.dtype != computed) chain.add(element::make_cast(chain.output(), computed, Rounding::truncate));
    PENSTOCK_ASSIGN(held, work_.scratch(count_ * sizeof(C)));
    PENSTOCK_ASSIGN(const TensorView real, TensorView::packed(held.data(), computed, shape_, work_.stream));
    PENSTOCK_TRY(chain.run({from, whole(shape_)}, {real, whole(shape_)}, work_));
    return reinterpret_cast<const C*>(held.data());
  }

  /// What goes through all elements once, in a few lanes.
  [[nodiscard]] Shared shared(std::uint64_t count) const {
    return {count, std::min<std::uint64_t>(work_.on_device() ? 4096 : 64, count), !work_.on_device()};
  }

  /// Both images as the two parts of one, and the sums of their squares.
  Status load(Image<C>& image, double& a_squares, double& b_squares) const {
    Buffer a_held, b_held;
    PENSTOCK_ASSIGN(const C* const a, numbers(a_, a_held));
    PENSTOCK_ASSIGN(const C* const b, numbers(b_, b_held));
    const Shared share = shared(count_);
    PENSTOCK_ASSIGN(const Buffer there, work_.scratch(2 * share.lanes * sizeof(double)));
    PENSTOCK_TRY(fourier::run(Squares<C>{a, b, share, reinterpret_cast<double*>(there.data())}, share.lanes, work_));
    std::vector<double> sums(2 * share.lanes);
    PENSTOCK_TRY(copy_async(sums.data(), {}, there.data(), device(), sums.size() * sizeof(double), work_.stream));
    PENSTOCK_TRY(work_.stream.synchronize());
    const auto middle = sums.begin() + static_cast<std::ptrdiff_t>(share.lanes);
    a_squares = std::accumulate(sums.begin(), middle, 0.0);
    b_squares = std::accumulate(middle, sums.end(), 0.0);
    const Pair<C> pair{a, b, image.at, static_cast<C>(scale(a_squares)), static_cast<C>(scale(b_squares))};
    return fourier::run(pair, count_, work_);
  }
  /// Images whose numbers are alike leave each other's digits alone.
  [[nodiscard]] double scale(double squares) const {
    const double root = std::sqrt(squares / static_cast<double>(count_));
    return std::isnormal(root) ? 1 / root : 1;
  }

  Status correlate(Image<C>& image, double a_squares, double b_squares) const {
    CrossSpectrum<C> job{};
    job.in = image.at;
    job.out = image.other;
    job.dimensions = static_cast<std::uint32_t>(shape_.size());
    std::ranges::copy(shape_, job.extent);
    const std::uint64_t width = shape_.back();
    job.apart = work_.on_device() ? div_up(width, 4) : 1;
    job.scale = static_cast<C>(0.25 / scale(a_squares) / scale(b_squares));
    job.whiten = how_.whiten;
    job.least = static_cast<C>(100) * std::numeric_limits<C>::epsilon();
    std::swap(image.at, image.other);
    return fourier::run(job, count_ / width * job.apart, work_);
  }

  Result<Peak> largest(const Complex<C>* in, const Shape& shape) const {
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape));
    const Shared share = shared(count);
    const std::uint64_t bytes = share.lanes * sizeof(Found<C>);
    PENSTOCK_ASSIGN(const Buffer there, work_.scratch(bytes));
    PENSTOCK_TRY(fourier::run(Largest<C>{in, share, reinterpret_cast<Found<C>*>(there.data())}, share.lanes, work_));
    std::vector<Found<C>> found(share.lanes);
    PENSTOCK_TRY(copy_async(found.data(), {}, there.data(), device(), bytes, work_.stream));
    PENSTOCK_TRY(work_.stream.synchronize());
    Found<C> best = found.front();
    for (const Found<C>& f : found)
      if (f.size > best.size || (f.size == best.size && f.at < best.at)) best = f;
    Peak peak;
    peak.value = {static_cast<double>(best.value.re), static_cast<double>(best.value.im)};
    peak.at.resize(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; best.at /= shape[d]) peak.at[d] = best.at % shape[d];
    return peak;
  }

  /// The peak between elements: the correlation is made anew on a fine grid around it, axis by axis.
  Result<std::complex<double>> refine(const Complex<C>* spectrum, std::vector<double>& shift) const {
    const auto fine = static_cast<double>(how_.upsample);
    const auto points = static_cast<std::uint64_t>(std::ceil(fine * 1.5));
    const double middle = std::floor(static_cast<double>(points) / 2);
    Shape shape = shape_;
    std::vector<Buffer> made;
    const Complex<C>* from = spectrum;
    for (std::size_t d = shape.size(); d-- > 0;) {
      shift[d] = std::nearbyint(shift[d] * fine) / fine;
      const Lines lines = Lines::of(shape, d);
      shape[d] = points;
      PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape));
      PENSTOCK_ASSIGN(Buffer next, work_.scratch(count * sizeof(Complex<C>)));
      auto* const to = reinterpret_cast<Complex<C>*>(next.data());
      const Zoomed<C> job{from, to, lines.n, lines.inner, points, shift[d] - middle / fine, 1 / fine};
      PENSTOCK_TRY(fourier::run(job, count, work_));
      made.push_back(std::move(next));
      from = to;
    }
    PENSTOCK_ASSIGN(const Peak peak, largest(from, shape));
    for (std::size_t d = 0; d < shape.size(); ++d) shift[d] += (static_cast<double>(peak.at[d]) - middle) / fine;
    return peak.value;
  }

  const TensorView &a_, &b_;
  const PhaseCorrelationOptions& how_;
  const Workspace& work_;
  Shape shape_;
  std::uint64_t count_ = 0;
  Roots<C> roots_;
};

Status check(const TensorView& a, const TensorView& b, const PhaseCorrelationOptions& how) {
  PENSTOCK_TRY(a.check());
  PENSTOCK_TRY(b.check());
  if (a.shape != b.shape)
    return bad_argument(
        fmt::format("images of shapes {} and {} cannot be compared", to_string(a.shape), to_string(b.shape)));
  if (std::ranges::find(a.shape, 0u) != a.shape.end() || a.shape.empty())
    return bad_argument("the images have no elements");
  if (a.device != b.device) return bad_argument("the images are on different devices");
  for (const TensorView* view : {&a, &b})
    if (!is_operand(view->dtype)) return Error(ErrorCode::unsupported, "no elements of type " + view->dtype.name());
  if (how.upsample < 1 || how.upsample > 10000)
    return bad_argument(fmt::format("upsample {}: must be 1 to 10000", how.upsample));
  return {};
}

}  // namespace

Result<PhaseCorrelation> phase_correlation(const TensorView& reference, const TensorView& moving,
                                           const PhaseCorrelationOptions& how, const Options& options) {
  return guarded([&]() -> Result<PhaseCorrelation> {
    PENSTOCK_TRY(check(reference, moving, how));
    const bool wide =
        compute_for(reference.dtype, false) == Compute::float64 || compute_for(moving.dtype, false) == Compute::float64;
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(reference.shape));
    const std::uint64_t item = wide ? sizeof(double) : sizeof(float);
    // Both as one image and what it is transformed into, its spectrum, as complex numbers, and each as real ones.
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, saturating_mul(count, 9 * item)));
    PENSTOCK_ASSIGN(const auto memory, working_memory(reference.device, options));
    Job job(options, "phase_correlation", count * item, allowed.threads);
    const Workspace work{&job, reference.stream, memory};
    Result<PhaseCorrelation> made = PhaseCorrelation();
    const Status status = job.run([&]() -> Status {
      made = wide ? Correlation<double>(reference, moving, how, work).run()
                  : Correlation<float>(reference, moving, how, work).run();
      return made ? Status() : Status(made.error());
    });
    if (!status) return status.error();
    return made;
  });
}

}  // namespace penstock
