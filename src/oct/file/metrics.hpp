// What a step measured, as a JSON document beside its output.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

namespace penstock::oct {

/// Values by name, and what was odd.
class Metrics {
 public:
  /// `unit`: empty where there is none.
  void add(const std::string& name, Json value, std::string_view unit, std::string_view description);
  /// What the reader should know but nobody judges.
  void note(const std::string& name, Json value, std::string_view description);
  /// Where a part of the work was done: "where" in the document.
  void ran(const std::string& part, std::string_view device);
  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// step_name, timestamp (UTC), overall_status, metrics, warnings, errors.
  [[nodiscard]] Json document(std::string_view step) const;

 private:
  Json metrics_ = Json::object();
  std::vector<std::string> warnings_;
};

/// Reads one value back.  Errors: invalid_metadata (naming it).
Result<Json> metric(std::string_view document, std::string_view name);

}  // namespace penstock::oct
