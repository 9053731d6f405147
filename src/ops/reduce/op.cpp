#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "ops/reduce/reduce.hpp"

namespace penstock::reduce {
namespace {

/// Accumulators that keep a device, or the threads of a CPU, busy.
constexpr std::uint64_t kDeviceLanes = std::uint64_t{1} << 17, kHostLanes = 64;
/// Accumulators of one output whose elements follow each other: a warp's each, as many as keep a device busy (half of
/// them 4 % less so on an H200).
constexpr std::uint64_t kDeviceTeams = 132 * 32;
/// Elements that are worth an accumulator of their own.
constexpr std::uint64_t kPartElements = 256, kTeamElements = 4096, kHostPartElements = std::uint64_t{1} << 16;
/// Fewer elements of an output, however they lie, are a lane's, not a warp's.
constexpr std::uint64_t kFewElements = 32;
/// Accumulators that a lane of a device joins, one after another.
constexpr std::uint32_t kJoined = 64;
/// So few elements of so few outputs are made at once: a launch costs as much as reading them.
constexpr std::uint64_t kSmallCount = std::uint64_t{1} << 16, kSmallTargets = 1024;

Pass pass_of(Reduction what) {
  switch (what) {
    case Reduction::sum: return Pass::sum;
    case Reduction::minimum: return Pass::least;
    case Reduction::maximum: return Pass::most;
    default: return Pass::total;
  }
}

bool is_extreme(Pass pass) { return pass == Pass::least || pass == Pass::most; }

/// What a pass accumulates in (Op::Held of with_pass).
DType held_type(Pass pass, const DType& dtype) {
  if (is_extreme(pass)) return dtype;
  const bool whole = dtype.kind != Kind::floating && pass != Pass::squares;
  if (!whole || (pass == Pass::total && dtype.size_bytes == 8)) return DType::float64();
  return DType::integer(8, dtype.kind == Kind::signed_int ? Kind::signed_int : Kind::unsigned_int);
}

/// All accumulators begin with nothing.
Status clear(const BoxPass& all, const Workspace& work) {
  Status status;
  with_pass(all.pass, all.dtype, [&]<class Op>(TypeTag<Op>) {
    const auto nothing = Op::nothing();
    if (!work.on_device()) {
      std::fill_n(static_cast<typename Op::Held*>(all.held), all.targets * all.parts, nothing);
      return;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &nothing, sizeof nothing);
    status = fill_on_cuda(all.held, bits, sizeof nothing, all.targets * all.parts, work.stream);
  });
  return status;
}

bool has_variance(Reduction what) { return what == Reduction::variance || what == Reduction::standard_deviation; }

class ReduceOperator final : public Operator {
 public:
  ReduceOperator(const ArrayInfo& input, const ArrayInfo& output, Reduction what, std::vector<bool> reduced)
      : Operator(input, output), what_(what), reduced_(std::move(reduced)) {}

  [[nodiscard]] Region needs(const Region& box) const override {
    Region region;
    for (std::size_t d = 0, k = 0; d < reduced_.size(); ++d)
      region.push_back(reduced_[d] ? Range{0, input().shape[d], 1} : box[k++]);
    return region;
  }
  [[nodiscard]] std::vector<std::size_t> axes() const override {
    std::vector<std::size_t> kept;
    for (std::size_t d = 0; d < reduced_.size(); ++d)
      if (!reduced_[d]) kept.push_back(d);
    return kept;
  }
  [[nodiscard]] std::uint64_t scratch_bytes(const Region& box) const override {
    return Reducer(what_, {input().dtype, shape_of(needs(box))}, reduced_).bytes();
  }
  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    const Shape shape = shape_of(in.box);
    Reducer reducer(what_, {input().dtype, shape}, reduced_);
    return reducer.make({in.view, whole(shape)}, out.view.data, work);
  }
  [[nodiscard]] std::string text() const override {
    static constexpr const char* names[] = {"sum", "mean", "minimum", "maximum", "variance", "standard deviation"};
    std::string axes;
    for (std::size_t d = 0; d < reduced_.size(); ++d)
      if (reduced_[d]) axes += fmt::format(" {}", d);
    return fmt::format("{} along axes{}", names[static_cast<std::size_t>(what_)], axes);
  }

 private:
  Reduction what_;
  std::vector<bool> reduced_;
};

}  // namespace

DType result_type(Reduction what, const DType& input) {
  if (what == Reduction::minimum || what == Reduction::maximum) return input;
  if (input == DType::float32()) return input;
  if (what != Reduction::sum || input.kind == Kind::floating) return DType::float64();
  return DType::integer(8, input.kind == Kind::unsigned_int ? Kind::unsigned_int : Kind::signed_int);
}

