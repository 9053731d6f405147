// Operators that are prepared once and applied many times.
#pragma once
#include <memory>
#include <span>

#include "penstock/ops.hpp"

namespace penstock {

class Chain;
/// Operators that are bound to the type and shape of their input: read and prepared once, applied as often as one
/// likes, also by several threads at once.  For many calls on few elements, where preparing costs as much as the work.
class PENSTOCK_API BoundOperators {
 public:
  /// Errors: those of the calls: invalid_argument, unsupported.
  static Result<BoundOperators> make(std::span<const OpCall> calls, const ArrayInfo& input);
  /// What comes out of them.
  [[nodiscard]] const ArrayInfo& result() const;
  /// As `apply_operators`.  Errors: also invalid_argument (the input has another shape or type).
  [[nodiscard]] Status apply(const TensorView& input, const TensorView& output, const Options& options = {}) const;

 private:
  std::shared_ptr<const Chain> chain_;
};

}  // namespace penstock
