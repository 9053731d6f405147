// Operators one after another: what an array, or a box of it, goes through.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ops/operator.hpp"
#include "penstock/ops.hpp"

namespace penstock {

class Chain {
 public:
  explicit Chain(ArrayInfo input) : input_(std::move(input)) {}
  /// Errors: invalid_argument (no such operator or argument, values that do not fit the array), unsupported (type).
  static Result<Chain> make(const ArrayInfo& input, std::span<const OpCall> calls);

  /// What comes out of the operators so far.
  [[nodiscard]] const ArrayInfo& output() const { return operators_.empty() ? input_ : operators_.back()->output(); }
  [[nodiscard]] const ArrayInfo& input() const { return input_; }
  void add(std::unique_ptr<Operator> next);
  [[nodiscard]] bool empty() const { return operators_.empty(); }

  /// The box of the input that a box of the output is made of.
  [[nodiscard]] Region needs(const Region& box) const;
  /// Of each dimension of the output the input's that it is.
  [[nodiscard]] std::vector<std::size_t> axes() const;
  /// Most memory that lies between input and output while `box` is made.
  [[nodiscard]] std::uint64_t scratch_bytes(const Region& box) const;
  /// Makes out.box; in.box contains at least needs(out.box).  The memories do not overlap.
  Status run(const Tile& in, const Tile& out, const Workspace& work) const;
  /// A line for each operator.
  [[nodiscard]] std::string text() const;

 private:
  /// Boxes of the input of each operator, and the output's.
  [[nodiscard]] std::vector<Region> boxes(const Region& box) const;
  ArrayInfo input_;
  std::vector<std::unique_ptr<Operator>> operators_;
};

/// A whole chain on memory: in parts where the budget has no room for what lies between.
Status apply_chain(const Chain& chain, const TensorView& input, const TensorView& output, const Options& options);

}  // namespace penstock
