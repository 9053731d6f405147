#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/checked.hpp"
#include "ops/common.hpp"
#include "ops/downsample/downsample.hpp"

namespace penstock::downsample {
namespace {

/// Coarse elements that are worth a task of their own.
constexpr std::uint64_t kTask = 4096;

/// Weights of a Gaussian for each axis, one after another.
template <class C>
std::vector<C> gaussian_weights(const std::vector<std::uint32_t>& factors) {
  std::vector<C> weights;
  for (const std::uint32_t factor : factors) {
    const std::uint32_t taps = gaussian_taps(factor);
    const auto weight = [&](std::uint32_t k) {
      const double at = (k - (taps - 1) / 2.0) * 3 / factor;  // in standard deviations
      return std::exp(-0.5 * at * at);
    };
    double sum = 0;
    for (std::uint32_t k = 0; k < taps; ++k) sum += weight(k);
    for (std::uint32_t k = 0; k < taps; ++k) weights.push_back(static_cast<C>(weight(k) / sum));
  }
  return weights;
}

class DownsampleOperator final : public Operator {
 public:
  DownsampleOperator(const ArrayInfo& input, const ArrayInfo& output, std::vector<std::uint32_t> factors,
                     Downsample method)
      : Operator(input, output), factors_(std::move(factors)), method_(method) {
    if (method_ != Downsample::gaussian) return;
    if (weighs_in_float(input.dtype, block_size(factors_.data(), factors_.size())))
      floats_ = gaussian_weights<float>(factors_);
    else
      doubles_ = gaussian_weights<double>(factors_);
  }

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const auto factor = static_cast<std::int64_t>(factors_[d]), n = static_cast<std::int64_t>(input().shape[d]);
      const bool wide = method_ == Downsample::gaussian;
      const std::int64_t reach = wide ? gaussian_reach(factors_[d]) : 0;
      const std::int64_t first = static_cast<std::int64_t>(box[d].start) * factor;
      std::int64_t low = first - reach, high = first + static_cast<std::int64_t>(box[d].count) * factor - 1 + reach;
      if (wide && high >= n) low = std::min(low, 2 * n - 1 - high);  // what is mirrored there
      if (wide && low < 0) high = std::max(high, -1 - low);
      low = std::max<std::int64_t>(low, 0), high = std::min(high, n - 1);
      region.push_back({static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low + 1), 1});
    }
    return region;
  }

  [[nodiscard]] std::uint64_t scratch_bytes(const Region&) const override { return weight_bytes(); }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    PENSTOCK_ASSIGN(const std::uint64_t count, out.view.elements());
    Work blocks{method_, input().dtype, shape_of(in.box, out.box), in.view.data, out.view.data, weights()};
    if (work.on_device()) {
      PENSTOCK_ASSIGN(const Buffer on_device, work.upload(weights(), weight_bytes()));
      blocks.weights = on_device.data();
      return downsample_on_cuda(blocks, count, work.stream);
    }
    Status status;
    with_job(blocks, [&](const auto& element) {
      status = work.job->for_each(div_up(count, kTask), true, [&](std::uint64_t task) -> Status {
        const std::uint64_t last = std::min((task + 1) * kTask, count);
        for (std::uint64_t i = task * kTask; i < last; ++i) element(i);
        return {};
      });
    });
    return status;
  }

  [[nodiscard]] std::string text() const override {
    return fmt::format("{} of blocks of {} elements", name_of(method_), fmt::join(factors_, " x "));
  }

 private:
  [[nodiscard]] const void* weights() const {
    return floats_.empty() ? static_cast<const void*>(doubles_.data()) : floats_.data();
  }
  [[nodiscard]] std::uint64_t weight_bytes() const {
    return floats_.size() * sizeof(float) + doubles_.size() * sizeof(double);
  }
  [[nodiscard]] BlockShape shape_of(const Region& fine, const Region& coarse) const {
    BlockShape shape;
    shape.rank = static_cast<std::uint32_t>(coarse.size());
    for (std::size_t d = 0; d < coarse.size(); ++d) {
      shape.fine[d] = fine[d].count;
      shape.origin[d] = fine[d].start;
      shape.whole[d] = input().shape[d];
      shape.coarse[d] = coarse[d].count;
      shape.coarse_origin[d] = coarse[d].start;
      shape.factor[d] = factors_[d];
    }
    return shape;
  }

  std::vector<std::uint32_t> factors_;
  Downsample method_;
  std::vector<float> floats_;    // weights, where they are computed with
  std::vector<double> doubles_;  // or these
};

}  // namespace

std::string_view name_of(Downsample method) {
  static constexpr std::string_view names[] = {"mean", "nearest", "gaussian", "mode"};
  return names[static_cast<std::size_t>(method)];
}

Result<std::unique_ptr<Operator>> make_downsample(const ArrayInfo& input, std::vector<std::uint32_t> factors,
                                                  Downsample method) {
  for (const std::uint32_t factor : factors)
    if (factor < 1 || factor > kMaxFactor)
      return bad_argument(fmt::format("factor {}: must be 1 to {}", factor, kMaxFactor));
  if (!with_job({method, input.dtype, {}}, [](const auto&) {}))
    return Error(ErrorCode::unsupported,
                 fmt::format("no {} of elements of type {}", name_of(method), input.dtype.name()))
        .set_hint(method != Downsample::mode && with_job({Downsample::mode, input.dtype, {}}, [](const auto&) {})
                      ? "Use mode or nearest, as for labels."
                      : "Use nearest.");
  ArrayInfo output = input;
  for (std::size_t d = 0; d < factors.size(); ++d) output.shape[d] = div_up(input.shape[d], factors[d]);
  return std::unique_ptr<Operator>(std::make_unique<DownsampleOperator>(input, output, std::move(factors), method));
}

}  // namespace penstock::downsample
