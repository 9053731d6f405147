#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/checked.hpp"
#include "core/guard.hpp"
#include "core/suggest.hpp"
#include "exec/budget.hpp"
#include "ops/compute.hpp"
#include "ops/element/element.hpp"
#include "ops/line/extend.hpp"
#include "ops/line/spline.hpp"
#include "ops/sample/types.hpp"

namespace penstock::sample {

Result<Mode> parse_mode(std::string_view name) {
  struct Name {
    std::string_view name;
    Mode mode;
  };
  static constexpr Name names[] = {{"reflect", Mode::reflect},     {"grid-mirror", Mode::grid_mirror},
                                   {"mirror", Mode::mirror},       {"nearest", Mode::nearest},
                                   {"constant", Mode::constant},   {"wrap", Mode::wrap},
                                   {"grid-wrap", Mode::grid_wrap}, {"grid-constant", Mode::grid_constant}};
  std::vector<std::string> known;
  for (const Name& n : names) {
    if (n.name == name) return n.mode;
    known.emplace_back(n.name);
  }
  return Error(ErrorCode::invalid_argument, fmt::format("no mode '{}'.{}", name, did_you_mean(name, known)))
      .set_hint(fmt::format("Modes are {}.", fmt::join(known, ", ")));
}

DType sampled_type(const DType& dtype, int order, std::size_t rank, bool in_double) {
  if (order == 0) return dtype;
  // The poles of high orders lie so near to the circle that float32 is not enough.
  const Compute compute = compute_for(dtype, in_double || order > 3);
  if (order == 1 && (rank == 2 || rank == 3) && compute == compute_for(dtype, false)) return dtype;
  return compute == Compute::float64 ? DType::float64() : DType::float32();
}

Error unfit() { return {ErrorCode::unsupported, "no samples of such elements"}; }

std::int64_t add_coefficients(Chain& chain, int order, std::string_view mode, double constant, bool in_double,
                              bool prefilter) {
  const DType computed = sampled_type(chain.output().dtype, order, chain.output().shape.size(), in_double);
  if (chain.output().dtype != computed) chain.add(element::make_cast(chain.output(), computed, Rounding::truncate));
  if (!prefilter) return 0;
  // No spline goes on like these exactly: as in scipy the elements do, so far that it does not matter.
  const bool padded = mode == "nearest" || mode == "grid-constant";
  constexpr std::int64_t kMargin = 12;
  const Border border = mode == "nearest" ? Border::nearest : Border::constant;
  const std::size_t rank = chain.output().shape.size();
  if (padded)
    chain.add(
        line::make_extend(chain.output(), std::vector(rank, line::Extension{kMargin, kMargin, border}), constant));
  for (std::size_t d = 0; d < rank; ++d)
    if (chain.output().shape[d] > 1) chain.add(line::make_spline(chain.output(), d, order, line::spline_border(mode)));
  return padded ? kMargin : 0;
}

namespace {

template <class T, class C>
Status run_job(const SampleJob<T, C>& job, const Workspace& work) {
  if (work.on_device()) return run_on_cuda(job, work.stream);
  return is_grid(job) ? run_grid_on_cpu(job, *work.job, best_isa()) : run_on_cpu(job, *work.job, best_isa());
}

template <class T, class C>
void describe_input(SampleJob<T, C>& job, const TensorView& in, const Region& box, const Shape& shape) {
  job.in = static_cast<const T*>(in.data);
  job.dimensions = static_cast<std::uint32_t>(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    job.shape[d] = shape[d];
    job.origin[d] = static_cast<std::int64_t>(box[d].start);
    job.stride[d] = stride;
    stride *= box[d].count;
  }
  job.elements = stride;
}
template <class T, class C>
void describe_output(SampleJob<T, C>& job, const TensorView& out, const Region& box) {
  job.out = static_cast<T*>(out.data);
  job.out_dimensions = static_cast<std::uint32_t>(box.size());
  job.outputs = 1;
  for (std::size_t d = 0; d < box.size(); ++d) {
    job.out_extent[d] = box[d].count;
    job.out_origin[d] = static_cast<std::int64_t>(box[d].start);
    job.outputs *= box[d].count;
  }
}

/// An axis of which all but one in so many elements is needed is taken whole.
constexpr std::uint64_t kNearlyAll = 16;

class AffineOperator final : public Operator {
 public:
  AffineOperator(const ArrayInfo& input, const ArrayInfo& output, Affinity affinity, int order, Mode mode,
                 double constant)
      : Operator(input, output), map_(std::move(affinity)), order_(order), mode_(mode), constant_(constant) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region;
    const std::size_t n = box.size();
    for (std::size_t d = 0; d < input().shape.size(); ++d) {
      double low = map_.offset[d], high = map_.offset[d];
      for (std::size_t k = 0; k < n; ++k) {
        const double m = map_.matrix[d * n + k];
        const auto first = static_cast<double>(box[k].start);
        const double a = m * first, b = m * (first + static_cast<double>(box[k].count) - 1);
        low += std::min(a, b), high += std::max(a, b);
      }
      Range needed = span(low, high, input().shape[d]);
      // Of inner dimensions a part lies apart in memory, of splines along any it must be cut out of more: both are
      // copies. Nearly all is as well as all.
      if ((d > 0 || order_ > 1) && needed.count >= input().shape[d] - input().shape[d] / kNearlyAll)
        needed = {0, input().shape[d], 1};
      region.push_back(needed);
    }
    return region;
  }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    Status status;
    with_types(input().dtype, order_, [&]<class T, class C>(TypeTag<T>, TypeTag<C>) {
      SampleJob<T, C> job;
      describe_input(job, in.view, in.box, input().shape);
      describe_output(job, out.view, out.box);
      const std::size_t n = out.box.size();
      for (std::size_t d = 0; d < input().shape.size(); ++d) {
        job.offset[d] = map_.offset[d];
        job.last[d] = map_.slack[d];
        for (std::size_t k = 0; k < n; ++k) job.matrix[d * kMaxDimensions + k] = map_.matrix[d * n + k];
      }
      job.order = order_;
      job.mode = mode_;
      job.constant = constant_of<C>(input().dtype, order_, constant_);
      status = run_job(job, work);
    });
    return status;
  }

