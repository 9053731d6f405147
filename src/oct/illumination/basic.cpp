#include "oct/illumination/basic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oct/illumination/basic_kernel.hpp"
#include "oct/tiles/kernel.hpp"
#include "oct/work.hpp"
#include "ops/chain.hpp"

namespace penstock::oct {
namespace {

using namespace basic;

// The paper's and its programs' choices.
constexpr double kFirstPenalty = 12.5;  // over the largest singular value of the images
constexpr double kGrowth = 1.5;         // of the penalty, each iteration
constexpr double kMostGrowth = 1e7;     // in all
constexpr double kEpsilon = 0.1;        // of weights
constexpr double kTiny = 1e-6;
constexpr double kCosinesPerPrice = 800;
constexpr int kMaxPowers = 30;  // for the largest singular value

using PlaneList = std::vector<std::uint32_t>;

class Solver {
 public:
  Solver(const TensorView& images, const BasicOptions& how, const Workspace& work)
      : how_(how),
        work_(work),
        images_(static_cast<const float*>(images.data)),
        planes_(images.shape[0]),
        tiles_(images.shape[1]),
        rows_(images.shape[2]),
        cols_(images.shape[3]),
        pixels_(rows_ * cols_) {}

  Result<BasicFit> solve() {
    PENSTOCK_TRY(reserve());
    PENSTOCK_TRY(measure());
    PlaneList left;
    for (std::uint32_t p = 0; p < planes_; ++p)
      if (norm_[p] > 0 && mean_[p] > 0) left.push_back(p);
    fit_.dark = planes_ - left.size();
    for (std::uint32_t round = 0; round < how_.max_rounds && !left.empty(); ++round) {
      PENSTOCK_TRY(alternate(left));
      PENSTOCK_TRY(end_round(left, round + 1 == how_.max_rounds, round == 0));
    }
    PENSTOCK_ASSIGN(fit_.fields, last_.get(planes_ * pixels_, work_));
    for (std::uint32_t p = 0; p < planes_; ++p) {
      float* const f = fit_.fields.data() + p * pixels_;
      if (!(std::accumulate(f, f + pixels_, 0.0) > 0)) std::fill_n(f, pixels_, 1.0F);
    }
    return std::move(fit_);
  }

 private:
  Status reserve() {
    const std::uint64_t all = planes_ * tiles_ * pixels_;
    for (Numbers<float>* big : {&residue_, &multipliers_, &weights_}) {
      PENSTOCK_ASSIGN(*big, Numbers<float>::make(all, work_));
    }
    for (Numbers<float>* field : {&field_, &last_, &wanted_, &cosines_, &squares_}) {
      PENSTOCK_ASSIGN(*field, Numbers<float>::make(planes_ * pixels_, work_));
    }
    for (Numbers<float>* number : {&penalty_there_, &by_penalty_, &by_weight_, &by_mean_, &price_there_}) {
      PENSTOCK_ASSIGN(*number, Numbers<float>::make(planes_, work_));
    }
    for (Numbers<float>* number : {&brightness_, &brighter_, &numbers_}) {
      PENSTOCK_ASSIGN(*number, Numbers<float>::make(planes_ * tiles_, work_));
    }
    PENSTOCK_ASSIGN(parts_, Numbers<float>::make(planes_ * tiles_ * kLanes, work_));
    PENSTOCK_ASSIGN(totals_, Numbers<double>::make(planes_ * tiles_, work_));
    PENSTOCK_ASSIGN(sums_, Numbers<double>::make(planes_ * kLanes, work_));
    PENSTOCK_ASSIGN(more_sums_, Numbers<double>::make(planes_ * kLanes, work_));
    PENSTOCK_ASSIGN(active_, Numbers<std::uint32_t>::make(planes_, work_));
    PENSTOCK_ASSIGN(which_, Numbers<std::uint32_t>::make(planes_, work_));
    fit_.iterations.assign(planes_, 0);
    PENSTOCK_TRY(fill(weights_, 1));
    PENSTOCK_TRY(fill(last_, 0));
    return by_weight_.set(std::vector<float>(planes_, 1.0F), work_);
  }

