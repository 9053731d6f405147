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

 private:
  [[nodiscard]] BoxShape shape_of_box(const Region& box) const;
  Status finish_into(void* out, bool means, const Workspace& work) const;

  Reduction what_;
  ArrayInfo input_, output_;
  std::vector<bool> reduced_;
  std::uint64_t targets_ = 1, count_ = 1;
  std::uint32_t parts_ = 1;
  bool parts_together_ = false;
  int pass_ = 0;
  Pass now_ = Pass::sum;
  Buffer held_, means_;
};

/// The axes go away.
std::unique_ptr<Operator> make_reduction(const ArrayInfo& input, Reduction what, const std::vector<bool>& reduced);

/// What one pass over a box does, by type: run(ReduceJob<Op>) etc. of the right Op.
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
};
Status add_on_cpu(const BoxPass& box, Job& threads);
Status add_on_cuda(const BoxPass& box, const Stream& stream);
Status clear_on_cuda(const BoxPass& box, const Stream& stream);
struct Finish {
  void* out;
  bool as_double;  ///< whatever the type of the result is
  double divide_by;
  bool root;
};
Status finish_on_cuda(const BoxPass& box, const Finish& how, const Stream& stream);

template <class Op>
Accumulators<typename Op::Held> accumulators(const BoxPass& box) {
  return {static_cast<typename Op::Held*>(box.held), box.targets, box.parts, box.parts_together};
}

/// Calls f.template operator()<Op>().
template <class F>
void with_pass(Pass pass, const DType& dtype, const F& f) {
  with_type(dtype, [&]<class T>(TypeTag<T>) {
    switch (pass) {
      case Pass::sum: return f(TypeTag<Sum<T>>());
      case Pass::total: return f(TypeTag<Total<T>>());
      case Pass::squares: return f(TypeTag<Squares<T>>());
      case Pass::least: return f(TypeTag<Least<T>>());
      case Pass::most: return f(TypeTag<Most<T>>());
    }
  });
}

/// Calls f(FinishJob) with the type of what comes out.
template <class F>
void with_finish(const BoxPass& box, const Finish& how, const F& f) {
  with_pass(box.pass, box.dtype, [&]<class Op>(TypeTag<Op>) {
    using Held = typename Op::Held;
    const auto as = [&]<class Out>(TypeTag<Out>) {
      f(FinishJob<Op, Out>{accumulators<Op>(box), static_cast<Out*>(how.out), how.divide_by, how.root});
    };
    if constexpr (std::is_same_v<Held, double> && std::is_same_v<typename Op::In, float>)
      if (!how.as_double) return as(TypeTag<float>());
    as(TypeTag<Held>());
  });
}

}  // namespace penstock::reduce