  [[nodiscard]] std::string text() const override {
    return fmt::format("affine map from {} to {}, order {}", to_string(input().shape), to_string(output().shape),
                       order_);
  }

 private:
  /// Elements of an axis that coordinates between low and high are made of.
  [[nodiscard]] Range span(double low, double high, std::uint64_t extent) const {
    const double last = static_cast<double>(extent) - 1;
    const int around = 1 + order_ / 2;  // and what rounding does at the corners
    low = std::floor(low) - around, high = std::floor(high) + around + 1;
    const bool beyond = low < 0 || high > last;
    const bool folds = mode_ != Mode::constant && mode_ != Mode::grid_constant && mode_ != Mode::nearest;
    if (beyond && folds) return {0, extent, 1};
    low = std::clamp(low, 0.0, std::max(last, 0.0)), high = std::clamp(high, 0.0, std::max(last, 0.0));
    return {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high - low) + 1, 1};
  }

  Affinity map_;
  int order_;
  Mode mode_;
  double constant_;
};

}  // namespace

std::unique_ptr<Operator> make_affine(const ArrayInfo& input, const Shape& out_shape, Affinity affinity, int order,
                                      Mode mode, double constant) {
  return std::make_unique<AffineOperator>(input, ArrayInfo{input.dtype, out_shape}, std::move(affinity), order, mode,
                                          constant);
}

}  // namespace penstock::sample

