// Arguments of operators by name: read strictly, every error names the argument.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "penstock/dtype.hpp"
#include "penstock/error.hpp"

namespace penstock {

class Arguments {
 public:
  /// `values`: an object; lives as long as this.
  Arguments(const Json& values, std::size_t rank) : values_(values), rank_(rank) {}

  [[nodiscard]] bool given(std::string_view name) const;
  /// Numbers are finite unless `nan`, `inf` say otherwise (cval).
  [[nodiscard]] Result<double> number(std::string_view name, std::optional<double> otherwise);
  [[nodiscard]] Result<double> any_number(std::string_view name, double otherwise);
  [[nodiscard]] Result<std::int64_t> integer(std::string_view name, std::optional<std::int64_t> otherwise);
  [[nodiscard]] Result<bool> flag(std::string_view name, bool otherwise);
  [[nodiscard]] Result<std::string> text(std::string_view name, std::string_view otherwise);
  [[nodiscard]] Result<DType> dtype(std::string_view name, const DType& otherwise);
  /// A list of numbers, of any length.
  [[nodiscard]] Result<std::vector<double>> numbers(std::string_view name);

  /// `axes`: which of the array's axes the other arguments are of, in their order; all of them where it is not given.
  /// Negative ones count from the last.  Errors: invalid_argument (outside, twice).
  [[nodiscard]] Result<std::vector<std::size_t>> axes();
  /// One for each of `count` axes, from a list or from a single value that stands for all.
  [[nodiscard]] Result<std::vector<double>> number_each(std::string_view name, std::size_t count,
                                                        std::optional<double> otherwise);
  [[nodiscard]] Result<std::vector<std::int64_t>> integer_each(std::string_view name, std::size_t count,
                                                               std::optional<std::int64_t> otherwise);
  [[nodiscard]] Result<std::vector<std::string>> text_each(std::string_view name, std::size_t count,
                                                           std::string_view otherwise);
  /// Refuses what none of the calls above asked for.
  [[nodiscard]] Status all_used() const;
  /// The same where they ended early: refuses what `listed` ("sigma, order=0") does not have either.
  [[nodiscard]] Status all_known(std::string_view listed) const;

 private:
  /// nullptr: not given, or null.
  const Json* find(std::string_view name);
  [[nodiscard]] Status all_among(const std::set<std::string, std::less<>>& names) const;
  const Json& values_;
  std::size_t rank_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace penstock