  Status fill(const Numbers<float>& numbers, float value) {
    return run_work(tiles::Fill{numbers.at(), value}, numbers.count(), work_);
  }
  /// The planes that are worked on from now on.
  Result<Planes> choose(const PlaneList& list) {
    PENSTOCK_TRY(active_.set(list, work_));
    return Planes{active_.at(), list.size(), tiles_, pixels_};
  }
  /// Of kLanes parts each.
  Result<std::vector<double>> whole_sums(const Numbers<double>& parts, std::uint64_t count) {
    PENSTOCK_ASSIGN(const std::vector<double> all, parts.get(count * kLanes, work_));
    std::vector<double> sums(count);
    for (std::uint64_t a = 0; a < count; ++a)
      for (std::uint64_t lane = 0; lane < kLanes; ++lane) sums[a] += all[a * kLanes + lane];
    return sums;
  }
  Result<std::vector<double>> field_sums(const float* fields, const std::uint32_t* active, std::uint64_t count,
                                         bool absolute) {
    PENSTOCK_TRY(run_work(FieldSums{fields, active, pixels_, absolute, sums_.at()}, count * kLanes, work_, kLanes));
    return whole_sums(sums_, count);
  }
  /// Sums over images, from the parts of them.
  Status total(const Planes& planes) {
    return run_work(Total{parts_.at(), totals_.at()}, planes.count * tiles_, work_);
  }
  /// Cosines of images, or back.
  Status transform(float* from, float* to, std::uint64_t count, int type) {
    const Shape shape = {count, rows_, cols_};
    const OpCall call{
        "dct", type == 2 ? R"({"type":2,"axes":[1,2],"norm":"ortho"})" : R"({"type":3,"axes":[1,2],"norm":"ortho"})"};
    PENSTOCK_ASSIGN(const Chain chain, Chain::make({DType::float32(), shape}, std::span(&call, 1)));
    PENSTOCK_ASSIGN(const TensorView in, TensorView::packed(from, DType::float32(), shape, work_.stream));
    PENSTOCK_ASSIGN(const TensorView out, TensorView::packed(to, DType::float32(), shape, work_.stream));
    return chain.run({in, whole(shape)}, {out, whole(shape)}, work_);
  }

  [[nodiscard]] Update update(const Planes& planes) const {
    return {planes,
            images_,
            residue_.at(),
            field_.at(),
            brightness_.at(),
            brighter_.at(),
            penalty_there_.at(),
            by_penalty_.at(),
            multipliers_.at(),
            wanted_.at(),
            squares_.at()};
  }
  /// Nothing is explained yet; what the field must become is the mean image.
  Status begin(const Planes& planes) {
    for (const Numbers<float>* zero : {&residue_, &multipliers_, &field_}) PENSTOCK_TRY(fill(*zero, 0));
    PENSTOCK_TRY(fill(brightness_, 1));
    PENSTOCK_TRY(fill(brighter_, 1));
    PENSTOCK_TRY(penalty_there_.set(std::vector<float>(planes_, 0.0F), work_));
    PENSTOCK_TRY(by_penalty_.set(std::vector<float>(planes_, 1.0F), work_));
    return run_lanes(update(planes), work_);
  }

