// What every operator is: bound to the type and shape of its input, it says which box of the input a box of its output
// is made of, and makes it.  Boxes are how arrays larger than memory are worked on, so no operator knows of stores.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/job.hpp"
#include "penstock/ops.hpp"

namespace penstock {

/// A box of a whole array, packed in memory.
struct Tile {
  TensorView view;
  Region box;  ///< steps are 1
};

/// Where an operator works, and from where its working memory comes.
struct Workspace {
  Job* job = nullptr;  ///< threads of the CPU, the cancel token
  Stream stream;       ///< the CPU, or the order of the work on a device
  std::shared_ptr<Memory> memory;

  [[nodiscard]] bool on_device() const { return stream.device().type != Device::Type::cpu; }
  /// Not initialised; freed in the order of the stream.  Errors: out_of_memory.
  [[nodiscard]] Result<Buffer> scratch(std::uint64_t bytes) const;
  /// Host bytes where the operator works.  They may change once this has returned.
  [[nodiscard]] Result<Buffer> upload(const void* bytes, std::uint64_t count) const;
};

class Operator {
 public:
  Operator(ArrayInfo input, ArrayInfo output) : input_(std::move(input)), output_(std::move(output)) {}
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual ~Operator() = default;

  [[nodiscard]] const ArrayInfo& input() const { return input_; }
  [[nodiscard]] const ArrayInfo& output() const { return output_; }
  /// The box of the input that `box` of the output, which is not empty, is made of.
  [[nodiscard]] virtual Region needs(const Region& box) const = 0;
  /// Working memory of making `box`, beyond input and output.
  [[nodiscard]] virtual std::uint64_t scratch_bytes(const Region& /*box*/) const { return 0; }
  /// Makes out.box from in.box, which is needs(out.box).  On a device: in the order of the stream.
  virtual Status run(const Tile& in, const Tile& out, const Workspace& work) const = 0;
  /// Of each dimension of the output the input's that it is.
  [[nodiscard]] virtual std::vector<std::size_t> axes() const;
  /// This and the next as one; nullptr: there is no such operator.
  [[nodiscard]] virtual std::unique_ptr<Operator> with_next(const Operator& /*next*/) const { return nullptr; }
  /// "correlate along axis 0, 17 weights, in float32"
  [[nodiscard]] virtual std::string text() const = 0;

 private:
  ArrayInfo input_, output_;
};

}  // namespace penstock
