#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/line/line.hpp"
#include "ops/line/types.hpp"

namespace penstock::line {
namespace {

/// More weights than any filter of images has; a sigma with a slip in it would take all memory.
constexpr std::uint32_t kMaxTaps = 1u << 24;

/// Both boxes as (outer, n, inner).
Shape3 collapse(const Region& in, const Region& out, std::size_t axis) {
  Shape3 shape;
  for (std::size_t d = 0; d < axis; ++d) shape.outer *= out[d].count;
  for (std::size_t d = axis + 1; d < out.size(); ++d) shape.inner *= out[d].count;
  shape.in = in[axis].count;
  shape.out = out[axis].count;
  return shape;
}

/// Table and weights of a run, and where they are.
struct Prepared {
  std::vector<std::int32_t> table;
  std::vector<double> weights;
};

/// Weights of a sum as they are computed with.  What rounding takes from one the next gets, from the middle outwards
/// and on both sides alike, so that their sum stays: else all of an image would become a little brighter or darker.
template <class W>
std::vector<W> rounded(const std::vector<double>& weights) {
  std::vector<W> made(weights.begin(), weights.end());
  double missing = 0;
  const auto add = [&](std::size_t i, double share) {
    // Whole numbers and zeros stay, and so does what float32 is too small for.
    if (static_cast<double>(made[i]) == weights[i] || !std::isfinite(made[i])) return;
    made[i] = static_cast<W>(weights[i] + share);
    missing += weights[i] - static_cast<double>(made[i]);
  };
  const std::size_t n = weights.size();
  for (std::size_t k = 0; k < (n + 1) / 2; ++k) {
    const std::size_t before = (n - 1) / 2 - k, after = n / 2 + k;
    const double share = before == after ? missing : missing / 2;
    add(before, share);
    if (after != before) add(after, share);
  }
  return made;
}

template <class T, class C>
Status run_job(LineJob<T, C> job, const Prepared& prepared, const Workspace& work) {
  using Weight = std::conditional_t<kWeighs<C>, C, float>;  // order statistics have none
  const std::vector<Weight> weights = job.operation == Operation::correlate
                                          ? rounded<Weight>(prepared.weights)
                                          : std::vector<Weight>(prepared.weights.begin(), prepared.weights.end());
  const auto point_at = [&](const void* table, const void* values) {
    job.table = static_cast<const std::int32_t*>(table);
    if constexpr (kWeighs<C>) job.weights = static_cast<const C*>(values);
  };
  point_at(prepared.table.data(), weights.data());
  if (!work.on_device()) return run_on_cpu(job, *work.job, best_isa());
  // In one copy: it takes as long as a small array's filter.
  const std::size_t weight_bytes = weights.size() * sizeof(Weight),
                    rows_bytes = prepared.table.size() * sizeof(std::int32_t);
  std::vector<std::byte> both(weight_bytes + rows_bytes);
  std::memcpy(both.data(), weights.data(), weight_bytes);
  std::memcpy(both.data() + weight_bytes, prepared.table.data(), rows_bytes);
  PENSTOCK_ASSIGN(const Buffer there, work.upload(both.data(), both.size()));
  point_at(there.data() + weight_bytes, there.data());
  return run_on_cuda(job, work.stream);
}

struct RunShape {
  Operation operation;
  std::uint32_t taps;
  double constant;
  Compute compute;
};

Status run(const RunShape& how, const Prepared& prepared, const Tile& in, const Tile& out, std::size_t axis,
           const Workspace& work) {
  Status status;
  with_types(in.view.dtype, how.compute, [&]<class T, class C>(TypeTag<T>, TypeTag<C>) {
    LineJob<T, C> job;
    job.operation = how.operation;
    job.shape = collapse(in.box, out.box, axis);
    job.in = static_cast<const T*>(in.view.data);
    job.out = static_cast<T*>(out.view.data);
    job.taps = how.taps;
    const bool compares = how.operation == Operation::minimum || how.operation == Operation::maximum;
    job.constant = compares ? compared_constant<C>(how.constant) : truncated<C>(how.constant);
    status = run_job(job, prepared, work);
  });
  return status;
}

std::string type_text(Compute compute, const DType& dtype) {
  return compute == Compute::float32 ? "float32" : compute == Compute::float64 ? "float64" : dtype.name();
}

class FilterOperator final : public Operator {
 public:
  FilterOperator(const ArrayInfo& info, Filter filter) : Operator(info, info), filter_(std::move(filter)) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region = box;
    Range& along = region[filter_.axis];
    const std::int64_t first = static_cast<std::int64_t>(along.start) - filter_.before;
    along = border_range(first, first + static_cast<std::int64_t>(along.count + filter_.taps) - 2,
                         input().shape[filter_.axis], filter_.border);
    return region;
  }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    const std::size_t axis = filter_.axis;
    Prepared prepared;
    prepared.weights = filter_.weights;
    PENSTOCK_ASSIGN(prepared.table, border_table(static_cast<std::int64_t>(out.box[axis].start) - filter_.before,
                                                 out.box[axis].count + filter_.taps - 1, input().shape[axis],
                                                 in.box[axis].start, filter_.border));
    return line::run({filter_.operation, filter_.taps, filter_.constant, filter_.compute}, prepared, in, out, axis,
                     work);
  }

