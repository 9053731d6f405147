#include "oct/interface/map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/budget.hpp"
#include "oct/file/npy.hpp"
#include "oct/file/small_file.hpp"
#include "oct/interface/depth.hpp"
#include "penstock/ops.hpp"

namespace penstock::oct {
namespace {

constexpr std::uint64_t kMaxWidth = 1000;

InterfaceMapOptions options_of(const StepCall& call) {
  return {call.count("width"), call.number("sigma_z"), !call.flag("no_log"), call.flag("compat")};
}

Result<StepDone> run(const StepCall& call) {
  StepDone done;
  if (!call.path(1).ends_with(".npy"))
    return Error(ErrorCode::invalid_argument, call.path(1) + ": the name must end in .npy");
  PENSTOCK_ASSIGN(const bool there, small_exists(call.path(1)));
  if (there && !call.force)
    return Error(ErrorCode::already_exists, call.path(1) + ": already exists").set_hint("--force replaces it.");
  PENSTOCK_ASSIGN(const Volume slice, open_volume(call.path(0), 3));
  const InterfaceMapOptions how = options_of(call);
  // Bands of rows with the rows around them that the box reaches.
  const std::uint64_t halo = how.width / 2,
                      row_bytes = std::max<std::uint64_t>(5 * 4 * slice.shape[0] * slice.shape[2], 1);
  PENSTOCK_ASSIGN(const BudgetPlan plan, plan_budget(call.options, (2 * halo + 1) * row_bytes));
  const std::uint64_t fit = std::max<std::uint64_t>(plan.budget_bytes / 2 / row_bytes, 2 * halo + 1) - 2 * halo;
  std::vector<double> map;
  for (std::uint64_t first = 0; first < slice.shape[1]; first += fit) {
    PENSTOCK_TRY(call.options.stop().check("oct tissue-interface"));
    const std::uint64_t count = std::min(fit, slice.shape[1] - first);
    const std::uint64_t low = first - std::min(first, halo), high = std::min(first + count + halo, slice.shape[1]);
    PENSTOCK_ASSIGN_IN(
        Block block,
        read_block(slice.array, {{0, slice.shape[0], 1}, {low, high - low, 1}, {0, slice.shape[2], 1}}, call.options),
        call.path(0));
    PENSTOCK_ASSIGN_IN(const std::vector<double> band, interface_map(std::move(block), how, call.device, call.options),
                       call.path(0));
    const auto begin = band.begin() + static_cast<std::ptrdiff_t>((first - low) * slice.shape[2]);
    map.insert(map.end(), begin, begin + static_cast<std::ptrdiff_t>(count * slice.shape[2]));
  }
  PENSTOCK_TRY(write_npy(call.path(1), Shape{slice.shape[1], slice.shape[2]}, map));
  double sum = 0;
  for (const double v : map) sum += v / static_cast<double>(map.size());
  done.metrics.add("mean_depth", sum, "planes", "mean of the interface");
  done.text =
      fmt::format("{}: {} x {} columns, mean depth {:.2f} planes\n", call.path(1), slice.shape[1], slice.shape[2], sum);
  return done;
}

}  // namespace

Result<std::vector<double>> interface_map(Block block, const InterfaceMapOptions& how, Device device,
                                          const Options& options) {
  if (!(how.sigma_z > 0) || how.sigma_z > 1000 || how.width > kMaxWidth)
    return Error(ErrorCode::invalid_argument, "sigma_z lies above 0, it and the width at 1000 at most");
  const Shape shape = shape_of(block.region);
  if (shape[0] == 0) return Error(ErrorCode::invalid_argument, "it has no planes");
  if (how.logarithm)
    for (float& v : block.values)
      if (v > 0) v = std::log(v);
  std::vector<OpCall> calls;
  if (how.width > 1) calls.push_back({"uniform_filter", fmt::format(R"({{"size":[1,{0},{0}]}})", how.width)});
  calls.push_back({"gaussian_filter1d", fmt::format(R"({{"sigma":{},"axis":0,"order":1}})", how.sigma_z)});
  Stream stream;
  if (device.type != Device::Type::cpu) {
    PENSTOCK_ASSIGN(stream, Stream::create(device));
  }
  PENSTOCK_ASSIGN(const TensorView view, TensorView::packed(block.values.data(), DType::float32(), shape));
  PENSTOCK_ASSIGN(const Tensor there, Tensor::share(nullptr, view).to(stream));
  PENSTOCK_ASSIGN(const Tensor made, apply_operators(calls, there.view(), options));
  PENSTOCK_ASSIGN(const Tensor rise, made.to(Stream()));
  const auto* const values = static_cast<const float*>(rise.view().data);
  const std::uint64_t columns = shape[1] * shape[2];
  std::vector<double> map(columns), column(shape[0]);
  for (std::uint64_t i = 0; i < columns; ++i) {
    for (std::uint64_t z = 0; z < shape[0]; ++z) {
      const float v = values[z * columns + i];
      column[z] = std::isfinite(v) ? v : -std::numeric_limits<double>::infinity();
    }
    const auto at = static_cast<std::uint64_t>(std::ranges::max_element(column) - column.begin());
    map[i] = how.compat ? std::ceil(static_cast<double>(at) + 0.5 * how.sigma_z) : peak_near(column, at);
  }
  return map;
}

Step tissue_interface_step() {
  Step step;
  step.what.name = "tissue-interface";
  step.what.summary = "where tissue begins, of each column";
  step.what.about =
      "Columns are averaged over a box; the interface is where the logarithm of the intensity rises most steeply with "
      "depth, to "
      "a fraction of a plane. MAP is (rows, columns), float64, in planes.";
  step.what.arguments = {{"SLICE", "slice or mosaic grid", false}, {"MAP", "the map to write, NAME.npy", true}};
  step.what.options = {
      count_option("width", "15", "of the box, in pixels; 1: none"),
      number_option("sigma_z", "2", "standard deviation of the Gaussian along depth, in planes"),
      flag_option("no_log", "of the intensity itself"),
      flag_option("compat", "whole planes, as linumpy has them: the steepest rise plus half of sigma_z, rounded up"),
  };
  step.what.example = "slice_z00_stitch.ome.zarr slice_z00_interface.npy";
  step.run = run;
  return step;
}

}  // namespace penstock::oct
