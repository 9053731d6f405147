#include "oct/file/metrics.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace penstock::oct {
namespace {

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts = {};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

void Metrics::add(const std::string& name, Json value, std::string_view unit, std::string_view description) {
  metrics_[name] = {{"value", std::move(value)}, {"unit", unit}, {"description", description}, {"status", "ok"}};
}

void Metrics::note(const std::string& name, Json value, std::string_view description) {
  metrics_[name] = {{"value", std::move(value)}, {"description", description}, {"status", "info"}};
}

void Metrics::ran(const std::string& part, std::string_view device) {
  if (!metrics_.contains("where")) note("where", Json::object(), "device that each part of the work was done on");
  metrics_["where"]["value"][part] = device;
}

Json Metrics::document(std::string_view step) const {
  std::string name(step);
  for (char& c : name)
    if (c == '-') c = '_';
  Json document = Json::object();
  document["step_name"] = name;
  document["timestamp"] = now_utc();
  document["overall_status"] = warnings_.empty() ? "ok" : "warning";
  document["metrics"] = metrics_;
  document["warnings"] = warnings_;
  document["errors"] = Json::array();
  return document;
}

Result<Json> metric(std::string_view document, std::string_view name) {
  PENSTOCK_ASSIGN(const Json all, parse_json(document));
  PENSTOCK_ASSIGN(const Json* metrics, member(all, "metrics"));
  PENSTOCK_ASSIGN_IN(const Json* one, member(*metrics, name), "metrics");
  PENSTOCK_ASSIGN_IN(const Json* value, member(*one, "value"), name);
  return *value;
}

}  // namespace penstock::oct