  [[nodiscard]] std::string text() const override {
    static constexpr const char* names[] = {"correlate", "uniform", "minimum", "maximum"};
    return fmt::format("{} along axis {}, {} elements, in {}", names[static_cast<std::size_t>(filter_.operation)],
                       filter_.axis, filter_.taps, type_text(filter_.compute, input().dtype));
  }

 private:
  Filter filter_;
};

/// Two elements and their weights.
struct Sample {
  std::int64_t a = 0, b = 0;
  double weight_a = 1, weight_b = 0;
};

class ResampleOperator final : public Operator {
 public:
  ResampleOperator(const ArrayInfo& input, const ArrayInfo& output, const Resample& how)
      : Operator(input, output), how_(how) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region = box;
    Range& along = region[how_.axis];
    along = border_range(sample(along.start).a, sample(along.start + along.count - 1).b, extent(), how_.border);
    return region;
  }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    const Range& along = out.box[how_.axis];
    const auto n = static_cast<std::int64_t>(extent());
    const auto at = [&](std::int64_t index) {
      const std::int64_t there = border_index(index, n, how_.border);
      return there < 0 ? -1 : static_cast<std::int32_t>(there - static_cast<std::int64_t>(in.box[how_.axis].start));
    };
    Prepared prepared;
    if (how_.order == 0) {  // one element each, whatever its type: the largest of one
      for (std::uint64_t k = 0; k < along.count; ++k) prepared.table.push_back(at(sample(along.start + k).a));
      return line::run({Operation::maximum, 1, how_.constant, how_.compute}, prepared, in, out, how_.axis, work);
    }
    for (std::uint64_t k = 0; k < along.count; ++k) {
      const Sample s = sample(along.start + k);
      // An element of no weight is not read: it may be NaN, or outside.
      prepared.table.push_back(at(s.weight_a == 0 ? s.b : s.a));
      prepared.table.push_back(at(s.weight_b == 0 ? s.a : s.b));
      prepared.weights.push_back(s.weight_a);
      prepared.weights.push_back(s.weight_b);
    }
    return line::run({Operation::blend, 1, how_.constant, how_.compute}, prepared, in, out, how_.axis, work);
  }

  [[nodiscard]] std::string text() const override {
    return fmt::format("resize axis {} from {} to {}, {}, in {}", how_.axis, extent(), how_.extent,
                       how_.order == 0 ? "nearest" : "linear", type_text(how_.compute, input().dtype));
  }

 private:
  [[nodiscard]] std::uint64_t extent() const { return input().shape[how_.axis]; }
  [[nodiscard]] Sample sample(std::uint64_t k) const {
    const auto in = static_cast<double>(extent()), out = static_cast<double>(how_.extent);
    double x = 0;
    if (how_.align == Align::half_pixel)
      x = (static_cast<double>(k) + 0.5) * in / out - 0.5;
    else if (how_.extent > 1)  // rounding must not carry the last one beyond the end
      x = std::min(static_cast<double>(k) * (in - 1) / (out - 1), in - 1);
    if (how_.order == 0) {
      const auto i = std::clamp<std::int64_t>(std::llround(std::floor(x + 0.5)), 0, static_cast<std::int64_t>(in) - 1);
      return {i, i, 1, 0};
    }
    const double below = std::floor(x);
    const auto i = static_cast<std::int64_t>(below);
    return x == below ? Sample{i, i, 1, 0} : Sample{i, i + 1, 1 - (x - below), x - below};
  }
  Resample how_;
};

}  // namespace

Result<std::unique_ptr<Operator>> make_filter(const ArrayInfo& input, Filter filter) {
  if (filter.taps > kMaxTaps)
    return Error(ErrorCode::out_of_range,
                 fmt::format("a filter of {} elements along axis {} is too long", filter.taps, filter.axis));
  return std::unique_ptr<Operator>(std::make_unique<FilterOperator>(input, std::move(filter)));
}

std::unique_ptr<Operator> make_resample(const ArrayInfo& input, Resample resample) {
  ArrayInfo output = input;
  output.shape[resample.axis] = resample.extent;
  return std::make_unique<ResampleOperator>(input, output, resample);
}

}  // namespace penstock::line