namespace penstock {
namespace {

using namespace sample;

Error bad(std::string what) { return {ErrorCode::invalid_argument, std::move(what)}; }

Status check_sampling(const TensorView& input, const TensorView& coordinates, const TensorView& output,
                      const Sampling& how) {
  PENSTOCK_TRY(input.check());
  PENSTOCK_TRY(coordinates.check());
  PENSTOCK_TRY(output.check());
  const std::size_t rank = input.shape.size();
  if (rank == 0 || rank > kMaxDimensions)
    return bad(fmt::format("samples are of arrays of 1 to {} dimensions, not {}", kMaxDimensions, rank));
  Shape wanted = {rank};
  wanted.insert(wanted.end(), output.shape.begin(), output.shape.end());
  if (coordinates.shape != wanted)
    return bad(
        fmt::format("coordinates of shape {} for an input of {} dimensions and an output of {}: they must have {}",
                    to_string(coordinates.shape), rank, to_string(output.shape), to_string(wanted)));
  if (how.displacement && output.shape.size() != rank)
    return bad(fmt::format("a displacement of {} dimensions for an input of {}", output.shape.size(), rank));
  if (how.order < 0 || how.order > kMaxOrder)
    return bad(fmt::format("order {}: splines have the orders 0 to {}", how.order, kMaxOrder));
  if (coordinates.dtype != DType::float64()) return bad("coordinates are float64");
  if (output.dtype != input.dtype) return bad("input and output hold different types");
  if (output.access == Access::read_only) return bad("the output is read-only");
  if (!is_operand(input.dtype)) return Error(ErrorCode::unsupported, "no elements of type " + input.dtype.name());
  if (coordinates.device != input.device || output.device != input.device)
    return bad("input, coordinates and output are on different devices");
  return {};
}

}  // namespace

Status map_coordinates(const TensorView& input, const TensorView& coordinates, const TensorView& output,
                       const Sampling& how, const Options& options) {
  return guarded([&]() -> Status {
    PENSTOCK_TRY(check_sampling(input, coordinates, output, how));
    PENSTOCK_ASSIGN(const Mode mode, parse_mode(how.mode));
    PENSTOCK_ASSIGN(const std::uint64_t count, output.elements());
    PENSTOCK_ASSIGN(const std::uint64_t elements, input.elements());
    if (count == 0) return {};
    if (elements == 0) return bad("the input has no elements");
    const Tensor in = Tensor::share(nullptr, input), at = Tensor::share(nullptr, coordinates);
    std::int64_t margin = 0;
    Tensor packed;
    Chain chain(ArrayInfo{input.dtype, input.shape});
    if (how.order > 1) {
      margin = add_coefficients(chain, how.order, how.mode, how.constant, how.in_double, how.prefilter);
    } else if (const DType as = sampled_type(input.dtype, how.order, input.shape.size(), how.in_double);
               as != input.dtype) {
      chain.add(element::make_cast(chain.output(), as, Rounding::truncate));
    }
    if (!chain.empty()) {
      PENSTOCK_ASSIGN(packed, Tensor::empty(chain.output().dtype, chain.output().shape, input.stream, options.memory));
      PENSTOCK_TRY(apply_chain(chain, input, packed.view(), options));
    } else {
      PENSTOCK_ASSIGN(packed, in.contiguous(options.memory));
    }
    PENSTOCK_ASSIGN(const Tensor points, at.contiguous(options.memory));
    const DType& sampled = packed.view().dtype;
    Tensor made = Tensor::share(nullptr, output);
    if (!output.is_contiguous() || sampled != output.dtype) {
      PENSTOCK_ASSIGN(made, Tensor::empty(sampled, output.shape, input.stream, options.memory));
    }
    PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, 0));
    PENSTOCK_ASSIGN(const auto memory, working_memory(input.device, options));
    const std::uint64_t threads = input.device.type == Device::Type::cpu ? allowed.threads : 1;
    Job job(options, "map_coordinates", count * output.dtype.size_bytes, threads);
    const Workspace work{&job, input.stream, memory};
    Status status;
    with_types(sampled, how.order, [&]<class T, class C>(TypeTag<T>, TypeTag<C>) {
      SampleJob<T, C> sampling;
      const Shape& shape = packed.view().shape;
      describe_input(sampling, packed.view(), whole(shape), shape);
      describe_output(sampling, made.view(), how.displacement ? whole(output.shape) : whole(Shape{count}));
      sampling.from = how.displacement ? From::displacement : From::list;
      sampling.coordinates = static_cast<const double*>(points.view().data);
      for (double& offset : sampling.offset) offset = static_cast<double>(margin);
      sampling.order = how.order;
      sampling.mode = mode;
      sampling.constant = constant_of<C>(sampled, how.order, how.constant);
      status = job.run([&] { return run_job(sampling, work); });
    });
    if (!status) return status;
    if (sampled != output.dtype) {
      Chain rounding(ArrayInfo{sampled, output.shape});
      rounding.add(element::make_cast(rounding.output(), output.dtype, Rounding::nearest));
      return apply_chain(rounding, made.view(), output, options);
    }
    return made.view().data == output.data ? Status() : copy_elements(made.view(), output);
  });
}

}  // namespace penstock
