#include <algorithm>
#include <string>
#include <vector>

#include "core/suggest.hpp"
#include "penstock/tracto.hpp"

namespace penstock {
namespace {

struct Named {
  std::string_view name;
  TrackMethod method;
};
constexpr Named kMethods[] = {
    {"prob", TrackMethod::prob}, {"det", TrackMethod::det}, {"closest", TrackMethod::closest}};

}  // namespace

std::string_view track_method_name(TrackMethod method) {
  return std::ranges::find(kMethods, method, &Named::method)->name;
}

Result<TrackMethod> parse_track_method(std::string_view name) {
  std::vector<std::string> known;
  for (const Named& named : kMethods) {
    if (named.name == name) return named.method;
    known.emplace_back(named.name);
  }
  return Error(ErrorCode::invalid_argument,
               "method '" + std::string(name) + "': must be prob, det or closest." + did_you_mean(name, known));
}

}  // namespace penstock
