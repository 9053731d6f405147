#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/checked.hpp"
#include "ops/compute.hpp"
#include "ops/element/element.hpp"
#include "ops/tuning.hpp"

namespace penstock::element {
namespace {

/// Elements that go through all steps while they lie in the first-level cache.
constexpr std::uint64_t kBlock = 1024;

/// The step that makes of a computed value one of the type; none for the type that is computed in.
std::optional<Step> to_type(const DType& dtype, bool in_double) {
  if (dtype.kind == Kind::floating) {
    if (dtype.size_bytes == 4 && in_double) return Step{Action::narrow};
    return std::nullopt;
  }
  Step step{Action::round, 0, 1};
  with_type(dtype, [&]<class T>(TypeTag<T>) {
    step.a = static_cast<double>(std::numeric_limits<T>::min());
    step.b = static_cast<double>(std::numeric_limits<T>::max());
  });
  return step;
}

class ProgramOperator final : public Operator {
 public:
  ProgramOperator(const ArrayInfo& input, const ArrayInfo& output, std::vector<Step> steps, bool in_double)
      : Operator(input, output), steps_(std::move(steps)), in_double_(in_double) {}

  [[nodiscard]] Region needs(const Region& box) const override { return box; }

  [[nodiscard]] std::unique_ptr<Operator> with_next(const Operator& next) const override {
    const auto* other = dynamic_cast<const ProgramOperator*>(&next);
    if (other == nullptr) return nullptr;
    std::vector<Step> steps = steps_;
    const bool in_double = in_double_ || other->in_double_;
    if (const auto step = to_type(output().dtype, in_double)) steps.push_back(*step);
    steps.insert(steps.end(), other->steps_.begin(), other->steps_.end());
    if (steps.size() > kMaxSteps) return nullptr;
    return std::make_unique<ProgramOperator>(input(), other->output(), std::move(steps), in_double);
  }

  Status run(const Tile& in, const Tile& out, const Workspace& work) const override {
    return in_double_ ? run_as<double>(in, out, work) : run_as<float>(in, out, work);
  }

  [[nodiscard]] std::string text() const override {
    static constexpr const char* names[] = {"add", "multiply", "divide",   "clip",  "log",
                                            "exp", "sqrt",     "absolute", "round", "narrow"};
    std::vector<std::string> words;
    for (const Step& step : steps_) words.emplace_back(names[static_cast<std::size_t>(step.action)]);
    return fmt::format("{} to {}: {}, in one pass, in {}", input().dtype.name(), output().dtype.name(),
                       words.empty() ? "cast" : fmt::format("{}", fmt::join(words, ", ")),
                       in_double_ ? "float64" : "float32");
  }

 private:
  template <class C>
  Status run_as(const Tile& in, const Tile& out, const Workspace& work) const {
    ProgramJob<C> job;
    job.in = in.view.data;
    job.out = out.view.data;
    job.in_type = code_of(input().dtype);
    job.out_type = code_of(output().dtype);
    job.steps = static_cast<std::uint32_t>(steps_.size());
    std::ranges::copy(steps_, job.step);
    PENSTOCK_ASSIGN(const std::uint64_t count, out.view.elements());
    if (work.on_device()) return program_on_cuda(job, count, work.stream);
    return work.job->for_each(div_up(count, tuning::kTaskElements), true, [&](std::uint64_t task) -> Status {
      const std::uint64_t last = std::min((task + 1) * tuning::kTaskElements, count);
      for (std::uint64_t i = task * tuning::kTaskElements; i < last; i += kBlock)
        run_block(job, i, std::min(kBlock, last - i));
      return {};
    });
  }

  /// Step by step over a block, so that each is a plain loop.
  template <class C>
  void run_block(const ProgramJob<C>& job, std::uint64_t first, std::uint64_t count) const {
    C values[kBlock];
    with_type(input().dtype, [&]<class T>(TypeTag<T>) {
      const T* const from = static_cast<const T*>(job.in) + first;
      for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<C>(from[i]);
    });
    for (const Step& step : steps_)
      for (std::uint64_t i = 0; i < count; ++i) values[i] = done(step, values[i]);
    with_type(output().dtype, [&]<class T>(TypeTag<T>) {
      T* const to = static_cast<T*>(job.out) + first;
      for (std::uint64_t i = 0; i < count; ++i) to[i] = nearest<T>(values[i]);
    });
  }

  std::vector<Step> steps_;
  bool in_double_;
};

}  // namespace

TypeCode code_of(const DType& dtype) {
  const auto at = [&](TypeCode one) {
    const std::uint32_t size = dtype.size_bytes;
    return static_cast<TypeCode>(static_cast<std::uint32_t>(one) + (size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3));
  };
  switch (dtype.kind) {
    case Kind::boolean: return TypeCode::boolean;
    case Kind::unsigned_int: return at(TypeCode::u8);
    case Kind::signed_int: return at(TypeCode::i8);
    default: return dtype.size_bytes == 4 ? TypeCode::f32 : TypeCode::f64;
  }
}

std::unique_ptr<Operator> make_program(const ArrayInfo& input, const DType& output, std::vector<Step> steps,
                                       bool in_double) {
  const bool wide =
      compute_for(input.dtype, in_double) == Compute::float64 || compute_for(output, in_double) == Compute::float64;
  return std::make_unique<ProgramOperator>(input, ArrayInfo{output, input.shape}, std::move(steps), wide);
}

}  // namespace penstock::element