  /// Of each plane its size, its mean, its largest singular value, and the price of cosines.
  Status measure() {
    PlaneList all(planes_);
    std::iota(all.begin(), all.end(), 0U);
    PENSTOCK_ASSIGN(const Planes planes, choose(all));
    PENSTOCK_TRY(begin(planes));
    PENSTOCK_ASSIGN(norm_, field_sums(squares_.at(), nullptr, planes_, false));
    for (double& v : norm_) v = std::sqrt(v);
    PENSTOCK_ASSIGN(mean_, field_sums(wanted_.at(), nullptr, planes_, false));
    PENSTOCK_TRY(transform(wanted_.at(), cosines_.at(), planes_, 2));
    PENSTOCK_ASSIGN(const std::vector<double> cosines, field_sums(cosines_.at(), nullptr, planes_, true));
    std::vector<float> price(planes_);
    for (std::uint64_t p = 0; p < planes_; ++p) {
      mean_[p] /= static_cast<double>(pixels_);
      price[p] = static_cast<float>(how_.smoothness > 0 ? how_.smoothness
                                    : mean_[p] > 0      ? cosines[p] / mean_[p] / kCosinesPerPrice
                                                        : 0);
    }
    PENSTOCK_TRY(price_there_.set(price, work_));
    return measure_largest(planes);
  }

  /// By powers of the images times themselves, from the mean image on, which is nearly what is looked for.
  Status measure_largest(const Planes& planes) {
    largest_.assign(planes_, 0);
    std::vector<bool> settled(planes_);  // each by itself: what a plane gives does not hang on its neighbours
    for (int power = 0; power < kMaxPowers; ++power) {
      PENSTOCK_TRY(work_.job->check());
      PENSTOCK_TRY(run_lanes(Project{planes, images_, wanted_.at(), parts_.at()}, work_));
      PENSTOCK_TRY(total(planes));
      PENSTOCK_ASSIGN(const std::vector<double> u, totals_.get(planes_ * tiles_, work_));
      std::vector<float> unit(u.size());
      for (std::uint64_t p = 0; p < planes_; ++p) {
        double square = 0;
        for (std::uint64_t n = 0; n < tiles_; ++n) square += u[p * tiles_ + n] * u[p * tiles_ + n];
        const double length = std::sqrt(square), value = std::sqrt(length);
        if (!settled[p]) {
          settled[p] = power > 1 && std::abs(value - largest_[p]) <= kTiny * value;
          largest_[p] = value;
        }
        for (std::uint64_t n = 0; n < tiles_ && length > 0; ++n)
          unit[p * tiles_ + n] = static_cast<float>(u[p * tiles_ + n] / length);
      }
      if (std::ranges::all_of(settled, [](bool s) { return s; })) break;
      PENSTOCK_TRY(numbers_.set(unit, work_));
      PENSTOCK_TRY(run_lanes(Combine{planes, images_, numbers_.at(), wanted_.at()}, work_));
    }
    return {};
  }