Reducer::Reducer(Reduction what, const ArrayInfo& input, const std::vector<bool>& reduced)
    : what_(what), input_(input), reduced_(reduced) {
  output_.dtype = result_type(what, input.dtype);
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) output_.shape.push_back(input.shape[d]);
    (reduced[d] ? count_ : targets_) *= input.shape[d];
  }
  parts_together_ = (reduced.empty() || reduced.back()) && count_ >= kFewElements;
}

std::uint64_t Reducer::bytes() const {
  const std::uint64_t most = targets_ >= kDeviceLanes ? 1 : kDeviceLanes / std::max<std::uint64_t>(targets_, 1);
  const std::uint64_t parts = std::min(most, std::max<std::uint64_t>(div_up(count_, kPartElements), 1));
  return saturating_mul(targets_, 8 * (parts + div_up(parts, kJoined) + (has_variance(what_) ? 1 : 0)));
}

Result<bool> Reducer::next_pass(const Workspace& work) {
  if (pass_ == (has_variance(what_) ? 2 : 1)) return false;
  if (pass_ == 1) {
    PENSTOCK_ASSIGN(means_, work.scratch(targets_ * sizeof(double)));
    PENSTOCK_TRY(finish_into(means_.data(), true, work));
  }
  now_ = pass_ == 0 ? pass_of(what_) : Pass::squares;
  if (!work.on_device()) parts_together_ = false;
  const std::uint64_t most = !work.on_device() ? kHostLanes : parts_together_ ? kDeviceTeams : kDeviceLanes;
  const std::uint64_t each = !work.on_device() ? kHostPartElements : parts_together_ ? kTeamElements : kPartElements;
  parts_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most / std::max<std::uint64_t>(targets_, 1), 1,
                                                                std::max<std::uint64_t>(div_up(count_, each), 1)));
  PENSTOCK_ASSIGN(held_, work.scratch(targets_ * parts_ * 8));
  ++pass_;
  first_ = work.on_device();
  if (!first_) PENSTOCK_TRY(begin(work));
  return true;
}

/// All accumulators hold nothing.
Status Reducer::begin(const Workspace& work) {
  first_ = false;
  return clear({now_, input_.dtype, {}, nullptr, held_.data(), targets_, parts_, parts_together_, nullptr, false},
               work);
}

/// Dimensions of the box; neighbours of a kind that follow each other in memory become one.
BoxShape Reducer::shape_of_box(const Region& box) const {
  BoxShape shape;
  std::uint64_t stride = 1, target = 1;
  std::uint64_t kept_next = 0, target_next = 0, reduced_next = 0;  // stride that would continue the last dimension
  for (std::size_t d = box.size(); d-- > 0;) {                     // innermost first; turned around below
    const std::uint64_t n = box[d].count;
    if (reduced_[d]) {
      if (shape.reduced > 0 && reduced_next == stride) {
        shape.reduced_extent[shape.reduced - 1] *= n;
      } else if (n > 1) {
        shape.reduced_extent[shape.reduced] = n;
        shape.reduced_stride[shape.reduced++] = stride;
      }
      reduced_next = stride * n;
      shape.count *= n;
    } else {
      if (shape.kept > 0 && kept_next == stride && target_next == target) {
        shape.kept_extent[shape.kept - 1] *= n;
      } else if (n > 1) {
        shape.kept_extent[shape.kept] = n;
        shape.kept_stride[shape.kept] = stride;
        shape.target_stride[shape.kept++] = target;
      }
      kept_next = stride * n, target_next = target * n;
      shape.outputs *= n;
      shape.first_target += box[d].start * target;
      target *= input_.shape[d];
    }
    stride *= n;
  }
  std::reverse(shape.kept_extent, shape.kept_extent + shape.kept);
  std::reverse(shape.kept_stride, shape.kept_stride + shape.kept);
  std::reverse(shape.target_stride, shape.target_stride + shape.kept);
  std::reverse(shape.reduced_extent, shape.reduced_extent + shape.reduced);
  std::reverse(shape.reduced_stride, shape.reduced_stride + shape.reduced);
  return shape;
}

Status Reducer::add(const Tile& box, const Workspace& work) {
  BoxPass pass{
      now_,          input_.dtype,    shape_of_box(box.box),
      box.view.data, held_.data(),    targets_,
      parts_,        parts_together_, now_ == Pass::squares ? reinterpret_cast<const double*>(means_.data()) : nullptr,
      false};
  if (pass.shape.outputs == 0 || pass.shape.count == 0) return {};
  // A first box that has all outputs makes their accumulators; before others they must hold something.
  if (first_ && pass.shape.outputs == targets_)
    pass.first = true, first_ = false;
  else if (first_)
    PENSTOCK_TRY(begin(work));
  return work.on_device() ? add_on_cuda(pass, work.stream) : add_on_cpu(pass, *work.job);
}

