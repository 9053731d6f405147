#include "oct/transform/offset.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::oct {
namespace {

using transform::Guess;
using transform::ImageView;

constexpr std::int64_t kFine = 6;               // pixels that one level looks through in each direction
constexpr std::int64_t kAround = 3;             // and about what the coarser one has found
constexpr std::uint64_t kLeastToHalve = 32;     // pixels along a side
constexpr std::uint64_t kMostScores = 1 << 20;  // in memory at a time

struct Whole {
  std::int64_t row = 0, col = 0;
  double score = transform::kNotAlike;
  [[nodiscard]] bool found() const { return score > transform::kNotAlike; }
};

/// All images at half the size, one after another in `held`.
Result<std::vector<ImageView>> halve(std::span<const ImageView> images, Numbers<float>& held, const Workspace& work) {
  std::uint64_t pixels = 0;
  for (const ImageView& image : images) pixels += (image.rows / 2) * (image.cols / 2);
  PENSTOCK_ASSIGN(held, Numbers<float>::make(pixels, work));
  std::vector<ImageView> halves;
  float* to = held.at();
  for (const ImageView& image : images) {
    halves.push_back({to, image.rows / 2, image.cols / 2, image.cols / 2});
    PENSTOCK_TRY(run_work(transform::HalveImage{image, to}, halves.back().rows * halves.back().cols, work));
    to += halves.back().rows * halves.back().cols;
  }
  return halves;
}

/// The scores of all offsets within reach of each pair, by rows, then by columns: `take(pair, scores)` in the order of
/// the pairs.  Of so many at a time that they need the same memory however many pairs there are.
template <class F>
Status each_scores_near(std::span<const ImageView> images, std::span<const ImagePair> pairs, std::span<const Whole> at,
                        std::int64_t reach, const Workspace& work, const F& take) {
  const auto offsets = static_cast<std::size_t>((2 * reach + 1) * (2 * reach + 1));
  const std::size_t share = std::max<std::size_t>(kMostScores / offsets, 1);
  for (std::size_t first = 0; first < pairs.size(); first += share) {
    const std::size_t count = std::min(share, pairs.size() - first);
    std::vector<Guess> guesses;
    for (std::size_t k = first; k < first + count; ++k)
      guesses.push_back({images[pairs[k].fixed], images[pairs[k].moving], at[k].row, at[k].col});
    PENSTOCK_ASSIGN(const Numbers<Guess> there, Numbers<Guess>::make(guesses, work));
    PENSTOCK_ASSIGN(const Numbers<double> out, Numbers<double>::make(count * offsets, work));
    PENSTOCK_TRY(run_work(transform::Correlate{there.at(), reach, out.at()}, out.count(), work, 1));
    std::vector<double> held;
    PENSTOCK_ASSIGN(const std::span<const double> scores, out.here(held, work));
    for (std::size_t k = 0; k < count; ++k) take(first + k, scores.subspan(k * offsets, offsets));
  }
  return {};
}

/// The best whole offset of each pair; of equals the first.
Result<std::vector<Whole>> best_near(std::span<const ImageView> images, std::span<const ImagePair> pairs,
                                     std::span<const Whole> guesses, std::int64_t reach, const Workspace& work) {
  const std::int64_t side = 2 * reach + 1;
  std::vector<Whole> best(pairs.size());
  PENSTOCK_TRY(
      each_scores_near(images, pairs, guesses, reach, work, [&](std::size_t k, std::span<const double> scores) {
        for (std::int64_t i = 0; i < side * side; ++i)
          if (const double score = scores[static_cast<std::size_t>(i)]; score > best[k].score)
            best[k] = {guesses[k].row - reach + i / side, guesses[k].col - reach + i % side, score};
      }));
  return best;
}

Result<std::vector<Whole>> search(std::span<const ImageView> images, std::span<const ImagePair> pairs,
                                  std::span<const Whole> guesses, std::int64_t reach, const Workspace& work) {
  const bool small = std::ranges::any_of(
      images, [](const ImageView& image) { return std::min(image.rows, image.cols) < kLeastToHalve; });
  if (reach <= kFine || small) return best_near(images, pairs, guesses, reach, work);
  Numbers<float> held;
  PENSTOCK_ASSIGN(const std::vector<ImageView> halves, halve(images, held, work));
  std::vector<Whole> half(guesses.begin(), guesses.end());
  for (Whole& guess : half) guess.row /= 2, guess.col /= 2;
  PENSTOCK_ASSIGN(std::vector<Whole> coarse, search(halves, pairs, half, (reach + 1) / 2, work));
  std::vector<Whole> twice = coarse;
  for (Whole& guess : twice) guess.row *= 2, guess.col *= 2;
  PENSTOCK_ASSIGN(std::vector<Whole> fine, best_near(images, pairs, twice, kAround, work));
  for (std::size_t k = 0; k < fine.size(); ++k)
    if (!coarse[k].found()) fine[k] = {};
  return fine;
}

/// Of the parabola through three neighbours, from the middle one.
double fraction(double before, double here, double after) {
  const double curve = before - 2 * here + after;
  if (before < -1 || after < -1 || !(curve < 0)) return 0;
  return std::clamp(0.5 * (before - after) / curve, -0.5, 0.5);
}

}  // namespace

Result<std::vector<std::optional<Offset>>> find_offsets(std::span<const ImageView> images,
                                                        std::span<const ImagePair> pairs, std::uint64_t reach,
                                                        const Workspace& work) {
  std::vector<std::optional<Offset>> offsets(pairs.size());
  if (pairs.empty()) return offsets;
  std::vector<Whole> guesses;
  for (const ImagePair& pair : pairs) guesses.push_back({std::llround(pair.guess.row), std::llround(pair.guess.col)});
  PENSTOCK_ASSIGN(const std::vector<Whole> best,
                  search(images, pairs, guesses, static_cast<std::int64_t>(reach), work));
  PENSTOCK_TRY(each_scores_near(images, pairs, best, 1, work, [&](std::size_t k, std::span<const double> around) {
    if (!best[k].found()) return;
    const double* const here = around.data() + 4;  // of 3 x 3
    offsets[k] = Offset{static_cast<double>(best[k].row) + fraction(here[-3], here[0], here[3]),
                        static_cast<double>(best[k].col) + fraction(here[-1], here[0], here[1]), here[0]};
  }));
  return offsets;
}

Result<std::optional<Offset>> find_offset(const ImageView& fixed, const ImageView& moving, const Offset& guess,
                                          std::uint64_t reach, const Workspace& work) {
  const ImageView images[] = {fixed, moving};
  const ImagePair pair{0, 1, guess};
  PENSTOCK_ASSIGN(const auto found, find_offsets(images, std::span(&pair, 1), reach, work));
  return found[0];
}

}  // namespace penstock::oct