  /// One round: field, brightness and residue in turn, until together they explain the images.
  Status alternate(PlaneList left) {
    PENSTOCK_ASSIGN(Planes planes, choose(left));
    std::vector<float> penalty(planes_, 1), by(planes_, 1);
    std::vector<double> mu(planes_, 1);
    for (const std::uint32_t p : left) {
      mu[p] = kFirstPenalty / largest_[p];
      by[p] = static_cast<float>(1 / mu[p]);
    }
    PENSTOCK_TRY(begin(planes));
    PENSTOCK_TRY(by_penalty_.set(by, work_));
    for (std::uint32_t iteration = 0; !left.empty(); ++iteration) {
      PENSTOCK_TRY(work_.job->check());
      if (iteration == how_.max_iterations) {
        unfinished_.insert(unfinished_.end(), left.begin(), left.end());
        break;
      }
      PENSTOCK_TRY(step_field(planes));
      PENSTOCK_TRY(step_residue(planes));
      for (const std::uint32_t p : left) {
        penalty[p] = static_cast<float>(mu[p]);
        mu[p] = std::min(mu[p] * kGrowth, kMostGrowth * kFirstPenalty / largest_[p]);
        by[p] = static_cast<float>(1 / mu[p]);
        ++fit_.iterations[p];
      }
      PENSTOCK_TRY(penalty_there_.set(penalty, work_));
      PENSTOCK_TRY(by_penalty_.set(by, work_));
      PENSTOCK_TRY(run_lanes(update(planes), work_));
      PENSTOCK_TRY(run_work(Adopt{planes, brighter_.at(), brightness_.at()}, planes.count * tiles_, work_));
      PENSTOCK_ASSIGN(const std::vector<double> squares, field_sums(squares_.at(), nullptr, left.size(), false));
      PENSTOCK_ASSIGN(planes, keep_unsolved(left, squares));
    }
    return {};
  }
  /// The field, sparse among cosines.
  Status step_field(const Planes& planes) {
    const std::uint64_t pixels = planes.count * pixels_;
    PENSTOCK_TRY(transform(wanted_.at(), cosines_.at(), planes.count, 2));
    PENSTOCK_TRY(run_work(Threshold{planes, price_there_.at(), by_penalty_.at(), cosines_.at()}, pixels, work_));
    PENSTOCK_TRY(transform(cosines_.at(), wanted_.at(), planes.count, 3));
    return run_work(Scatter{planes, wanted_.at(), field_.at()}, pixels, work_);
  }
  /// What stands out, and how bright what is left of each image is.
  Status step_residue(const Planes& planes) {
    PENSTOCK_TRY(run_lanes(Shrink{planes, images_, multipliers_.at(), weights_.at(), field_.at(), brightness_.at(),
                                  by_penalty_.at(), by_weight_.at(), residue_.at(), parts_.at()},
                           work_));
    PENSTOCK_TRY(total(planes));
    return run_work(Brightness{planes, totals_.at(), brighter_.at()}, planes.count * tiles_, work_, 64);
  }
  Result<Planes> keep_unsolved(PlaneList& left, const std::vector<double>& squares) {
    PlaneList kept, which;
    for (std::uint32_t a = 0; a < left.size(); ++a)
      if (!(std::sqrt(squares[a]) <= how_.tolerance * norm_[left[a]])) kept.push_back(left[a]), which.push_back(a);
    if (kept.size() == left.size()) return Planes{active_.at(), left.size(), tiles_, pixels_};
    left = kept;
    PENSTOCK_TRY(which_.set(which, work_));
    PENSTOCK_TRY(run_work(Gather{wanted_.at(), which_.at(), pixels_, cosines_.at()}, kept.size() * pixels_, work_));
    std::swap(wanted_, cosines_);
    return choose(kept);
  }

