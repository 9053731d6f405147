// Reductions along axes, on the host's side.
#pragma once
#include <vector>

#include "ops/dispatch.hpp"
#include "ops/operator.hpp"
#include "ops/reduce/kernel.hpp"

namespace penstock::reduce {

enum class Reduction : std::uint8_t { sum, mean, minimum, maximum, variance, standard_deviation };

/// What a pass over the elements accumulates.
enum class Pass : std::uint8_t { sum, total, squares, least, most };

/// Type of the result: sums of whole numbers have 64 bits, means and variances fractions; the rest keeps its type.
DType result_type(Reduction what, const DType& input);

/// What one pass over a box does, by type.
struct BoxPass {
  Pass pass;
  DType dtype;
  BoxShape shape;
  const void* in;
  void* held;
  std::uint64_t targets;
  std::uint32_t parts;
  bool parts_together;
  const double* means;
  bool first;  ///< the accumulators hold nothing yet, not even that
};
/// Sums, held as `held` is, as `out`: float32 or float64.
struct Finish {
  const void* from;
  void* out;
  DType held, result;
  double divide_by;
  bool root;
};

/// Accumulates boxes of an array: while (r.next_pass(work)) add(...) all boxes, each once; then finish().
class Reducer {
 public:
  /// `shape`: of the whole input; `axes`: those that are reduced.
  Reducer(Reduction what, const ArrayInfo& input, const std::vector<bool>& reduced);

  [[nodiscard]] const ArrayInfo& output() const { return output_; }
  /// Memory of the accumulators.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Whether the elements must be seen (again).  Errors: out_of_memory, device_error.
  Result<bool> next_pass(const Workspace& work);
  /// A packed box of the whole.
  Status add(const Tile& box, const Workspace& work);
  /// Packed memory of the output's type and shape.
  Status finish(void* out, const Workspace& work);
  /// All of these, where the whole input is one box.
  Status make(const Tile& all, void* out, const Workspace& work);

 private:
  [[nodiscard]] BoxShape shape_of_box(const Region& box) const;
  [[nodiscard]] bool is_small() const;
  Status make_at_once(const Tile& all, void* out, const Workspace& work);
  Status begin(const Workspace& work);
  [[nodiscard]] BoxPass parts_as_box() const;
  [[nodiscard]] Finish finish_of(void* out, bool means) const;
  Status join_parts(const Workspace& work);
  Status finish_into(void* out, bool means, const Workspace& work);

  Reduction what_;
  ArrayInfo input_, output_;
  std::vector<bool> reduced_;
  std::uint64_t targets_ = 1, count_ = 1;
  std::uint32_t parts_ = 1;
  bool parts_together_ = false;
  bool first_ = false;  ///< nothing has been put into the accumulators of a device
  int pass_ = 0;
  Pass now_ = Pass::sum;
  Buffer held_, means_;
};

/// The axes go away.
std::unique_ptr<Operator> make_reduction(const ArrayInfo& input, Reduction what, const std::vector<bool>& reduced);

Status add_on_cpu(const BoxPass& box, Job& threads);
Status add_on_cuda(const BoxPass& box, const Stream& stream);
Status finish_on_cuda(const Finish& how, std::uint64_t count, const Stream& stream);
/// Outputs of a box of all elements, as finished; `how.from` is not looked at.
Status make_on_cuda(const BoxPass& box, const Finish& how, const Stream& stream);
/// `count` elements of `item` bytes, each the lowest bytes of `bits`.
Status fill_on_cuda(void* to, std::uint64_t bits, std::uint64_t item, std::uint64_t count, const Stream& stream);

template <class Op>
Accumulators<typename Op::Held> accumulators(const BoxPass& box) {
  return {static_cast<typename Op::Held*>(box.held), box.targets, box.parts, box.parts_together};
}

template <class Op>
ReduceJob<Op> job_of(const BoxPass& box) {
  return {box.shape, static_cast<const typename Op::In*>(box.in), accumulators<Op>(box), box.means, box.first};
}

/// Calls f(TypeTag<Op>()).  A bool is a number of one byte; sums that fit are exact, so they serve for means too.
template <class F>
void with_pass(Pass pass, const DType& dtype, const F& f) {
  with_type(dtype, [&]<class E>(TypeTag<E>) {
    using T = std::conditional_t<std::is_same_v<E, bool>, std::uint8_t, E>;
    switch (pass) {
      case Pass::sum: return f(TypeTag<Sum<T>>());
      case Pass::total:
        if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
          return f(TypeTag<Total<T>>());
        else
          return f(TypeTag<Sum<T>>());
      case Pass::squares: return f(TypeTag<Squares<T>>());
      case Pass::least: return f(TypeTag<Least<T>>());
      case Pass::most: return f(TypeTag<Most<T>>());
    }
  });
}

/// Calls f(FinishJob) with the types of what was held and of what comes out.
template <class F>
void with_finish(const Finish& how, const F& f) {
  const auto as = [&]<class Held, class Out>(TypeTag<Held>, TypeTag<Out>) {
    f(FinishJob<Held, Out>{static_cast<const Held*>(how.from), static_cast<Out*>(how.out), {how.divide_by, how.root}});
  };
  if (how.held.kind == Kind::unsigned_int) return as(TypeTag<std::uint64_t>(), TypeTag<double>());
  if (how.held.kind == Kind::signed_int) return as(TypeTag<std::int64_t>(), TypeTag<double>());
  if (how.result.size_bytes == 4) return as(TypeTag<double>(), TypeTag<float>());
  as(TypeTag<double>(), TypeTag<double>());
}

/// Calls f(WholeJob) with the pass's types and that of what comes out.
template <class F>
void with_whole(const BoxPass& box, const Finish& how, const F& f) {
  with_pass(box.pass, box.dtype, [&]<class Op>(TypeTag<Op>) {
    using Held = typename Op::Held;
    const auto as = [&]<class Out>(TypeTag<Out>) {
      f(WholeJob<Op, Out>{job_of<Op>(box), {how.divide_by, how.root}, static_cast<Out*>(how.out)});
    };
    if (how.result == how.held) return as(TypeTag<Held>());
    if constexpr (std::is_same_v<Join<Op>, Sum<Held>>) {
      using Other = std::conditional_t<std::is_integral_v<Held>, double, float>;
      as(TypeTag<Other>());
    }
  });
}

}  // namespace penstock::reduce
