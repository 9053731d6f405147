#include <fmt/format.h>

#include "ops/each.hpp"
#include "ops/element/element.hpp"

namespace penstock::element {
namespace {

class CastOperator final : public Operator {
 public:
  CastOperator(const ArrayInfo& input, const ArrayInfo& output, Rounding rounding)
      : Operator(input, output), rounding_(rounding) {}

  [[nodiscard]] Region needs(const Region& box) const override { return box; }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    PENSTOCK_ASSIGN(const std::uint64_t count, out.view.elements());
    const DType &from = input().dtype, &to = output().dtype;
    if (work.on_device()) return cast_on_cuda(from, in.view.data, to, out.view.data, count, rounding_, work.stream);
    Status status;
    with_cast(from, in.view.data, to, out.view.data, rounding_,
              [&](const auto& job) { status = run_each(*work.job, count, job); });
    return status;
  }

  [[nodiscard]] std::string text() const override {
    return fmt::format("{} to {}", input().dtype.name(), output().dtype.name());
  }

 private:
  Rounding rounding_;
};

}  // namespace

std::unique_ptr<Operator> make_cast(const ArrayInfo& input, const DType& dtype, Rounding rounding) {
  return std::make_unique<CastOperator>(input, ArrayInfo{dtype, input.shape}, rounding);
}

}  // namespace penstock::element