  /// Keeps the fields, says which planes have another round, and weights it.
  Status end_round(PlaneList& left, bool last, bool first) {
    PENSTOCK_ASSIGN(Planes planes, choose(left));
    PENSTOCK_ASSIGN(const std::vector<double> sums, field_sums(field_.at(), active_.at(), left.size(), false));
    PENSTOCK_ASSIGN(const std::vector<float> brightness, brightness_.get(planes_ * tiles_, work_));
    std::vector<float> by_field(planes_, 0), by_explained(planes_ * tiles_, 0);
    for (std::size_t a = 0; a < left.size(); ++a) {
      const double mean = sums[a] / static_cast<double>(pixels_);
      by_field[left[a]] = mean > 0 ? static_cast<float>(1 / mean) : 0;
      for (std::uint64_t n = left[a] * tiles_; n < (left[a] + 1) * tiles_; ++n)
        by_explained[n] = static_cast<float>(1 / (mean * static_cast<double>(brightness[n]) + kTiny));
    }
    PENSTOCK_TRY(by_mean_.set(by_field, work_));
    PENSTOCK_TRY(run_work(Change{planes, field_.at(), by_mean_.at(), last_.at(), sums_.at(), more_sums_.at()},
                          left.size() * kLanes, work_, kLanes));
    PENSTOCK_ASSIGN(const std::vector<double> change, whole_sums(sums_, left.size()));
    PENSTOCK_ASSIGN(const std::vector<double> size, whole_sums(more_sums_, left.size()));
    PlaneList kept;
    for (std::size_t a = 0; a < left.size(); ++a) {
      const bool settled = by_field[left[a]] == 0 || (!first && change[a] <= how_.round_tolerance * size[a]);
      if (!settled && !last) kept.push_back(left[a]);
    }
    for (const std::uint32_t p : unfinished_)  // a later round may still end by itself
      if (std::ranges::find(kept, p) == kept.end()) ++fit_.unfinished;
    unfinished_.clear();
    left = std::move(kept);
    return left.empty() ? Status() : reweight(left, by_explained);
  }
  Status reweight(const PlaneList& left, const std::vector<float>& by_explained) {
    PENSTOCK_ASSIGN(const Planes planes, choose(left));
    PENSTOCK_TRY(numbers_.set(by_explained, work_));
    PENSTOCK_TRY(run_lanes(
        Reweight{planes, residue_.at(), numbers_.at(), static_cast<float>(kEpsilon), weights_.at(), parts_.at()},
        work_));
    PENSTOCK_TRY(total(planes));
    PENSTOCK_ASSIGN(const std::vector<double> sums, totals_.get(left.size() * tiles_, work_));
    std::vector<float> by(planes_, 1);
    for (std::size_t a = 0; a < left.size(); ++a) {
      const auto from = sums.begin() + static_cast<std::ptrdiff_t>(a * tiles_);
      const double sum = std::accumulate(from, from + static_cast<std::ptrdiff_t>(tiles_), 0.0);
      by[left[a]] = static_cast<float>(static_cast<double>(tiles_ * pixels_) / sum);
    }
    return by_weight_.set(by, work_);
  }

  const BasicOptions& how_;
  const Workspace& work_;
  const float* images_;
  std::uint64_t planes_, tiles_, rows_, cols_, pixels_;
  Numbers<float> residue_, multipliers_, weights_;                                 // (planes, tiles, pixels)
  Numbers<float> field_, last_;                                                    // (planes, pixels)
  Numbers<float> wanted_, cosines_, squares_;                                      // of the planes that are worked on
  Numbers<float> penalty_there_, by_penalty_, by_weight_, by_mean_, price_there_;  // of each plane
  Numbers<float> brightness_, brighter_, numbers_, parts_;
  Numbers<double> totals_, sums_, more_sums_;
  Numbers<std::uint32_t> active_, which_;
  std::vector<double> norm_, mean_, largest_;
  PlaneList unfinished_;
  BasicFit fit_;
};

}  // namespace

std::uint64_t basic_bytes(std::uint64_t planes, std::uint64_t tiles, std::uint64_t pixels) {
  const std::uint64_t image = saturating_add(saturating_mul(3 * sizeof(float), pixels), kLanes * sizeof(float) + 24);
  const std::uint64_t plane = saturating_add(saturating_mul(tiles, image), saturating_mul(12 * sizeof(float), pixels));
  return saturating_mul(planes, saturating_add(plane, 4096));
}

Result<BasicFit> fit_basic(const TensorView& images, const BasicOptions& how, const Workspace& work) {
  const auto bad = [](const char* what) { return Error(ErrorCode::invalid_argument, what); };
  if (images.shape.size() != 4 || images.dtype != DType::float32() || !images.is_contiguous())
    return bad("images of BaSiC are (planes, tiles, rows, columns), float32, in C order");
  PENSTOCK_ASSIGN(const std::uint64_t elements, images.elements());
  if (elements == 0) return bad("there are no images to make a flat field of");
  if (!(how.smoothness >= 0) || !(how.tolerance > 0) || !(how.round_tolerance >= 0) || how.max_iterations == 0 ||
      how.max_rounds == 0)
    return bad("smoothness and tolerances of BaSiC are not negative, and there is at least one iteration");
  return Solver(images, how, work).solve();
}

}  // namespace penstock::oct