/// What the accumulators hold, as a box in which those of an output are its elements.
BoxPass Reducer::parts_as_box() const {
  BoxShape shape;
  shape.outputs = targets_, shape.count = parts_;
  shape.kept = shape.reduced = 1;
  shape.kept_extent[0] = targets_, shape.reduced_extent[0] = parts_;
  shape.kept_stride[0] = parts_together_ ? parts_ : 1, shape.reduced_stride[0] = parts_together_ ? 1 : targets_;
  shape.target_stride[0] = 1;
  return {is_extreme(now_) ? now_ : Pass::sum,
          held_type(now_, input_.dtype),
          shape,
          held_.data(),
          nullptr,
          targets_,
          1,
          parts_together_,
          nullptr,
          true};
}

/// One accumulator for each output, by the pass that adds up what the accumulators hold.
Status Reducer::join_parts(const Workspace& work) {
  while (parts_ > 1) {
    BoxPass pass = parts_as_box();
    if (work.on_device()) pass.parts = (parts_ + kJoined - 1) / kJoined;
    PENSTOCK_ASSIGN(Buffer joined, work.scratch(targets_ * pass.parts * 8));
    pass.held = joined.data();
    if (work.on_device()) {
      PENSTOCK_TRY(add_on_cuda(pass, work.stream));
    } else {
      with_pass(pass.pass, pass.dtype, [&]<class Op>(TypeTag<Op>) {
        const ReduceJob<Op> job = job_of<Op>(pass);
        for (std::uint64_t i = 0; i < job.lanes(); ++i) job(i);
      });
    }
    held_ = std::move(joined);
    parts_ = pass.parts;
  }
  return {};
}

Status Reducer::finish(void* out, const Workspace& work) { return finish_into(out, false, work); }

Finish Reducer::finish_of(void* out, bool means) const {
  const bool divides = !is_extreme(now_) && (means || what_ != Reduction::sum);
  const DType held = held_type(now_, input_.dtype);
  const bool stays = !divides && held.kind != Kind::floating;  // sums of bools have no sign, and come out with one
  return {held_.data(),
          out,
          held,
          means   ? DType::float64()
          : stays ? held
                  : output_.dtype,
          divides ? static_cast<double>(count_) : 1,
          !means && what_ == Reduction::standard_deviation};
}

Status Reducer::finish_into(void* out, bool means, const Workspace& work) {
  if (first_) PENSTOCK_TRY(begin(work));  // there was no box
  if (work.on_device() && parts_together_ && parts_ > 1)
    return make_on_cuda(parts_as_box(), finish_of(out, means), work.stream);
  PENSTOCK_TRY(join_parts(work));
  const Finish how = finish_of(out, means);
  if (how.divide_by == 1 && !how.root && how.held == how.result) {  // they are held as what comes out
    const Device device = work.stream.device();
    return copy_async(out, device, held_.data(), device, targets_ * how.result.size_bytes, work.stream);
  }
  if (work.on_device()) return finish_on_cuda(how, targets_, work.stream);
  with_finish(how, [&](const auto& job) {
    for (std::uint64_t i = 0; i < targets_; ++i) job(i);
  });
  return {};
}

Status Reducer::make(const Tile& all, void* out, const Workspace& work) {
  if (work.on_device() && is_small()) return make_at_once(all, out, work);
  for (;;) {
    PENSTOCK_ASSIGN(const bool again, next_pass(work));
    if (!again) return finish(out, work);
    PENSTOCK_TRY(add(all, work));
  }
}

bool Reducer::is_small() const {
  return parts_together_ && count_ <= kSmallCount && targets_ > 0 && targets_ <= kSmallTargets;
}

/// Without accumulators.
Status Reducer::make_at_once(const Tile& all, void* out, const Workspace& work) {
  now_ = pass_of(what_);
  BoxPass pass{now_, input_.dtype, shape_of_box(all.box), all.view.data, nullptr, targets_, 1, true, nullptr, true};
  if (!has_variance(what_)) return make_on_cuda(pass, finish_of(out, false), work.stream);
  PENSTOCK_ASSIGN(means_, work.scratch(targets_ * sizeof(double)));
  PENSTOCK_TRY(make_on_cuda(pass, finish_of(means_.data(), true), work.stream));
  pass.pass = now_ = Pass::squares;
  pass.means = reinterpret_cast<const double*>(means_.data());
  return make_on_cuda(pass, finish_of(out, false), work.stream);
}

std::unique_ptr<Operator> make_reduction(const ArrayInfo& input, Reduction what, const std::vector<bool>& reduced) {
  ArrayInfo output{result_type(what, input.dtype), {}};
  for (std::size_t d = 0; d < reduced.size(); ++d)
    if (!reduced[d]) output.shape.push_back(input.shape[d]);
  return std::make_unique<ReduceOperator>(input, output, what, reduced);
}

}  // namespace penstock::reduce
