// By how much one image is moved against another: the place of the largest correlation, found among frequencies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

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
  Status turn(const Shape& shape, bool inverse, const Workspace& work) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      PENSTOCK_ASSIGN(Complex<C>* const made, transform(at, other, Lines::of(shape, d), inverse, work));
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
    PENSTOCK_ASSIGN(Image<C> a, Image<C>::make(count_, work_));
    double a_squares = 0, b_squares = 0;
    {
      PENSTOCK_ASSIGN(Image<C> b, Image<C>::make(count_, work_));
      PENSTOCK_TRY(load(a_, a, a_squares));
      PENSTOCK_TRY(load(b_, b, b_squares));
      const auto least = static_cast<C>(100) * std::numeric_limits<C>::epsilon();
      PENSTOCK_TRY(fourier::run(CrossSpectrum<C>{a.at, b.at, how_.whiten, least}, count_, work_));
    }
    PENSTOCK_ASSIGN(Image<C> spectrum, Image<C>::make(how_.upsample > 1 ? count_ : 0, work_));
    if (how_.upsample > 1)
      PENSTOCK_TRY(copy_async(spectrum.at, device(), a.at, device(), count_ * sizeof(Complex<C>), work_.stream));
    PENSTOCK_TRY(a.turn(shape_, true, work_));
    PENSTOCK_ASSIGN(Peak peak, largest(a.at, shape_));
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

  /// The transform of an image, and the sum of its squares.
  Status load(const TensorView& from, Image<C>& to, double& squares) const {
    Chain chain(ArrayInfo{from.dtype, from.shape});
    const DType computed = sizeof(C) == 4 ? DType::float32() : DType::float64();
    if (from.dtype != computed) chain.add(element::make_cast(chain.output(), computed, Rounding::truncate));
    PENSTOCK_ASSIGN(const Buffer memory, work_.scratch(count_ * sizeof(C)));
    PENSTOCK_ASSIGN(const TensorView real, TensorView::packed(memory.data(), computed, shape_, work_.stream));
    PENSTOCK_TRY(chain.run({from, whole(shape_)}, {real, whole(shape_)}, work_));
    PENSTOCK_TRY(fourier::run(ToComplex<C>{reinterpret_cast<const C*>(memory.data()), to.at}, count_, work_));
    PENSTOCK_ASSIGN(squares, sum_of_squares(real));
    return to.turn(shape_, false, work_);
  }
  /// From variance and mean, in double.
  Result<double> sum_of_squares(const TensorView& real) const {
    const OpCall calls[] = {{"variance", "{}"}, {"mean", "{}"}};
    double values[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
      PENSTOCK_ASSIGN(const Chain chain, Chain::make({real.dtype, real.shape}, {&calls[i], 1}));
      PENSTOCK_ASSIGN(const Buffer memory, work_.scratch(sizeof(double)));
      PENSTOCK_ASSIGN(const TensorView out, TensorView::packed(memory.data(), chain.output().dtype, {}, work_.stream));
      PENSTOCK_TRY(chain.run({real, whole(shape_)}, {out, {}}, work_));
      C value = 0;
      PENSTOCK_TRY(copy_async(&value, {}, memory.data(), device(), sizeof value, work_.stream));
      PENSTOCK_TRY(work_.stream.synchronize());
      values[i] = static_cast<double>(value);
    }
    return (values[0] + values[1] * values[1]) * static_cast<double>(count_);
  }

  Result<Peak> largest(const Complex<C>* in, const Shape& shape) const {
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape));
    const std::uint64_t lanes = std::min<std::uint64_t>(count, std::uint64_t{1} << 16);
    PENSTOCK_ASSIGN(const Buffer values, work_.scratch(lanes * sizeof(C)));
    PENSTOCK_ASSIGN(const Buffer places, work_.scratch(lanes * sizeof(std::uint64_t)));
    const Largest<C> job{in, count, lanes, reinterpret_cast<C*>(values.data()),
                         reinterpret_cast<std::uint64_t*>(places.data())};
    PENSTOCK_TRY(fourier::run(job, lanes, work_));
    std::vector<C> value(lanes);
    std::vector<std::uint64_t> place(lanes);
    PENSTOCK_TRY(copy_async(value.data(), {}, values.data(), device(), lanes * sizeof(C), work_.stream));
    PENSTOCK_TRY(copy_async(place.data(), {}, places.data(), device(), lanes * sizeof(std::uint64_t), work_.stream));
    PENSTOCK_TRY(work_.stream.synchronize());
    std::uint64_t best = 0;
    for (std::uint64_t i = 1; i < lanes; ++i)
      if (value[i] > value[best] || (value[i] == value[best] && place[i] < place[best])) best = i;
    Complex<C> there{0, 0};
    PENSTOCK_TRY(copy_async(&there, {}, in + place[best], device(), sizeof there, work_.stream));
    PENSTOCK_TRY(work_.stream.synchronize());
    Peak peak;
    peak.value = {static_cast<double>(there.re), static_cast<double>(there.im)};
    peak.at.resize(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; place[best] /= shape[d]) peak.at[d] = place[best] % shape[d];
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
    // Both images and what each is transformed into, as complex numbers, and one as real ones.
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
