#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/suggest.hpp"
#include "penstock/tracto.hpp"

namespace penstock {
namespace {

template <class T>
struct Named {
  std::string_view name;
  T value;
};
constexpr Named<TrackMethod> kMethods[] = {{"prob", TrackMethod::prob},
                                           {"det", TrackMethod::det},
                                           {"closest", TrackMethod::closest},
                                           {"boot", TrackMethod::boot},
                                           {"ptt", TrackMethod::ptt}};
constexpr Named<DwiModel> kModels[] = {
    {"dti", DwiModel::dti}, {"csd", DwiModel::csd}, {"csa", DwiModel::csa}, {"opdt", DwiModel::opdt}};
constexpr Named<TensorMethod> kFits[] = {{"wls", TensorMethod::wls}, {"ols", TensorMethod::ols}};

template <class T, std::size_t N>
std::string_view name_of(const Named<T> (&all)[N], T value) {
  return std::ranges::find(all, value, &Named<T>::value)->name;
}

template <class T, std::size_t N>
Result<T> parse(const Named<T> (&all)[N], std::string_view what, std::string_view name) {
  std::vector<std::string> known;
  for (const Named<T>& named : all) {
    if (named.name == name) return named.value;
    known.emplace_back(named.name);
  }
  return Error(ErrorCode::invalid_argument, fmt::format("{} '{}': must be one of {}.{}", what, name,
                                                        fmt::join(known, ", "), did_you_mean(name, known)));
}

}  // namespace

std::string_view track_method_name(TrackMethod method) { return name_of(kMethods, method); }
Result<TrackMethod> parse_track_method(std::string_view name) { return parse(kMethods, "method", name); }
std::string_view dwi_model_name(DwiModel model) { return name_of(kModels, model); }
Result<DwiModel> parse_dwi_model(std::string_view name) { return parse(kModels, "model", name); }
std::string_view tensor_method_name(TensorMethod method) { return name_of(kFits, method); }
Result<TensorMethod> parse_tensor_method(std::string_view name) { return parse(kFits, "fit", name); }

}  // namespace penstock
