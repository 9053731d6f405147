#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <vector>

#include "core/suggest.hpp"
#include "penstock/tracto.hpp"
#include "penstock/tractogram.hpp"

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
constexpr Named<GradientFrame> kFrames[] = {
    {"voxel", GradientFrame::voxel}, {"fsl", GradientFrame::fsl}, {"world", GradientFrame::world}};
constexpr Named<PointType> kPointTypes[] = {{"float32", PointType::float32}, {"float16", PointType::float16}};
constexpr Named<ShBasis> kBases[] = {{"descoteaux07_legacy", ShBasis::descoteaux07_legacy},
                                     {"descoteaux07", ShBasis::descoteaux07},
                                     {"tournier07", ShBasis::tournier07}};

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
std::string_view gradient_frame_name(GradientFrame frame) { return name_of(kFrames, frame); }
Result<GradientFrame> parse_gradient_frame(std::string_view name) { return parse(kFrames, "gradients", name); }
std::string_view sh_basis_name(ShBasis basis) { return name_of(kBases, basis); }
Result<ShBasis> parse_sh_basis(std::string_view name) { return parse(kBases, "basis", name); }

std::string_view point_type_name(PointType type) { return name_of(kPointTypes, type); }
Result<PointType> parse_point_type(std::string_view name) { return parse(kPointTypes, "dtype", name); }

Result<std::optional<std::array<double, 3>>> parse_response(std::string_view text) {
  if (text == "auto") return std::optional<std::array<double, 3>>();
  std::array<double, 3> out = {};
  const char *at = text.data(), *const end = at + text.size();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [stop, code] = std::from_chars(at, end, out[i]);
    const bool last = i == 2;
    if (code != std::errc() || (last ? stop != end : stop == end || *stop != ','))
      return Error(ErrorCode::invalid_argument,
                   fmt::format("response '{}': must be auto, or L1,L2,S0 as 0.0017,0.0003,1000", text));
    at = stop + 1;
  }
  return std::optional(out);
}

Result<std::vector<Device>> parse_devices(std::string_view text) {
  std::vector<Device> out;
  while (true) {
    const std::string_view name = text.substr(0, text.find(','));
    if (name == "cuda:all") {
      for (const DeviceInfo& info : devices())
        if (info.device.type == Device::Type::cuda) out.push_back(info.device);
      if (out.empty()) return Error(ErrorCode::no_device, "cuda:all: there is no CUDA device");
    } else {
      PENSTOCK_ASSIGN(const Device device, Device::parse(std::string(name)));
      out.push_back(device);
    }
    if (name.size() == text.size()) break;
    text.remove_prefix(name.size() + 1);
  }
  for (const Device& device : out)
    if (device.type != out.front().type)
      return Error(ErrorCode::invalid_argument, "devices of a list must be of one type");
  return out;
}

}  // namespace penstock
